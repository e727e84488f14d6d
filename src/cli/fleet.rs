//! The fleet of `predict`: many copies of the scenarios' conversations at once, on
//! replicas whose caches are full at some time.

use super::choice::Configurations;
use super::exit::{Exit, Failure};
use super::output;
use super::predicted::Model;
use super::requests::{Form, Rendered, Requests};
use super::resources;
use crate::analysis::RecordedPrompt;
use crate::cache::{self, Fleet, FleetOptions, FleetPrompt, Replica, Routing, Sharing};
use crate::load::Isolate;
use crate::scenario::model::Scenario;
use crate::scenario::plan::Plan;
use crate::tokens::SharedEncoder;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

/// Replicas of a row before their shares are no longer listed one by one.
const LISTED: usize = 8;

/// What makes a prediction one of a fleet.
#[derive(clap::Args)]
#[group(id = "fleet")]
#[command(next_help_heading = "Fleet")]
pub(super) struct FleetArguments {
    /// Play so many copies of every scenario at once, turn by turn [default: 1]
    #[arg(long, value_name = "M")]
    sessions: Option<NonZeroUsize>,

    /// Tokens that the cache of a replica holds [default: any number]
    #[arg(long, value_name = "TOKENS", conflicts_with = "lifetime")]
    capacity: Option<usize>,

    /// Play them on so many replicas, each with a cache of its own [default: 1]
    #[arg(long, value_name = "K")]
    replicas: Option<NonZeroUsize>,

    /// Which replica a request goes to [default: round-robin]
    #[arg(long, value_enum)]
    routing: Option<Routing>,

    /// Which sessions share nothing but by chance [default: conversation]
    #[arg(long, value_enum)]
    isolate: Option<Isolate>,

    /// Seed of the order in which sessions take turns [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// What the fleet plays.
pub(super) struct Played<'a> {
    pub(super) scenarios: &'a [Arc<Scenario>],
    pub(super) configurations: &'a Configurations,
    pub(super) form: &'a Form,
    pub(super) model: &'a Model<'a>,
}

/// A line of `--format jsonl`: a configuration.
#[derive(Serialize)]
struct Line<'a> {
    configuration: &'a str,
    sessions: usize,
    routing: &'static str,
    cache_model: String,
    total: Counts,
    replicas: Vec<Counts>,
}

#[derive(Serialize)]
struct Counts {
    requests: u64,
    hits: u64,
    total_tokens: u64,
    bound_tokens: u64,
    evicted_blocks: u64,
}

impl From<&Replica> for Counts {
    fn from(replica: &Replica) -> Self {
        Self {
            requests: replica.requests,
            hits: replica.hits,
            total_tokens: replica.share.whole.0,
            bound_tokens: replica.share.part.0,
            evicted_blocks: replica.evicted,
        }
    }
}

impl FleetArguments {
    /// Whether any of them was given.
    pub(super) fn asked_for(&self) -> bool {
        self.sessions.is_some()
            || self.capacity.is_some()
            || self.replicas.is_some()
            || self.routing.is_some()
            || self.isolate.is_some()
            || self.seed.is_some()
    }

    /// These, with what `plan` says in the place of what was not given, once for
    /// every routing.
    pub(super) fn following(&self, plan: &Plan) -> Vec<Self> {
        let Some(fleet) = &plan.fleet else {
            return vec![Self { ..*self }];
        };
        let number = |text: u32| NonZeroUsize::new(text as usize);
        let capacity = usize::try_from(fleet.capacity.0).unwrap_or(usize::MAX);
        let isolate = plan.setting("isolate").first();
        let seed = plan.setting("seed").first();
        let of = |routing| Self {
            sessions: self.sessions.or(number(fleet.sessions)),
            capacity: self.capacity.or(Some(capacity)),
            replicas: self.replicas.or(number(fleet.replicas)),
            routing: Some(routing),
            isolate: self.isolate.or(isolate.and_then(|word| word.parse().ok())),
            seed: self.seed.or(seed.and_then(|word| word.parse().ok())),
        };
        match self.routing {
            Some(routing) => vec![of(routing)],
            None => fleet.routing.iter().copied().map(of).collect(),
        }
    }

    fn options(&self, model: &Model<'_>) -> Result<FleetOptions, Failure> {
        Ok(FleetOptions {
            model: self.sized(model.cache)?,
            lifetime: model.lifetime_ms.map(Duration::from_millis),
            replicas: self.replicas.unwrap_or(NonZeroUsize::MIN),
            routing: self.routing.unwrap_or_default(),
            copies: self.sessions.unwrap_or(NonZeroUsize::MIN),
            sharing: match self.isolate.unwrap_or_default() {
                Isolate::Conversation => Sharing::Nothing,
                Isolate::Cell => Sharing::Copies,
                Isolate::Run | Isolate::None => Sharing::Everything,
            },
            seed: self.seed.unwrap_or(1),
        })
    }

