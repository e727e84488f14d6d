//! `probe`: a few requests that find out what a target reports and how its cache
//! behaves.
//!
//! Every prompt stands behind a nonce of its own, so that nothing that the target
//! still holds is found. The requests go one after the other, and there is a
//! bound on their number: about forty with the defaults.

mod ask;
mod fit;
mod infer;
mod play;
mod show;
mod steps;
mod template;

use super::exit::{Exit, Failure};
use super::output;
use super::target::{Aim, no_client, variable};
use super::targets;
use crate::cache::Model;
use crate::conversation::Nonce;
use crate::load::Target;
use crate::record::{PublicUrl, WallTime};
use crate::transport::{Client, Settings};
use crate::units::Tokens;
use ask::{Prober, Seen};
use infer::Findings;
use play::Play;
use serde::Serialize;
use std::path::{Path, PathBuf};
use steps::Observed;
use tokio::time::Instant;

/// Sentences for a person.
type Notes = Vec<String>;

/// Find out with a few requests what a target reports and how its cache behaves
#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    /// Base URL with its version part, or a name of the targets file or of a preset
    #[arg(value_name = "TARGET")]
    target: String,

    /// Model [default: the first that the target lists]
    #[arg(long)]
    model: Option<String>,

    /// Wire format [default: openai-chat]
    #[arg(long)]
    dialect: Option<String>,

    /// Kind of provider, which decides about cache markers [default: by dialect]
    #[arg(long)]
    wire: Option<String>,

    /// Environment variable that holds the key [default: the target's own]
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,

    /// Targets by name [default: targets.yaml in this folder]
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,

    /// Tokens of the first prompt; longer ones follow where it hits nothing
    #[arg(long, value_name = "N", default_value_t = 2_000,
        value_parser = clap::value_parser!(u32).range(100..=100_000))]
    tokens: u32,

    /// The server behind a gateway, to compare with
    #[arg(long, value_name = "URL")]
    direct: Option<String>,

    /// The first prompt's nonce, eight digits [default: drawn]
    #[arg(long, value_name = "DIGITS")]
    nonce: Option<String>,

    /// Store everything that was seen and found, as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Arguments {
    fn aim(&self, target: &str) -> Aim {
        Aim {
            target: Some(target.to_owned()),
            targets: self.targets.clone(),
            model: self.model.clone(),
            dialect: self.dialect.clone(),
            wire: self.wire.clone(),
            key_env: self.key_env.clone(),
            ..Aim::default()
        }
    }
}

/// All that a probe found; `--out` stores it, and `run --probe` beside its records.
#[derive(Serialize)]
pub(in crate::cli) struct Probed {
    version: u32,
    date: String,
    url: PublicUrl,
    model: String,
    dialect: &'static str,
    nonce: String,
    findings: Findings,
    /// What the chat template does, where the server shows it.
    template: Option<Notes>,
    /// What differs from the server behind it.
    direct: Option<Notes>,
    observed: Observed,
    requests: Vec<Seen>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        let message = format!("cannot start the runtime: {error}");
        Failure::new(Exit::Unexpected, message, None)
    })?;
    runtime.block_on(async {
        let interrupted = tokio::signal::ctrl_c();
        tokio::select! {
            done = probe(arguments) => done,
            _ends_either_way = interrupted => Ok(Exit::Interrupted),
        }
    })
}

async fn probe(arguments: &Arguments) -> Result<Exit, Failure> {
    let nonce = super::run::nonce(arguments.nonce.as_deref())?;
    let (target, client) = found(&arguments.aim(&arguments.target)).await?;
    let tokens = usize::try_from(arguments.tokens).unwrap_or(usize::MAX);
    let mut probed = Probed::of(&target, &client, nonce, tokens).await?;
    if let Some(url) = &arguments.direct {
        let direct = compared(arguments, url, nonce, tokens, &probed.observed).await?;
        probed.direct = Some(direct);
    }
    let url = probed.url.as_str();
    let shown = show::report(&target, &probed, url);
    let entry = show::entry(&target, &probed, url, &probed.date);
    output::data(&format!("{shown}\nfor targets.yaml:\n\n{entry}"))?;
    if let Some(path) = &arguments.out {
        probed.write(path)?;
    }
    Ok(Exit::Done)
}

