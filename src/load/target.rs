//! Where requests go, as resolved facts.

use super::key::{Key, KeyError};
use super::preset::Preset;
use crate::cache::Model;
use crate::chat::{Digest, Prompt, Usage, UsageOrigin, Wire};
use crate::conversation::Served;
use crate::provider::{Dialect, RequestParams};
use crate::record::Price;
use crate::transport::Header;
use crate::units::Tokens;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// What the model of the embedded server is called where nobody has named one.
pub const UNNAMED: &str = "embedded";

/// Software that answers, as far as it decides how to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The embedded server.
    Embedded,
    /// vLLM: has salts, `/tokenize` and counters.
    Vllm,
    /// llama.cpp: has `/tokenize`, `/apply-template` and counters.
    LlamaCpp,
    /// Anything else.
    Other,
}

/// What keeps a conversation on one server, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity<Name> {
    /// A header.
    Header(Name),
    /// A field of the body.
    Field(Name),
}

/// By how much a count may exceed its bound: the larger of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tolerance {
    /// Tokens.
    pub tokens: Tokens,
    /// Thousandths of the prompt.
    pub permille: u32,
}

impl Tolerance {
    /// Servers of which every token is known.
    pub const NONE: Self = Self {
        tokens: Tokens(0),
        permille: 0,
    };

    /// Services with hidden text around a prompt and a tokenizer of their own.
    pub const HOSTED: Self = Self {
        tokens: Tokens(64),
        permille: 10,
    };
}

/// What an account may send in a minute; see [`Quotas::within`](super::limits::Quotas::within).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Requests.
    pub requests_per_minute: Option<u32>,
    /// Tokens of prompts and answers.
    pub tokens_per_minute: Option<u64>,
}

/// Where requests go.
#[derive(Clone)]
pub struct Target {
    /// Name in records.
    pub name: Arc<str>,
    /// Base URL, version part included, without a slash at its end.
    pub url: String,
    /// Wire format.
    pub dialect: &'static dyn Dialect,
    /// Model asked for.
    pub model: Arc<str>,
    /// Key, where one is needed.
    pub key: Option<Key>,
    /// Headers that carry the key, each with what stands before it; empty: the dialect's.
    pub key_headers: Vec<(String, String)>,
    /// Further headers.
    pub headers: Vec<Header>,
    /// Further body fields; null takes the dialect's own out.
    pub extra: Map<String, Value>,
    /// Field that bounds the output, where it is not the dialect's `max_tokens`.
    pub limit_field: Option<Arc<str>>,
    /// What keeps a conversation on one server.
    pub affinity: Option<Affinity<Arc<str>>>,
    /// What strategies may know.
    pub wire: Wire,
    /// Whose facts it has.
    pub preset: Option<&'static Preset>,
    /// Software that answers.
    pub engine: Engine,
    /// Whether the server separates caches by `cache_salt`.
    pub salted: bool,
    /// Whether its cache is emptied before each unit, in place of salt and nonce.
    pub resets: bool,
    /// Whether the chat template renders tool definitions in front of everything.
    pub tools_first: bool,
    /// How its cache works, where that is known.
    pub cache: Option<Model>,
    /// How long an entry lives, where that is known.
    pub lifetime: Option<Duration>,
    /// By how much counts may exceed a bound.
    pub tolerance: Tolerance,
    /// What it costs.
    pub price: Option<Price>,
    /// What may be sent in a minute.
    pub rates: Rates,
    /// Addresses of metrics.
    pub metrics: Vec<String>,
    /// Why its read counts are not to be trusted.
    pub unreliable: Option<Arc<str>>,
    /// What shows that a read count left out is a 0 here.
    pub absent_is_zero: Option<Arc<str>>,
}

impl Target {
    /// A target of which nothing but its place and format is known.
    pub fn at(name: &str, url: &str, dialect: &'static dyn Dialect) -> Self {
        Self {
            name: Arc::from(name),
            url: url.trim_end_matches('/').to_owned(),
            dialect,
            model: Arc::from(""),
            key: None,
            key_headers: Vec::new(),
            headers: Vec::new(),
            extra: Map::new(),
            limit_field: None,
            affinity: None,
            wire: dialect.family().wire(),
            preset: None,
            engine: Engine::Other,
            salted: false,
            resets: false,
            tools_first: false,
            cache: None,
            lifetime: None,
            tolerance: Tolerance::NONE,
            price: None,
            rates: Rates::default(),
            metrics: Vec::new(),
            unreliable: None,
            absent_is_zero: None,
        }
    }

