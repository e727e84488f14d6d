//! Which target, and what can be known of it before the first request.

mod isolate_by;

use super::exit::{Exit, Failure};
use super::output;
use super::requests::{dialect, family};
use super::targets::Entry;
use crate::cache::Model;
use crate::chat::Family;
use crate::load::{Engine, Key, Secret, Target, UNNAMED};
use crate::provider::Dialect;
use crate::record::PublicUrl;
use crate::server::Handle;
use crate::transport::{Client, Header};
pub(super) use isolate_by::IsolateBy;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The name of the target that is started for a run.
pub(super) const EMBEDDED: &str = "embedded";

/// Where requests go.
#[derive(Clone, Default, clap::Args)]
pub(super) struct Aim {
    /// Base URL with its version part (`http://127.0.0.1:8000/v1`), or a name of the targets file or
    /// of a preset (`list targets`) [default: the embedded server]
    #[arg(long, value_name = "URL|NAME")]
    pub(super) target: Option<String>,

    /// Targets by name [default: targets.yaml beside the scenario or in this folder]
    #[arg(long, value_name = "FILE")]
    pub(super) targets: Option<std::path::PathBuf>,

    /// Prices in place of those that come with the program
    #[arg(long, value_name = "FILE")]
    pub(super) prices: Option<std::path::PathBuf>,

    /// Model [default: the first that the target lists]
    #[arg(long)]
    pub(super) model: Option<String>,

    /// Wire format [default: openai-chat]
    #[arg(long)]
    pub(super) dialect: Option<String>,

    /// Kind of provider that strategies build for [default: by dialect]
    #[arg(long)]
    pub(super) wire: Option<String>,

    /// Environment variable that holds the key [default: the target's own, else
    /// `PREFIXBENCH_API_KEY`]
    #[arg(long, value_name = "NAME")]
    pub(super) key_env: Option<String>,

    /// How the target's cache works (`blocks:16`) [default: as the target says, where it does]
    #[arg(long, value_name = "MODEL")]
    pub(super) cache_model: Option<String>,

    /// How long an unused cache entry lives, in seconds of the scenario's time
    #[arg(long, value_name = "SECONDS")]
    pub(super) lifetime: Option<u64>,

    /// A local tokenizer.json (with its `tokenizer_config.json` beside it) to count tokens with
    #[arg(long, value_name = "FILE")]
    pub(super) tokenizer: Option<std::path::PathBuf>,

    /// What keeps conversations apart in the cache: salts where the server has them, else a nonce
    /// [default: auto]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(super) isolate_by: Option<IsolateBy>,

    /// Ask for the token ids of answers too (vLLM): bounds are exact even where a text does not
    /// tokenise to what was generated; always with live replies
    #[arg(long)]
    pub(super) output_ids: bool,

    /// Address of an engine's counters, where it stands behind a gateway (again for several)
    /// [default: the target's own /metrics]
    #[arg(long, value_name = "URL")]
    pub(super) metrics: Vec<String>,

    /// Profile of the embedded server [default: vllm]
    #[arg(long, conflicts_with = "target")]
    pub(super) profile: Option<String>,
}

impl Aim {
    /// The cache model that was asked for.
    pub(super) fn cache_model(&self) -> Result<Option<Model>, Failure> {
        self.cache_model.as_deref().map(parse_model).transpose()
    }