impl Probed {
    /// Probes `target` with a first prompt of about so many tokens.
    ///
    /// # Errors
    ///
    /// The first request was not answered.
    pub(in crate::cli) async fn of(
        target: &Target,
        client: &Client,
        nonce: Nonce,
        tokens: usize,
    ) -> Result<Self, Failure> {
        let mut prober = Prober {
            client,
            target,
            nonce,
            excludes: false,
            seen: Vec::new(),
        };
        output::tell(&format!("probing {} …", target.name));
        let observed = steps::all(&mut prober, tokens).await;
        let (requests, excludes) = (prober.seen, prober.excludes);
        if let Some(failed) = requests.first().filter(|first| !first.ok()) {
            return Err(refused(target, failed));
        }
        let mut findings = infer::findings(&observed);
        findings.excludes = excludes;
        if findings.explainable() {
            explain(&mut findings, target, &observed, &requests, nonce);
        }
        Ok(Self {
            version: 1,
            date: WallTime::now().date(),
            url: PublicUrl::new(&target.url),
            model: target.model.to_string(),
            dialect: target.dialect.name(),
            nonce: nonce.to_string(),
            findings,
            template: template::traps(target, client).await,
            direct: None,
            observed,
            requests,
        })
    }

    /// Tokens of prompt and answer of every request that a probe with a first prompt of
    /// about so many tokens may send, at most, but for those that are sent again.
    pub(in crate::cli) fn most(tokens: usize) -> Vec<(Tokens, Tokens)> {
        let output = Tokens(u64::from(ask::MAX_TOKENS));
        // Behind a nonce and within a template.
        let whole = |words: usize| Tokens(words as u64 + 64);
        let words = steps::most(tokens).into_iter();
        words.map(|words| (whole(words), output)).collect()
    }

    /// Tokens of prompt and answer of every request that was answered; where the server
    /// did not count them, about so many.
    pub(in crate::cli) fn sent(&self) -> impl Iterator<Item = (Tokens, Tokens)> {
        let output = Tokens(u64::from(ask::MAX_TOKENS));
        let answered = self.requests.iter().filter(|seen| seen.ok());
        answered.map(move |seen| (Tokens(seen.total.unwrap_or_else(|| seen.words())), output))
    }

    /// Stores it.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(in crate::cli) fn write(&self, path: &Path) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(self).unwrap_or_default();
        std::fs::write(path, json + "\n").map_err(|error| {
            let message = format!("cannot write `{}`: {error}", path.display());
            Failure::new(Exit::NotWritten, message, None)
        })
    }

    /// Tells in a few lines what was found, and fills in what was open: the cache
    /// model, whether a count left out is a 0, and that counts are of no use.
    pub(in crate::cli) fn complete(&self, target: &mut Target) {
        if let Some(model) = &self.findings.cache_model
            && target.cache.is_none()
        {
            target.cache = model.parse().ok();
        }
        if let Some(evidence) = show::evidence(&self.findings, &self.date) {
            target
                .absent_is_zero
                .get_or_insert_with(|| evidence.as_str().into());
        }
        if let Some(why) = show::distrust(&self.findings, &self.date) {
            target.unreliable.get_or_insert_with(|| why.as_str().into());
        }
        let notes = self.template.iter().flatten().cloned();
        for note in notes.chain(show::advice(target, &self.findings)) {
            output::tell(&format!("{}: {note}", target.name));
        }
    }
}