    /// Whether answers come from the embedded server and not from a model.
    pub fn simulated(&self) -> bool {
        self.engine == Engine::Embedded
    }

    /// Which model answers, as strategies see it: on the embedded server any that is
    /// asked for, elsewhere the one that every request names.
    pub fn served(&self) -> Served {
        let model = || Arc::clone(&self.model);
        if self.simulated() {
            Served::Any((&*self.model != UNNAMED).then(model))
        } else {
            Served::One(model())
        }
    }

    /// Gets a new key where a command hands it out and the one at hand is too old.
    ///
    /// # Errors
    ///
    /// [`KeyError`] where the command failed; an older key is kept.
    pub async fn refresh_key(&self) -> Result<(), KeyError> {
        match &self.key {
            Some(key) => key.refresh().await,
            None => Ok(()),
        }
    }

    /// The target's own headers and those that carry the key, in every form that
    /// servers of this dialect take unless the target says which.
    pub fn headers(&self) -> Vec<Header> {
        let mut headers = self.headers.clone();
        let Some(key) = self.key.as_ref().and_then(Key::current) else {
            return headers;
        };
        let mut carry = |name: &str, prefix: &str| {
            headers.push(Header::secret(name, format!("{prefix}{}", key.reveal())));
        };
        if self.key_headers.is_empty() {
            let forms = self.dialect.key_headers().iter();
            forms.for_each(|(name, prefix)| carry(name, prefix));
        } else {
            let forms = self.key_headers.iter();
            forms.for_each(|(name, prefix)| carry(name, prefix));
        }
        headers
    }

    /// The parameters of a request; `salt` and `unit` (what keeps its
    /// conversation apart) are the isolation's.
    pub fn params(
        &self,
        model: &str,
        max_tokens: u32,
        stream: bool,
        salt: Option<&str>,
        unit: &str,
        prompt: &Prompt,
    ) -> RequestParams {
        let mut extra = self.extra.clone();
        if !stream {
            extra.remove("stream_options");
        }
        if let Some(field) = &self.limit_field
            && self.dialect.name() == "openai-chat"
        {
            extra.entry("max_tokens").or_insert(Value::Null);
            extra
                .entry(field.as_ref())
                .or_insert_with(|| Value::from(max_tokens));
        }
        if let Some(Affinity::Field(field)) = &self.affinity
            && prompt.hints.prompt_cache_key.is_none()
        {
            extra
                .entry(field.as_ref())
                .or_insert_with(|| Value::from(pin(unit)));
        }
        RequestParams {
            model: model.to_owned(),
            max_tokens,
            stream,
            salt: salt.map(str::to_owned),
            extra,
        }
    }

    /// The headers that keep the conversation of `unit` on one server, unless the
    /// prompt's own wishes name one.
    pub fn pinning(&self, unit: &str, prompt: &Prompt) -> Vec<Header> {
        let asked = prompt.hints.affinity.iter();
        let mut headers: Vec<Header> = asked
            .map(|(name, value)| Header::plain(name, value))
            .collect();
        if let Some(Affinity::Header(name)) = &self.affinity
            && headers.is_empty()
        {
            headers.push(Header::plain(name.as_ref(), pin(unit)));
        }
        headers
    }

    /// What an answer's counts are worth on this target.
    ///
    /// A count that is known to be wrong here keeps its number and gets the origin
    /// [`UsageOrigin::Unreliable`]. Where evidence shows that a count left out is a
    /// 0, an absent one becomes a 0, if the prompt itself was counted; then the
    /// answer is true.
    pub fn weigh(&self, usage: &mut Usage) -> bool {
        if self.unreliable.is_some() && usage.origin == UsageOrigin::Reported {
            usage.origin = UsageOrigin::Unreliable;
        }
        let zero = self.absent_is_zero.is_some()
            && usage.origin == UsageOrigin::Absent
            && usage.total.is_some();
        if zero {
            usage.read = Some(Tokens(0));
            usage.origin = UsageOrigin::Reported;
        }
        zero
    }

    /// The address of one request to the target's model.
    pub fn endpoint(&self, stream: bool) -> String {
        self.endpoint_of(&self.model, stream)
    }

    /// The address of one request to `model`, which some dialects name there.
    pub fn endpoint_of(&self, model: &str, stream: bool) -> String {
        format!("{}{}", self.url, self.dialect.path(model, stream))
    }

    /// The address of a path outside the versioned part (`/metrics`).
    pub fn at_root(&self, path: &str) -> String {
        let versionless = self
            .url
            .rsplit_once("/v1")
            .map_or(self.url.as_str(), |(root, _)| root);
        format!("{}{path}", versionless.trim_end_matches('/'))
    }
}