    fn dialect(&self) -> Result<&'static dyn Dialect, Failure> {
        dialect(self.dialect.as_deref().unwrap_or("openai-chat"))
    }

    /// The key that a flag names; for a target without an entry, the usual one.
    fn key(&self, entry: Option<&Entry>) -> Option<Key> {
        let usual = entry.is_none().then_some("PREFIXBENCH_API_KEY");
        let key = variable(self.key_env.as_deref().or(usual)?)?;
        (!key.trim().is_empty()).then(|| Key::fixed(Secret::new(&key)))
    }

    fn family(&self, dialect: &dyn Dialect, engine: Engine) -> Result<Family, Failure> {
        match self.wire.as_deref() {
            Some(name) => family(name),
            None if engine != Engine::Other && dialect.family() == Family::Openai => {
                Ok(Family::Compatible)
            }
            None => Ok(dialect.family()),
        }
    }

    /// The embedded server, whose cache works as `cache`.
    pub(super) fn embedded(
        &self,
        server: &Handle,
        cache: Model,
        lifetime: Option<Duration>,
    ) -> Result<Target, Failure> {
        let dialect = self.dialect()?;
        Ok(Target {
            model: Arc::from(self.model.as_deref().unwrap_or(UNNAMED)),
            wire: self.family(dialect, Engine::Embedded)?.wire(),
            engine: Engine::Embedded,
            salted: self.isolate_by.unwrap_or_default().salted(true),
            resets: self.isolate_by == Some(IsolateBy::Reset),
            tools_first: true,
            cache: Some(self.cache_model()?.unwrap_or(cache)),
            lifetime: self.lifetime.map(Duration::from_secs).or(lifetime),
            ..Target::at(EMBEDDED, &server.url_for(dialect.name()), dialect)
        })
    }

    /// The target that `entry` states, with what the flags say in its place.
    pub(super) async fn named(&self, entry: &Entry, client: &Client) -> Result<Target, Failure> {
        entry
            .aim(self)
            .found(entry.url(), Some(entry), client)
            .await
    }

    /// The target at the URL that was given, as far as a few free questions tell.
    pub(super) async fn remote(&self, url: &str, client: &Client) -> Result<Target, Failure> {
        self.found(url, None, client).await
    }

    async fn found(
        &self,
        url: &str,
        entry: Option<&Entry>,
        client: &Client,
    ) -> Result<Target, Failure> {
        let url = checked_url(url)?;
        let dialect = self.dialect()?;
        let key = self.key(entry);
        let mut target = Target {
            key,
            tools_first: dialect.family() != Family::Compatible,
            cache: self.cache_model()?,
            lifetime: self.lifetime.map(Duration::from_secs),
            ..Target::at(name_of(&url), &url, dialect)
        };
        if let Some(entry) = entry {
            entry.before(&mut target, &variable)?;
        }
        target.refresh_key().await.map_err(|error| {
            let help =
                "the command runs through the shell and must print the key, and nothing else";
            Failure::wrong(format!("target `{}`: {error}", target.name), help)
        })?;
        let models = listed_models(&target, client).await;
        target.engine = engine(models.as_ref());
        target.wire = self.family(dialect, target.engine)?.wire();
        target.tools_first = match target.engine {
            Engine::Embedded => true,
            Engine::Other => dialect.family() != Family::Compatible,
            Engine::Vllm | Engine::LlamaCpp => false,
        };
        let knows_salt = match target.engine {
            Engine::Vllm => true,
            Engine::Embedded => embedded_knows_salt(&target, client).await,
            Engine::LlamaCpp | Engine::Other => false,
        };
        target.salted = self.isolate_by.unwrap_or_default().salted(knows_salt);
        target.resets = self.isolate_by == Some(IsolateBy::Reset);
        if target.engine == Engine::LlamaCpp {
            // It announces to keep a connection and closes it behind a long answer.
            target.headers.push(Header::plain("connection", "close"));
        }
        if self.output_ids {
            name_output(&mut target);
        }
        target.model = self.chosen_model(models.as_ref())?;
        if target.cache.is_none() {
            target.cache = known_cache(&target, client).await;
        }
        if let Some(entry) = entry {
            let note = target
                .cache
                .is_none()
                .then(|| entry.cache_note(&target.model));
            if let Some(note) = note.flatten() {
                output::tell(&format!("target `{}`: {note}", target.name));
            }
            entry.after(&mut target);
        }
        Ok(target)
    }

    fn chosen_model(&self, models: Result<&Value, &Unlisted>) -> Result<Arc<str>, Failure> {
        if let Some(model) = &self.model {
            return Ok(Arc::from(model.as_str()));
        }
        let list = models.map_err(Unlisted::failure)?;
        let first = list.pointer("/data/0/id").and_then(Value::as_str);
        first
            .map(Arc::from)
            .ok_or_else(|| Unlisted::default().failure())
    }
}