    /// The cache model with the capacity that was asked for.
    fn sized(&self, model: &cache::Model) -> Result<cache::Model, Failure> {
        let refused = |why: &str, help: &str| Err(Failure::wrong(format!("{model}: {why}"), help));
        if matches!(model, cache::Model::Breakpoints { .. }) {
            return refused(
                "a fleet cannot be predicted under it",
                "breakpoints depend on cache markers; take another --cache-model",
            );
        }
        let Some(tokens) = self.capacity else {
            return Ok(model.clone());
        };
        let cache::Model::Blocks { size, drop, .. } = model else {
            return refused(
                "only a cache of blocks has a capacity",
                "give --cache-model blocks:16, or leave --capacity out",
            );
        };
        // One block more: the placeholder that an engine keeps.
        let blocks = tokens / size.get() + 1;
        format!("blocks:{size},drop={drop},capacity={blocks}")
            .parse()
            .map_err(|error| Failure::wrong(error, "--capacity counts tokens, not blocks"))
    }
}

/// Plays every configuration on a fleet of its own and prints what came of it.
pub(super) fn run(
    arguments: &FleetArguments,
    played: &Played<'_>,
    jsonl: bool,
) -> Result<Exit, Failure> {
    let options = arguments.options(played.model)?;
    let mut rows = Vec::new();
    for name in played.configurations.chosen() {
        let fleet = play(&name, &options, played)?;
        if jsonl {
            output::data(&line(&name, &options, &fleet))?;
        }
        rows.push((name, fleet));
    }
    if !jsonl {
        let encoder = played.model.encoder.name();
        output::data(&table(&rows, &options, encoder))?;
    }
    Ok(Exit::Done)
}

/// One configuration: all conversations side by side, so that only one prompt of
/// each is held at a time.
fn play(name: &str, options: &FleetOptions, played: &Played<'_>) -> Result<Fleet, Failure> {
    let mut fleet = Fleet::new(options.clone());
    let dialect = played.form.resolve()?.0.name();
    let mut conversations = Vec::new();
    for scenario in played.scenarios {
        let configuration = played.configurations.find(name, scenario)?;
        let chosen = [configuration.clone()];
        let files = resources::Files::read(scenario, &chosen, played.configurations)?;
        let files = Arc::new(files);
        let requests = Requests::start(scenario, &configuration, files, played.form)?;
        conversations.push(requests);
    }
    loop {
        let mut prompts = Vec::with_capacity(conversations.len());
        for (number, conversation) in conversations.iter_mut().enumerate() {
            if let Some(rendered) = conversation.next()? {
                prompts.push(encoded(number, &rendered, played.model.encoder, dialect)?);
            }
        }
        if prompts.is_empty() {
            return Ok(fleet);
        }
        fleet.round(&mut prompts);
    }
}

/// The prompt as tokens; the encoder remembers each distinct message.
fn encoded(
    conversation: usize,
    rendered: &Rendered,
    encoder: &SharedEncoder,
    dialect: &str,
) -> Result<FleetPrompt, Failure> {
    let messages = &rendered.body.messages;
    let shown = RecordedPrompt::rendered(messages, dialect);
    let prompt = encoder
        .encoded(&shown.messages())
        .map_err(|error| Failure::wrong(error, "take another --tokenizer"))?;
    Ok(FleetPrompt {
        conversation,
        model: Arc::from(rendered.pending.model.as_deref().unwrap_or_default()),
        ids: prompt.ids,
        ends: prompt.ends,
        roles: shown.roles(),
        at_ms: rendered.pending.scenario_ms,
    })
}

fn line(name: &str, options: &FleetOptions, fleet: &Fleet) -> String {
    let line = Line {
        configuration: name,
        sessions: options.copies.get(),
        routing: options.routing.as_str(),
        cache_model: options.model.to_string(),
        total: Counts::from(&fleet.total()),
        replicas: fleet.replicas().iter().map(Counts::from).collect(),
    };
    let mut json = serde_json::to_string(&line).unwrap_or_default();
    json.push('\n');
    json
}

fn table(rows: &[(String, Fleet)], options: &FleetOptions, encoder: &str) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "CONFIGURATION",
        "REQUESTS",
        "HITS",
        "TOTAL",
        "ACHIEVABLE",
        "COMPUTED",
        "EVICTED",
        "BY REPLICA",
    ]);
    for (name, fleet) in rows {
        let total = fleet.total();
        let computed = total.share.whole.saturating_sub(total.share.part);
        table.add_row([
            name.clone(),
            total.requests.to_string(),
            total.hits.to_string(),
            total.share.whole.to_string(),
            total.share.to_string(),
            computed.to_string(),
            total.evicted.to_string(),
            by_replica(fleet.replicas()),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!(
        "Predicted for {} sessions of each scenario on {} replicas ({} routing) with cache model {},\n\
         tokens counted with {encoder}; nothing was sent. Achievable: share of the prompt tokens that the \
         replica's cache\ncan return. Evicted: blocks that made room for others.\n\n{}\n",
        options.copies,
        options.replicas,
        options.routing.as_str(),
        options.model,
        table.trim_fmt()
    )
}

/// The achievable share of each replica, or of the worst and the best of many.
fn by_replica(replicas: &[Replica]) -> String {
    let mut shares: Vec<_> = replicas.iter().map(|replica| replica.share).collect();
    if shares.len() <= LISTED {
        let shares: Vec<String> = shares.iter().map(ToString::to_string).collect();
        return shares.join(", ");
    }
    shares.sort_by(|a, b| {
        a.fraction()
            .partial_cmp(&b.fraction())
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    match (shares.first(), shares.last()) {
        (Some(worst), Some(best)) => format!("{worst} to {best}"),
        _ => String::new(),
    }
}
