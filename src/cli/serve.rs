//! `serve`: the embedded model server as a process.

use super::exit::{Exit, Failure};
use super::output;
use super::target::parse_model;
use crate::cache::Model;
use crate::server::{
    Faults, Options, PROFILES, Profile, Server, Speed, TEMPLATES, Template, find_profile,
};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Serve the embedded model server until Ctrl-C
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Port on loopback; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Whose habits it imitates (see `list profiles`)
    #[arg(long, default_value = "vllm")]
    profile: String,

    /// Decides words and jitter
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Name under which the model is served
    #[arg(long, default_value = "embedded")]
    model: String,

    /// Key that requests must bring
    #[arg(long, env = "PREFIXBENCH_SERVE_KEY", hide_env_values = true)]
    api_key: Option<String>,

    /// Cache model in place of the profile's (see `list cache-models`)
    #[arg(long, value_name = "MODEL")]
    cache_model: Option<String>,

    /// What the chat template does to a prompt: plain, system-last, drops-reasoning, dated
    #[arg(long, default_value = "plain")]
    template: String,

    /// Milliseconds after an answer until its cache entries can be read; not with profiles whose
    /// entries can be read as soon as a request is scheduled (vllm, sglang)
    #[arg(long, value_name = "MS", default_value_t = 0)]
    visible_after: u64,

    /// How long an unused cache entry lives [default: as the profile's]
    #[arg(long, value_name = "SECONDS")]
    lifetime: Option<u64>,

    /// Context window [default: as the profile's]
    #[arg(long, value_name = "TOKENS")]
    context: Option<usize>,

    /// Requests let in within a minute; more are refused with 429 and `Retry-After`
    #[arg(long, value_name = "N")]
    requests_per_minute: Option<u32>,

    /// Something to do wrong every Nth request, as NAME:N (`http-429:5`); may be repeated
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<String>,

    /// Prompt tokens computed in a second; 0: at once
    #[arg(long, value_name = "TOKENS")]
    prefill: Option<f64>,

    /// Tokens generated in a second; 0: at once
    #[arg(long, value_name = "TOKENS")]
    decode: Option<f64>,

    /// Milliseconds to the first token of every request, whatever its prompt
    #[arg(long, value_name = "MS", conflicts_with = "prefill")]
    first_token_ms: Option<u64>,

    /// Tell in the usage of chat streams when the first token was sent
    #[arg(long)]
    stamps: bool,

    /// Answer every chat request with the same stream of so many tokens, in one write, and do
    /// nothing else: to measure clients against
    #[arg(long, value_name = "TOKENS")]
    canned: Option<u32>,

    /// End when stdin does, as that of a server started by another program
    #[arg(long, hide = true)]
    until_stdin_ends: bool,
}

/// The profile of that name.
pub(super) fn profile(name: &str) -> Result<&'static Profile, Failure> {
    find_profile(name).ok_or_else(|| {
        let known: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Failure::wrong(
            format!("unknown profile `{name}`"),
            format!("known: {}", known.join(", ")),
        )
    })
}

fn template(name: &str) -> Result<Template, Failure> {
    let found = TEMPLATES.iter().find(|(known, _, _)| *known == name);
    found.map(|(_, template, _)| *template).ok_or_else(|| {
        let known: Vec<String> = TEMPLATES
            .iter()
            .map(|(name, _, about)| format!("{name} ({about})"))
            .collect();
        Failure::wrong(
            format!("unknown template `{name}`"),
            format!("known: {}", known.join(", ")),
        )
    })
}

