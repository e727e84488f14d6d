//! The records that a serial run would leave if every answer were empty: what
//! `predict` and `explain` compute bounds and breaks from, with no server.

use super::choice::Configurations;
use super::exit::Failure;
use super::requests::{Form, Rendered, each_request};
use super::resources;
use crate::analysis::bounds::{Inputs, bounds};
use crate::chat::Usage;
use crate::context::Configuration;
use crate::conversation::{Nonce, Resources};
use crate::record::request::RECORD_VERSION;
use crate::record::{
    BoundRecord, Outcome, RecordedMessage, RequestRecord, SpanStore, Stamps, TargetFacts,
};
use crate::scenario::model::Scenario;
use crate::tokens::SharedEncoder;
use crate::units::{Bytes, Micros};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Name of the target in predictions.
pub(super) const PREDICTED: &str = "predicted";

/// A request with what the cache model says of it.
pub(super) struct Predicted {
    pub(super) record: RequestRecord,
    pub(super) bound: BoundRecord,
}

/// What a prediction is computed with.
pub(super) struct Model<'a> {
    pub(super) cache: &'a crate::cache::Model,
    pub(super) encoder: &'a SharedEncoder,
    pub(super) lifetime_ms: Option<u64>,
}

/// The requests of one scenario under one configuration.
pub(super) struct PredictedCell {
    pub(super) scenario: Arc<Scenario>,
    /// Name of the configuration.
    pub(super) configuration: String,
    pub(super) requests: Vec<Predicted>,
    /// Their texts.
    pub(super) spans: SpanStore,
}

/// Every scenario under every chosen configuration, each on a cold cache, in the
/// order of both. Cells are computed side by side on as many threads as there are cores.
pub(super) fn all(
    scenarios: &[Arc<Scenario>],
    configurations: &Configurations,
    form: &Form,
    model: &Model<'_>,
) -> Result<Vec<PredictedCell>, Failure> {
    let (mut wanted, names) = (Vec::new(), configurations.chosen());
    if let Some(name) = names
        .iter()
        .enumerate()
        .find_map(|(at, name)| names[..at].contains(name).then_some(name))
    {
        let message = format!("configuration `{name}` is named twice");
        return Err(Failure::wrong(message, "name each configuration once"));
    }
    for scenario in scenarios {
        for name in &names {
            let configuration = configurations.find(name, scenario)?;
            let chosen = [configuration.clone()];
            let files = resources::Files::read(scenario, &chosen, configurations)?;
            wanted.push((scenario, configuration, Arc::new(files)));
        }
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((scenario, configuration, files)) = wanted.get(at) else {
                return;
            };
            let files = Arc::clone(files) as Arc<dyn Resources>;
            let cell = predicted(scenario, configuration, files, form, model);
            let cell = cell.map(|(requests, spans)| PredictedCell {
                scenario: Arc::clone(scenario),
                configuration: configuration.name.clone(),
                requests,
                spans,
            });
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((at, cell));
        }
    };
    let threads = thread::available_parallelism()
        .map_or(1, Into::into)
        .min(wanted.len());
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, cell)| cell).collect()
}

/// All requests of one scenario under one configuration, on a cold cache.
pub(super) fn predicted(
    scenario: &Arc<Scenario>,
    configuration: &Configuration,
    resources: Arc<dyn Resources>,
    form: &Form,
    model: &Model<'_>,
) -> Result<(Vec<Predicted>, SpanStore), Failure> {
    let (mut records, mut spans) = (Vec::new(), SpanStore::default());
    each_request(scenario, configuration, resources, form, |rendered| {
        for message in &rendered.body.messages {
            message
                .spans
                .iter()
                .for_each(|placed| spans.insert(placed.span.text.clone()));
        }
        let at = Micros(records.len() as u64);
        records.push(record(scenario, configuration, &rendered, at));
        Ok(())
    })?;
    let target = TargetFacts {
        name: Arc::from(PREDICTED),
        cache_model: Some(Arc::from(model.cache.to_string())),
        lifetime_ms: model.lifetime_ms,
        dialect: Arc::from(form.resolve()?.0.name()),
        ..TargetFacts::default()
    };
    let encoder = Some(model.encoder);
    let inputs = Inputs {
        target: &target,
        records: &records,
        spans: &spans,
        started_ms: None,
        encoder,
    };
    let found =
        bounds(&inputs).map_err(|error| Failure::wrong(error, "see `list cache-models`"))?;
    let both = records.into_iter().zip(found);
    Ok((
        both.map(|(record, bound)| Predicted { record, bound })
            .collect(),
        spans,
    ))
}

fn record(
    scenario: &Scenario,
    configuration: &Configuration,
    rendered: &Rendered,
    at: Micros,
) -> RequestRecord {
    let pending = &rendered.pending;
    let name: Arc<str> = Arc::from(configuration.name.as_str());
    RequestRecord {
        v: RECORD_VERSION,
        scenario: Arc::clone(&scenario.name),
        group: Arc::clone(&scenario.group),
        conversation: Arc::from(format!("{}/{name}/1", scenario.name)),
        configuration: name,
        target: Arc::from(PREDICTED),
        model: Arc::from(pending.model.as_deref().unwrap_or_default()),
        load: Arc::from("sessions=1"),
        repeat: 1,
        turn: pending.turn,
        request: pending.request,
        attempt: 1,
        events: pending.events.clone(),
        outcome: Outcome::Ok,
        status: None,
        flags: Vec::new(),
        error: None,
        usage: Usage::default(),
        stamps: Stamps {
            due_us: at,
            sent_us: Some(at),
            done_us: Some(at),
            ..Stamps::default()
        },
        bytes_sent: Bytes(rendered.body.text.len() as u64),
        salt: None,
        nonce: Arc::from(Nonce::default().to_string()),
        epoch: 0,
        scenario_ms: pending.scenario_ms,
        cache: rendered.body.cache,
        prompt: rendered
            .body
            .messages
            .iter()
            .map(RecordedMessage::from)
            .collect(),
        output_sha256: None,
        output_ids: None,
        finish: None,
        served_by: None,
        headers: std::collections::BTreeMap::new(),
    }
}