/// Why a target's models are not known.
#[derive(Default)]
struct Unlisted {
    /// Nothing that is sent there can succeed.
    hopeless: bool,
    reason: Option<String>,
}

impl Unlisted {
    fn failure(&self) -> Failure {
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}"));
        Failure::new(
            if self.hopeless {
                Exit::NoRequestOk
            } else {
                Exit::WrongInput
            },
            format!(
                "the target does not list its models{}",
                reason.unwrap_or_default()
            ),
            Some(
                "name one with --model; if the server is not up yet, start it first; a key is \
                 taken from the environment variable that --key-env names"
                    .to_owned(),
            ),
        )
    }
}

/// Asks for the ids of generated tokens, where the engine and its dialect have
/// a field for it. `return_token_ids` would name those of the prompt as well,
/// which takes longer than the first token.
pub(super) fn name_output(target: &mut Target) {
    if target.engine == Engine::Vllm && target.dialect.name() == "openai-chat" {
        for field in ["logprobs", "return_tokens_as_token_ids"] {
            target.extra.insert(field.to_owned(), Value::Bool(true));
        }
    }
}

/// Reads a cache model as `list cache-models` writes them.
pub(super) fn parse_model(text: &str) -> Result<Model, Failure> {
    text.parse().map_err(|error: crate::cache::ModelError| {
        Failure::wrong(error, "see `prefixbench list cache-models`")
    })
}

/// An environment variable.
pub(super) fn variable(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the command line reads the environment"
    )]
    std::env::var(name).ok()
}