/// An id that says nothing of the conversation that it stands for.
fn pin(unit: &str) -> String {
    let mut id = Digest::of(unit.as_bytes()).to_string();
    id.truncate(24);
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::key::Secret;
    use crate::provider;

    fn target() -> Target {
        Target::at("t", "http://h/v1/", provider::find("openai-chat").unwrap())
    }

    #[test]
    fn the_key_goes_into_the_header_that_the_target_names() {
        let mut target = target();
        target.key = Some(Key::fixed(Secret::new("sk")));
        target.headers.push(Header::plain("x-team", "a"));
        let names = |target: &Target| {
            let headers = target.headers();
            headers
                .into_iter()
                .map(|header| (header.name, header.value, header.secret))
                .collect::<Vec<_>>()
        };
        let own = ("x-team".to_owned(), "a".to_owned(), false);
        let bearer = ("authorization".to_owned(), "Bearer sk".to_owned(), true);
        assert_eq!(names(&target), [own.clone(), bearer]);
        target.key_headers = vec![("api-key".to_owned(), String::new())];
        let plain = ("api-key".to_owned(), "sk".to_owned(), true);
        assert_eq!(names(&target), [own, plain]);
    }

    #[test]
    fn the_limit_and_the_pin_go_where_the_target_wants_them() {
        let mut target = target();
        target.limit_field = Some(Arc::from("max_completion_tokens"));
        target.affinity = Some(Affinity::Field(Arc::from("prompt_cache_key")));
        let mut prompt = Prompt::default();
        let params = target.params("m", 16, true, None, "run/1", &prompt);
        let body: Value =
            serde_json::from_str(&target.dialect.body(&prompt, &params).text).unwrap();
        assert_eq!(body["max_completion_tokens"], 16);
        assert_eq!(body.get("max_tokens"), None);
        let pin = body["prompt_cache_key"].as_str().unwrap().to_owned();
        let other = target.params("m", 16, true, None, "run/2", &prompt);
        assert_ne!(other.extra["prompt_cache_key"], pin.as_str());
        prompt.hints.prompt_cache_key = Some("mine".to_owned());
        let params = target.params("m", 16, true, None, "run/1", &prompt);
        let body: Value =
            serde_json::from_str(&target.dialect.body(&prompt, &params).text).unwrap();
        assert_eq!(body["prompt_cache_key"], "mine");
    }

    #[test]
    fn a_header_that_the_configuration_asks_for_goes_before_the_targets() {
        let mut target = target();
        target.affinity = Some(Affinity::Header(Arc::from("x-grok-conv-id")));
        let mut prompt = Prompt::default();
        assert_eq!(target.pinning("run/1", &prompt)[0].name, "x-grok-conv-id");
        prompt.hints.affinity = vec![("x-mine".to_owned(), "1".to_owned())];
        assert_eq!(
            target.pinning("run/1", &prompt),
            [Header::plain("x-mine", "1")]
        );
    }

    #[test]
    fn counts_are_weighed_by_what_is_known_of_the_target() {
        let usage = |read: Option<u64>, origin| Usage {
            total: Some(Tokens(100)),
            read: read.map(Tokens),
            origin,
            ..Usage::default()
        };
        let (reported, absent) = (UsageOrigin::Reported, UsageOrigin::Absent);
        let plain = target();
        let mut lying = target();
        lying.unreliable = Some(Arc::from("a constant 0"));
        let mut terse = target();
        terse.absent_is_zero = Some(Arc::from("a warm control request"));
        let cases = [
            (&plain, None, absent, (None, absent, false)),
            (
                &lying,
                Some(0),
                reported,
                (Some(0), UsageOrigin::Unreliable, false),
            ),
            (&lying, None, absent, (None, absent, false)),
            (&terse, None, absent, (Some(0), reported, true)),
            (&terse, Some(9), reported, (Some(9), reported, false)),
            (
                &terse,
                None,
                UsageOrigin::Contradictory,
                (None, UsageOrigin::Contradictory, false),
            ),
        ];
        for (target, read, origin, (kept, weighed, zero)) in cases {
            let mut usage = usage(read, origin);
            assert_eq!(target.weigh(&mut usage), zero);
            assert_eq!(
                (usage.read.map(|read| read.0), usage.origin),
                (kept, weighed)
            );
        }
        let mut nothing = Usage::default();
        assert!(!terse.weigh(&mut nothing), "no usage at all says nothing");
    }
}
