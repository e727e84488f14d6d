//! What follows the last answer: bounds, tables, the verdict.

use super::{Arguments, Place, not_written};
use crate::analysis::bounds::{Inputs, bounds};
use crate::cli::counters::Watch;
use crate::cli::exit::{Exit, Failure};
use crate::cli::{output, outputs, tokens};
use crate::load::{Measured, Target, Writer};
use crate::record::{BoundRecord, Ending, Manifest, Outcome, RequestRecord, Run, SpanStore};
use crate::tokens::SharedEncoder;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A run whose last answer is in.
pub(super) struct Done<'a> {
    pub(super) writer: Writer,
    pub(super) manifest: &'a Manifest,
    pub(super) places: &'a [Place],
    pub(super) ending: Ending,
    /// By the position of their place.
    pub(super) watches: BTreeMap<usize, Watch>,
    /// Whether the folder had records before.
    pub(super) resumed: bool,
}

impl Done<'_> {
    /// Computes and writes what follows from the records, and says how the run ended.
    pub(super) async fn finish(self, given: &Arguments, dir: &Path) -> Result<Exit, Failure> {
        let measured = self.writer.take().await;
        tell_warnings(&measured);
        let (mut records, mut spans) = kept(measured);
        for (number, watch) in self.watches {
            let target = &self.places[number].target.name;
            let of_target = records.iter().filter(|record| record.target == *target);
            let number = (self.places.len() > 1).then_some(number + 1);
            watch.end(&of_target.collect::<Vec<_>>(), dir, number).await;
        }
        let mut computed_before = BTreeSet::new();
        if self.resumed {
            let folder = Run::read(dir).and_then(Run::contents);
            let folder = folder.map_err(crate::cli::report::unreadable)?;
            computed_before.extend(folder.bounds.iter().map(BoundRecord::key));
            spans.merge(folder.spans);
            records = folder.requests;
            records.extend(folder.aside);
        }
        let mut found = Vec::new();
        for Place { target, client, .. } in self.places {
            let encoder = tokens::encoder(&given.aim, target, client, &records, &spans).await;
            let encoder = encoder.unwrap_or_else(|failure| {
                output::warn(&format!("{}: there are no bounds", failure.report));
                None
            });
            let of_target = computed(self.manifest, target, &records, &spans, encoder.as_ref());
            found.extend(of_target);
        }
        found.retain(|bound| !computed_before.contains(&bound.key()));
        self.writer.bounds(found).await;
        self.writer
            .finish(self.ending.clone())
            .await
            .map_err(not_written)?;
        if !given.no_report {
            let results = outputs::rebuild(dir, None)?;
            output::data(&outputs::terminal(&results))?;
        }
        output::tell(&format!("records: {}", dir.display()));
        Ok(verdict(&self.ending, &records))
    }
}

fn kept(measured: Vec<Measured>) -> (Vec<RequestRecord>, SpanStore) {
    let mut spans = SpanStore::default();
    let mut records = Vec::with_capacity(measured.len());
    for one in measured {
        for text in one.texts {
            spans.insert(text);
        }
        records.push(one.record);
    }
    (records, spans)
}

/// Each distinct warning once, with the first request that it came up at.
fn tell_warnings(measured: &[Measured]) {
    let mut told = BTreeSet::new();
    for one in measured {
        for warning in &one.warnings {
            if told.insert((one.record.configuration.clone(), warning.clone())) {
                let place = format!("{} turn {}", one.record.conversation, one.record.turn);
                output::warn(&format!("{place}: {warning}"));
            }
        }
    }
}

fn computed(
    manifest: &Manifest,
    target: &Target,
    records: &[RequestRecord],
    spans: &SpanStore,
    encoder: Option<&SharedEncoder>,
) -> Vec<BoundRecord> {
    let Some(facts) = manifest.target(&target.name) else {
        return Vec::new();
    };
    let inputs = Inputs {
        target: facts,
        records,
        spans,
        encoder,
    };
    // The model was read from a parsed one, so it parses.
    bounds(&inputs).unwrap_or_default()
}

fn verdict(ending: &Ending, records: &[RequestRecord]) -> Exit {
    if *ending == Ending::Interrupted {
        return Exit::Interrupted;
    }
    let mut counted = records.iter().filter(|record| !record.is_aside());
    // A shard may have no conversation at all.
    let nothing_to_do = records.is_empty() && *ending == Ending::Complete;
    if nothing_to_do || counted.any(|record| record.outcome == Outcome::Ok) {
        Exit::Done
    } else {
        Exit::NoRequestOk
    }
}