pub(super) fn run(arguments: Arguments) -> Result<Exit, Failure> {
    let until_stdin_ends = arguments.until_stdin_ends;
    let options = options(arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        Failure::new(
            Exit::Unexpected,
            format!("cannot start the runtime: {error}"),
            None,
        )
    })?;
    runtime.block_on(async {
        let addr = options.addr;
        let server = Server::start(options).await.map_err(|error| {
            let help = "choose another port, or 0 for a free one";
            Failure::wrong(format!("cannot listen at {addr}: {error}"), help)
        })?;
        output::data(&format!("{}\n", server.url()))?;
        output::tell("simulated: no model answers here; Ctrl-C ends it");
        let (gone, closed) = tokio::sync::oneshot::channel::<()>();
        if until_stdin_ends {
            // A thread of its own: nothing waits for it when the server ends first.
            std::thread::spawn(move || {
                let _however = io::copy(&mut io::stdin(), &mut io::sink());
                drop(gone);
            });
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = closed => {}
            }
        } else {
            let _ends_either_way = tokio::signal::ctrl_c().await;
        }
        server.shutdown().await;
        Ok(Exit::Done)
    })
}

/// Refuses to delay entries that can be read while they are computed.
fn can_be_delayed(profile: &Profile, model: Option<&Model>) -> Result<(), Failure> {
    let own = profile.model.parse().ok();
    let shared = model
        .or(own.as_ref())
        .filter(|model| model.shares_in_flight());
    let Some(shared) = shared else { return Ok(()) };
    Err(Failure::wrong(
        format!(
            "`--visible-after` does nothing with the cache model `{shared}`: its entries can be read \
             as soon as a request is scheduled"
        ),
        "leave it out, or choose a server that keeps entries when an answer ends: --profile openai, \
         or another --cache-model",
    ))
}

fn options(arguments: Arguments) -> Result<Options, Failure> {
    let mut faults = Faults::default();
    for fault in &arguments.faults {
        faults = faults.with_written(fault).map_err(|error| {
            let names: Vec<&str> = crate::server::FAULTS
                .iter()
                .map(|(name, _, _)| *name)
                .collect();
            Failure::wrong(
                error,
                format!("a fault is NAME:N; known: {}", names.join(", ")),
            )
        })?;
    }
    let usual = Speed::default();
    let speed = Speed {
        prefill_per_s: arguments.prefill.unwrap_or(usual.prefill_per_s),
        decode_per_s: arguments.decode.unwrap_or(usual.decode_per_s),
        overhead: if arguments.prefill == Some(0.0) || arguments.canned.is_some() {
            Duration::ZERO
        } else {
            usual.overhead
        },
        ..usual
    };
    let speed = match arguments.first_token_ms {
        Some(ms) => Speed {
            prefill_per_s: 0.0,
            overhead: Duration::from_millis(ms),
            jitter: 0.0,
            ..speed
        },
        None => speed,
    };
    let profile = profile(&arguments.profile)?;
    let cache_model = arguments.cache_model.as_deref().map(parse_model);
    let cache_model = cache_model.transpose()?;
    if arguments.visible_after > 0 {
        can_be_delayed(profile, cache_model.as_ref())?;
    }
    Ok(Options {
        addr: SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port)),
        profile,
        seed: arguments.seed,
        faults,
        speed,
        model: arguments.model,
        api_key: arguments.api_key,
        template: template(&arguments.template)?,
        lifetime: arguments.lifetime.map(Duration::from_secs),
        visible_after: Duration::from_millis(arguments.visible_after),
        context: arguments.context,
        requests_per_minute: arguments.requests_per_minute,
        stamps: arguments.stamps,
        canned: arguments.canned,
        cache_model,
        ..Options::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_while_it_is_computed_cannot_be_delayed() {
        for (profile, model, refused) in [
            ("vllm", None, true),
            ("sglang", None, true),
            ("openai", None, false),
            ("deepseek", None, false),
            ("vllm", Some("steps:128,min=1024"), false),
            ("openai", Some("blocks:16"), true),
        ] {
            let own = find_profile(profile).expect("a profile");
            let model: Option<Model> = model.map(|model| model.parse().expect("a model"));
            let found = can_be_delayed(own, model.as_ref());
            assert_eq!(found.is_err(), refused, "{profile}");
        }
    }
}