pub(super) fn checked_url(url: &str) -> Result<String, Failure> {
    let wrong = |why: &str| {
        // What stands before an `@` may be a secret, and a URL that does not parse
        // does not say where that ends.
        let shown = match reqwest::Url::parse(url) {
            Err(_) if url.contains('@') => "what --target names".to_owned(),
            _ => format!("`{}`", PublicUrl::new(url)),
        };
        Failure::wrong(
            format!("{shown} is no target: {why}"),
            "a target is a URL with its version part, such as http://127.0.0.1:8000/v1",
        )
    };
    let parsed = reqwest::Url::parse(url).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(wrong("only http and https are spoken"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(wrong(
            "a key in the URL would end up in records; put it into the environment",
        ));
    }
    if parsed.query().is_some() || parsed.fragment().is_some() {
        return Err(wrong(
            "paths are appended to it, so it can have no query; a key in one would end up in records",
        ));
    }
    for end in ["/chat/completions", "/messages", "/responses"] {
        if url.trim_end_matches('/').ends_with(end) {
            return Err(wrong(&format!(
                "`{end}` is appended by the dialect; leave it out"
            )));
        }
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// Host and port: what a person calls the target by.
pub(super) fn name_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// What `GET /models` says.
async fn listed_models(target: &Target, client: &Client) -> Result<Value, Unlisted> {
    let url = format!("{}/models", target.url);
    let replied = client.get(&url, &target.headers()).await;
    let reply = replied.map_err(|error| Unlisted {
        hopeless: true,
        reason: Some(error.to_string()),
    })?;
    reply.json().ok_or_else(|| Unlisted {
        hopeless: matches!(reply.status, 401 | 403),
        reason: Some(format!("HTTP {} to `GET /models`", reply.status)),
    })
}

fn engine(models: Result<&Value, &Unlisted>) -> Engine {
    let owner = models
        .ok()
        .and_then(|list| list.pointer("/data/0/owned_by"))
        .and_then(Value::as_str);
    match owner {
        Some("vllm") => Engine::Vllm,
        Some("llamacpp") => Engine::LlamaCpp,
        Some("prefixbench") => Engine::Embedded,
        _ => Engine::Other,
    }
}

/// Whether the server that an embedded one imitates separates caches by salt.
async fn embedded_knows_salt(target: &Target, client: &Client) -> bool {
    let props = text(client, target, "/props").await;
    let props: Option<Value> = props.and_then(|props| serde_json::from_str(&props).ok());
    let name = props
        .as_ref()
        .and_then(|props| props.get("profile")?.as_str());
    let profile = name.and_then(crate::server::find_profile);
    profile.is_some_and(|profile| profile.habit.knows_salt())
}

/// The cache model that the server itself states.
async fn known_cache(target: &Target, client: &Client) -> Option<Model> {
    match target.engine {
        Engine::Vllm => {
            let metrics = text(client, target, "/metrics").await?;
            let info = metrics
                .lines()
                .find(|line| line.starts_with("vllm:cache_config_info{"))?;
            if label(info, "enable_prefix_caching") == Some("False") {
                output::warn("the server says that prefix caching is off");
                return None;
            }
            let size: u32 = label(info, "block_size")?.parse().ok()?;
            let blocks: u32 = label(info, "num_gpu_blocks")?.parse().ok()?;
            format!("blocks:{size},capacity={blocks}").parse().ok()
        }
        Engine::LlamaCpp => {
            let props: Value = serde_json::from_str(&text(client, target, "/props").await?).ok()?;
            let slots = props.get("total_slots")?.as_u64()?;
            format!("slots:{slots}").parse().ok()
        }
        Engine::Embedded => {
            let props: Value = serde_json::from_str(&text(client, target, "/props").await?).ok()?;
            props.get("cache_model")?.as_str()?.parse().ok()
        }
        Engine::Other => None,
    }
}

async fn text(client: &Client, target: &Target, path: &str) -> Option<String> {
    let reply = client
        .get(&target.at_root(path), &target.headers())
        .await
        .ok()?;
    (reply.status == 200).then(|| reply.text())
}

/// The value of a label in a line of Prometheus text.
fn label<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let start = line.find(&format!("{name}=\""))? + name.len() + 2;
    line[start..].split('"').next()
}

/// What a client that cannot be built is told as.
pub(super) fn no_client(error: impl fmt::Display) -> Failure {
    Failure::new(
        Exit::Unexpected,
        format!("cannot start the HTTP client: {error}"),
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_size_is_read_from_the_metrics() {
        let line = r#"vllm:cache_config_info{block_size="128",enable_prefix_caching="True",num_gpu_blocks="8192"} 1.0"#;
        assert_eq!(label(line, "block_size"), Some("128"));
        assert_eq!(label(line, "num_gpu_blocks"), Some("8192"));
        assert_eq!(label(line, "no_such"), None);
    }

    #[test]
    fn a_url_that_cannot_be_a_target_says_why() {
        let cases = [
            ("localhost:8000/v1", "is no target"),
            ("http://user:secret@localhost/v1", "a key in the URL"),
            ("http://localhost/v1/chat/completions", "leave it out"),
            ("http://localhost/v1?key=secret", "no query"),
            ("http://user:sec/ret@localhost/v1", "what --target names"),
        ];
        for (url, expected) in cases {
            let said = checked_url(url)
                .err()
                .map(|failure| failure.report.to_string());
            assert!(
                said.as_deref()
                    .is_some_and(|said| said.contains(expected) && !said.contains("sec")),
                "{url}: {said:?}"
            );
        }
        assert_eq!(
            checked_url("http://localhost:1/v1/").ok().as_deref(),
            Some("http://localhost:1/v1")
        );
        assert_eq!(name_of("http://127.0.0.1:8000/v1"), "127.0.0.1:8000");
    }

    #[test]
    fn ids_of_answers_are_asked_for_where_a_field_for_it_is_known() {
        let cases = [
            (Engine::Vllm, "openai-chat", true),
            (Engine::Vllm, "anthropic", false),
            (Engine::Other, "openai-chat", false),
        ];
        for (engine, name, asked) in cases {
            let mut target = Target::at("t", "http://h/v1", crate::provider::find(name).unwrap());
            target.engine = engine;
            name_output(&mut target);
            let field = target.extra.get("return_tokens_as_token_ids");
            assert_eq!(field.is_some(), asked, "{engine:?} {name}");
        }
    }
}
