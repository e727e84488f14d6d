//! What is kept of a response's headers, and what is hidden of a secret.

use super::outgoing::Header;
use super::redact;

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
pub(super) fn recorded<'a>(
    headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    secrets: &[String],
) -> Vec<(String, String)> {
    headers
        .filter(|(name, _)| is_kept(name))
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .filter(|(name, _)| !name.contains("cookie"))
        .take(MOST)
        .filter_map(|(name, value)| {
            let text = std::str::from_utf8(value)
                .ok()
                .filter(|text| text.is_ascii())?;
            let value: String = text.chars().take(LONGEST).collect();
            Some((name, redact::text(value, secrets)))
        })
        .collect()
}

fn is_kept(name: &str) -> bool {
    KEPT.iter().any(|start| {
        let beginning = name.as_bytes().get(..start.len());
        beginning.is_some_and(|is| is.eq_ignore_ascii_case(start.as_bytes()))
    })
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
        let headers: [(&str, &[u8]); 5] = [
            ("X-LiteLLM-Call-Id", b"1"),
            ("llm_provider-set-Cookie", b"c"),
            ("set-cookie", b"c"),
            ("server", b"no \xfftext"),
            ("retry-after", b"sk-9"),
        ];
        let expected = [("x-litellm-call-id", "1"), ("retry-after", "[key]")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let kept = recorded(headers.into_iter(), &["sk-9".to_owned()]);
        assert_eq!(kept, expected);
    }
}
