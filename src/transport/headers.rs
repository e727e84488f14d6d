//! What is kept of a response's headers, and what is hidden of a secret.

use super::outgoing::Header;
use super::redact;
use reqwest::header::HeaderMap;

/// Headers worth recording, by the beginning of their names: who served the
/// request, retries and caches of a gateway, rate limits.
const KEPT: &[&str] = &[
    "x-litellm-",
    "llm_provider-",
    "x-openrouter-",
    "x-portkey-",
    "cf-aig-",
    "helicone-",
    "x-ratelimit-",
    "anthropic-ratelimit-",
    "ratelimit",
    "retry-after",
    // What instants in the ones above are counted from.
    "date",
    "request-id",
    "x-request-id",
    "x-served-by",
    "x-cache",
    "cf-ray",
    "server",
    "via",
    "openai-processing-ms",
    "openai-version",
    "x-inference-",
    "fireworks-",
    "x-groq-",
    "content-type",
];

/// Most headers and longest value kept of one response.
const MOST: usize = 64;
const LONGEST: usize = 256;

/// The headers worth recording, in the order in which they came.
pub(super) fn recorded(headers: &HeaderMap, secrets: &[String]) -> Vec<(String, String)> {
    let kept = headers.iter().filter(|(name, _)| {
        let name = name.as_str();
        KEPT.iter().any(|start| name.starts_with(start)) && !name.contains("cookie")
    });
    kept.take(MOST)
        .filter_map(|(name, value)| {
            let value: String = value.to_str().ok()?.chars().take(LONGEST).collect();
            Some((name.as_str().to_owned(), redact::text(value, secrets)))
        })
        .collect()
}

/// The values that must not come back in any text: of each secret header the
/// whole value and what stands behind its scheme (`Bearer …`). A value of fewer
/// than four characters hides nothing and would only garble messages.
pub(super) fn secrets(headers: &[Header]) -> Vec<String> {
    let mut secrets = Vec::new();
    for header in headers.iter().filter(|header| header.secret) {
        let value = header.value.trim();
        let bare = value.split_once(' ').map_or(value, |(_, bare)| bare.trim());
        secrets.extend(
            [value, bare]
                .into_iter()
                .filter(|s| s.len() >= 4)
                .map(str::to_owned),
        );
    }
    secrets
}

/// An address for a message: without user, password and query.
pub(super) fn shown(url: &str) -> String {
    match reqwest::Url::parse(url) {
        Ok(mut url) => {
            url.set_query(None);
            url.set_fragment(None);
            // These fail only for addresses that can have neither.
            let _no_user = url.set_username("");
            let _no_password = url.set_password(None);
            url.to_string()
        }
        Err(_) => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_hidden_with_and_without_its_scheme() {
        let headers = [
            Header::secret("authorization", "Bearer sk-123"),
            Header::plain("x-id", "sk"),
        ];
        let secrets = secrets(&headers);
        let said = "wrong key sk-123 (Bearer sk-123)".to_owned();
        assert_eq!(redact::text(said, &secrets), "wrong key [key] ([key])");
        assert_eq!(format!("{headers:?}"), "[authorization: …, x-id: sk]");
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        let cases = [
            ("http://u:p@h:1/v1?key=k#f", "http://h:1/v1"),
            ("not an address?key=k", "not an address"),
        ];
        for (url, expected) in cases {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn only_listed_headers_are_recorded() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-litellm-call-id", "1"),
            ("llm_provider-set-cookie", "c"),
            ("set-cookie", "c"),
            ("retry-after", "sk-9"),
        ] {
            headers.insert(name, value.parse().expect("value"));
        }
        let expected = [("x-litellm-call-id", "1"), ("retry-after", "[key]")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(recorded(&headers, &["sk-9".to_owned()]), expected);
    }
}