/// Finds the cache model that explains every count.
fn explain(
    findings: &mut Findings,
    target: &Target,
    observed: &Observed,
    requests: &[Seen],
    nonce: Nonce,
) {
    if findings.delay_ms != Some(0) {
        findings.unexplained = Some(
            "entries cannot be read at once, so that what one prompt finds of another depends on the clock".to_owned(),
        );
        return;
    }
    let markers = target.wire.markers;
    let marked = markers != crate::chat::MarkerRule::None;
    let play = Play::of(requests, nonce, markers);
    let pairs: Vec<_> = observed
        .lengths
        .iter()
        .chain(&observed.shorts)
        .cloned()
        .collect();
    findings.conclude(fit::fit(&play, &pairs, target.cache.as_ref(), marked));
    let stated = findings
        .cache_model
        .as_ref()
        .and_then(|found| stated(target, found));
    if let Some(stated) = stated {
        findings.cache_model = Some(stated);
    }
}

/// What the server itself states of its cache, where that goes further than what was
/// `found` and does not contradict it: its number of blocks cannot be seen in counts.
fn stated(target: &Target, found: &str) -> Option<String> {
    let stated = target.cache.as_ref()?;
    let agrees = match (stated, found.parse::<Model>()) {
        (
            Model::Blocks { size, drop, .. },
            Ok(Model::Blocks {
                size: seen,
                drop: lost,
                ..
            }),
        ) => (*size, *drop) == (seen, lost),
        _ => false,
    };
    agrees.then(|| stated.to_string())
}

/// The target, and a client that reaches it.
async fn found(aim: &Aim) -> Result<(Target, Client), Failure> {
    let entry = targets::named(aim, &[])?;
    let routes = match &entry {
        Some(entry) => entry.client(&variable)?,
        None => Settings::default(),
    };
    let client = Client::new(&routes, Instant::now()).map_err(no_client)?;
    let target = if let Some(entry) = &entry {
        aim.named(entry, &client).await?
    } else {
        let url = aim.target.as_deref().unwrap_or_default();
        aim.remote(url, &client).await?
    };
    Ok((target, client))
}

fn refused(target: &Target, failed: &Seen) -> Failure {
    let message = format!(
        "target `{}`, model `{}`: {}: {}",
        target.name,
        target.model,
        failed.outcome.as_str(),
        failed.error.as_deref().unwrap_or("no answer")
    );
    let help = "nothing can be found out before one request is answered; check address, model, dialect and key";
    Failure::new(Exit::NoRequestOk, message, Some(help.to_owned()))
}

/// Sends the first prompt and its repeat to the server behind the gateway too, and says what differs.
async fn compared(
    arguments: &Arguments,
    url: &str,
    nonce: Nonce,
    tokens: usize,
    observed: &Observed,
) -> Result<Notes, Failure> {
    let mut aim = arguments.aim(url);
    aim.model = None;
    let (target, client) = found(&aim).await?;
    let mut prober = Prober {
        client: &client,
        target: &target,
        nonce: nonce.of_unit(1_000),
        excludes: false,
        seen: Vec::new(),
    };
    let chat = ask::Chat::of(0, tokens);
    let first = prober.stream("direct", chat).await;
    let again = prober.stream("direct, again", chat).await;
    let Some(gateway) = observed.lengths.first() else {
        return Ok(Vec::new());
    };
    Ok([
        ("cold", &gateway.first, &first),
        ("repeated", &gateway.again, &again),
    ]
    .into_iter()
    .flat_map(|(when, through, direct)| differences(when, through, direct))
    .collect())
}

fn differences(when: &str, through: &Seen, direct: &Seen) -> Notes {
    let number = |count: Option<u64>| count.map_or("nothing".to_owned(), |count| count.to_string());
    if !direct.ok() {
        let error = direct.error.as_deref().unwrap_or("no answer");
        return vec![format!(
            "{when}: the server itself answered with {}: {error}",
            direct.outcome.as_str()
        )];
    }
    let counts = [
        ("the prompt", through.total, direct.total),
        ("what was read", through.read, direct.read),
        ("what was newly cached", through.written, direct.written),
    ];
    let differ = counts
        .into_iter()
        .filter(|(_, through, direct)| through != direct);
    let told: Notes = differ
        .map(|(what, through, direct)| {
            format!(
                "{when}: for {what} the gateway says {}, the server {}",
                number(through),
                number(direct)
            )
        })
        .collect();
    if told.is_empty() {
        return vec![format!("{when}: gateway and server say the same")];
    }
    told
}
