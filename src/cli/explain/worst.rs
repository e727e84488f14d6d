//! The breaks that cost most: what they cost, and what to change.

use crate::analysis::advice::{Finding, Prompts, Slope, advised, look_into, sentence, slope};
use crate::analysis::bounds::may_be_held;
use crate::analysis::breaks::Breaks;
use crate::analysis::cost::{Moment, saved_by_reading};
use crate::analysis::{Cell, Samples};
use crate::record::{
    AttemptKey, BoundRecord, Break, Manifest, Outcome, RequestRecord, RunContents, SpanStore,
    TargetFacts,
};
use crate::report::words::{dollars, latency, wrapped};
use crate::tokens::{SharedEncoder, embedded};
use crate::units::Tokens;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

/// Lines are broken at about this width.
const WIDTH: usize = 100;

/// A break, with what it cost.
pub(super) struct Cost {
    configuration: Arc<str>,
    conversation: Arc<str>,
    /// What is said of the place and the cause, alike in every repeat of a conversation.
    place: String,
    /// What tells conversations that are no repeats of each other apart.
    cell: Cell,
    broke: Break,
    found: Finding,
    /// What the lost tokens took and cost, in words; none of what is not known.
    price: Vec<String>,
}

/// A request with the earlier one that it parts from.
struct Parted<'a> {
    record: &'a RequestRecord,
    broke: &'a Break,
    earlier: Option<&'a RequestRecord>,
}

/// Breaks of answered requests, most tokens lost first. `records` come in the
/// order of sending, those that count nowhere among them.
fn parted<'a>(
    records: &[&'a RequestRecord],
    bounds: &HashMap<AttemptKey, &'a BoundRecord>,
    spans: &'a SpanStore,
) -> Vec<Parted<'a>> {
    let mut breaks = Breaks::new(spans);
    let mut places = HashMap::new();
    let mut found = Vec::new();
    for &record in records {
        let mut place = breaks.next(record, may_be_held(record));
        // A retry goes on from its own first attempt, and has the break of that.
        let request = (&record.conversation, record.turn, record.request);
        if place.is_none() && record.attempt > 1 {
            place = places.get(&request).cloned();
        } else if let Some(place) = place.as_ref().filter(|_| !record.is_aside()) {
            places.insert(request, place.clone());
        }
        let broke = bounds
            .get(&record.key())
            .and_then(|bound| bound.broke.as_ref())
            .filter(|_| record.outcome == Outcome::Ok && !record.is_aside());
        if let Some(broke) = broke {
            // Without texts the byte is not found again.
            let place = place.filter(|place| place.byte == broke.byte);
            let earlier = place.and_then(|place| records.get(place.predecessor).copied());
            found.push(Parted {
                record,
                broke,
                earlier,
            });
        }
    }
    found.sort_by_key(|one| Reverse(one.broke.lost));
    found
}

/// What breaks cost. Equal ones are looked into once.
fn costs(
    parted: &[Parted<'_>],
    prompts: Prompts<'_>,
    price: impl Fn(&Parted<'_>) -> Vec<String>,
) -> Vec<Cost> {
    let pairs: Vec<_> = parted.iter().map(|one| (one.earlier, one.record)).collect();
    let found = look_into(&pairs, prompts).into_iter();
    let costs = parted.iter().zip(found);
    costs
        .map(|(one, found)| cost(one, found, price(one)))
        .collect()
}

fn cost(one: &Parted<'_>, found: Finding, price: Vec<String>) -> Cost {
    let record = one.record;
    let turn = match record.request {
        1 => format!("turn {}", record.turn),
        request => format!("turn {}, request {request}", record.turn),
    };
    Cost {
        configuration: Arc::clone(&record.configuration),
        conversation: Arc::clone(&record.conversation),
        place: format!(
            "{turn}: in {}, because of {}",
            one.broke.origin, one.broke.cause
        ),
        cell: Cell::from(record),
        broke: one.broke.clone(),
        found,
        price,
    }
}

/// The breaks of requests that were never sent.
pub(super) fn of_prediction(
    pairs: &[(&RequestRecord, &BoundRecord)],
    spans: &SpanStore,
    encoder: &SharedEncoder,
) -> Vec<Cost> {
    let records: Vec<&RequestRecord> = pairs.iter().map(|(record, _)| *record).collect();
    let bounds = pairs
        .iter()
        .map(|(record, bound)| (record.key(), *bound))
        .collect();
    let prompts = Prompts {
        spans,
        encoder: Some(encoder),
        dialect: "",
    };
    costs(&parted(&records, &bounds, spans), prompts, |_| Vec::new())
}

/// The breaks of a run, with what they took and cost as far as the run tells it.
pub(super) fn of_run(
    contents: &RunContents,
    bounds: &HashMap<AttemptKey, &BoundRecord>,
    slopes: &Slopes,
    wanted: impl Fn(&&RequestRecord) -> bool,
) -> Vec<Cost> {
    let mut all = Vec::new();
    let started_ms = contents.manifest.started.epoch_ms();
    for target in &contents.manifest.targets {
        let sent = contents.requests.iter().chain(&contents.aside);
        let mut records: Vec<&RequestRecord> =
            sent.filter(|record| record.target == target.name).collect();
        records.sort_by_key(|record| record.stamps.sent_us.unwrap_or(record.stamps.due_us));
        let encoder = target.simulated.then(embedded);
        let prompts = Prompts {
            spans: &contents.spans,
            encoder: encoder.as_ref(),
            dialect: &target.dialect,
        };
        let mut found = parted(&records, bounds, &contents.spans);
        found.retain(|one| wanted(&one.record));
        let bill = Bill { target, started_ms };
        all.extend(costs(&found, prompts, |one| price(one, bill, slopes)));
    }
    worst_first(&mut all);
    all
}

/// Most tokens lost first; what nothing counted comes last.
pub(super) fn worst_first(costs: &mut [Cost]) {
    costs.sort_by_key(|one| Reverse(one.broke.lost));
}

/// What a computed token took, by cell without its scenario and configuration.
pub(super) type Slopes = BTreeMap<(Arc<str>, Arc<str>, Arc<str>), Slope>;

fn place(cell: &Cell) -> (Arc<str>, Arc<str>, Arc<str>) {
    (
        Arc::clone(&cell.target),
        Arc::clone(&cell.model),
        Arc::clone(&cell.load),
    )
}

/// What each computed token took, as far as the run tells it.
pub(super) fn slopes(contents: &RunContents, bounds: &[BoundRecord]) -> Slopes {
    let samples = Samples::of(&contents.manifest, &contents.requests, bounds);
    let mut places: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for sample in samples.list() {
        places.entry(place(&sample.cell)).or_default().push(sample);
    }
    let fitted = places
        .into_iter()
        .filter_map(|(place, all)| Some((place, slope(&all, contents.manifest.seed)?)));
    fitted.collect()
}

/// What requests are billed by.
#[derive(Clone, Copy)]
struct Bill<'a> {
    target: &'a TargetFacts,
    /// When the run began, in milliseconds since 1970.
    started_ms: i64,
}

/// What the lost tokens took and cost; nothing of what the run does not tell.
fn price(one: &Parted<'_>, bill: Bill<'_>, slopes: &Slopes) -> Vec<String> {
    let Some(lost) = one.broke.lost.filter(|lost| *lost > Tokens(0)) else {
        return Vec::new();
    };
    let slope = slopes.get(&place(&Cell::from(one.record)));
    let took = slope.map(|slope| {
        format!(
            "about {} of time to first token",
            latency(Some(slope.us_per_token * lost.0 as f64))
        )
    });
    let sent = one.record.stamps.sent_us;
    let moment = Moment::of(bill.started_ms, sent, bill.target.lifetime_ms);
    let price = bill.target.price.as_ref();
    let paid = price.and_then(|price| saved_by_reading(price, &one.record.usage, lost, moment));
    took.into_iter()
        .chain(paid.map(|paid| dollars(Some(paid))))
        .collect()
}

/// How the times were told, or that they cannot be.
pub(super) fn fits(manifest: &Manifest, slopes: &Slopes) -> Vec<String> {
    if slopes.is_empty() {
        return vec!["No times are given: in this run, time to first token does not tell what a computed token takes.".to_owned()];
    }
    let several = slopes.len() > 1;
    let line = |((target, model, load), slope): (&(Arc<str>, Arc<str>, Arc<str>), &Slope)| {
        let at = if several {
            format!(" on {target} ({model}, {load})")
        } else {
            String::new()
        };
        format!(
            "Times{at}: {:.2} µs a computed token (95 % interval {:.2} to {:.2}), fitted to {} requests of {} conversations{}.",
            slope.us_per_token,
            slope.interval.low,
            slope.interval.high,
            slope.n,
            slope.interval.n,
            simulated(manifest, target)
        )
    };
    slopes.iter().map(line).collect()
}

fn simulated(manifest: &Manifest, target: &str) -> &'static str {
    match manifest.target(target) {
        Some(target) if target.simulated => "; the embedded server's, simulated",
        _ => "",
    }
}

/// The `most` worst breaks and, by configuration, what to change. Empty where
/// there is no break, or where none was asked for.
pub(super) fn shown(costs: &[Cost], most: usize, fits: &[String]) -> String {
    if costs.is_empty() || most == 0 {
        return String::new();
    }
    let mut out = "Worst breaks\n\n".to_owned();
    let distinct = distinct(costs);
    for (rank, (one, repeats)) in distinct.iter().take(most).enumerate() {
        let more = match repeats {
            0 => String::new(),
            1 => " (and in another repeat)".to_owned(),
            more => format!(" (and in {more} more repeats)"),
        };
        let title = format!("{:>2}. {}, {}{more}", rank + 1, one.conversation, one.place);
        let title = wrapped(&title, WIDTH, "    ");
        let lost = one.broke.lost.map_or_else(
            || "Lost tokens that nothing counted".to_owned(),
            |lost| format!("Lost {lost} tokens"),
        );
        let lost = match one.price.as_slice() {
            [] => format!("{lost}."),
            price => format!("{lost}: {}.", price.join(", ")),
        };
        let advice = format!("    {}", sentence(&one.broke, &one.found));
        let advice = wrapped(&advice, WIDTH, "    ");
        let _infallible = writeln!(out, "{title}\n    {lost}\n{advice}\n");
    }
    let all = distinct.len();
    if all > most {
        let _infallible = writeln!(out, "    and {} more (`--worst` shows more)\n", all - most);
    }
    for fit in fits {
        let _infallible = writeln!(out, "{}\n", wrapped(fit, WIDTH, "  "));
    }
    out + &what_to_change(costs)
}

/// Breaks without those of other repeats at the same place, and how many these are.
fn distinct(costs: &[Cost]) -> Vec<(&Cost, usize)> {
    let mut found: Vec<(&Cost, usize)> = Vec::new();
    let mut places: HashMap<(&Cell, &str), usize> = HashMap::new();
    for one in costs {
        match places.entry((&one.cell, &one.place)) {
            Entry::Occupied(at) => found[*at.get()].1 += 1,
            Entry::Vacant(at) => {
                at.insert(found.len());
                found.push((one, 0));
            }
        }
    }
    found
}

/// By configuration, over all breaks that `costs` holds.
fn what_to_change(costs: &[Cost]) -> String {
    let found = costs.iter().map(|one| (&one.configuration, &one.found));
    let advised = advised(found);
    if advised.is_empty() {
        return String::new();
    }
    let mut out = "What to change\n\n".to_owned();
    for one in &advised {
        for sentence in one.sentences() {
            let line = format!("  {}: {sentence}", one.configuration);
            let _infallible = writeln!(out, "{}", wrapped(&line, WIDTH, "    "));
        }
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{Said, record, store};
    use crate::chat::{Origin, Role};

    const LONG: &str = "Answer in whole sentences, name your sources, and never guess what you \
        cannot know. If a question is unclear, ask what is meant before you answer it.";

    fn said(memory: &'static str) -> Vec<Said> {
        vec![
            (Role::System, vec![("memory", memory), ("system", LONG)]),
            (Role::User, vec![("user", "Where is the harbour?")]),
        ]
    }

    /// `many` breaks of the same kind.
    fn broken(many: usize, spans: &SpanStore) -> Vec<Cost> {
        let (earlier, newer) = (record(&said("Formal. ")), record(&said("Brief. ")));
        let broke = Break {
            origin: Origin::from("memory"),
            cause: Arc::from("memory changed"),
            byte: 0,
            lost: Some(Tokens(40)),
        };
        let parted: Vec<Parted<'_>> = (0..many)
            .map(|_| Parted {
                record: &newer,
                broke: &broke,
                earlier: Some(&earlier),
            })
            .collect();
        let prompts = Prompts {
            spans,
            encoder: None,
            dialect: "",
        };
        costs(&parted, prompts, |_| Vec::new())
    }

    #[test]
    fn every_break_counts_in_what_to_change_however_many_there_are() {
        let spans = store(&[said("Formal. "), said("Brief. ")]);
        let said = shown(&broken(1_200, &spans), 1, &[]);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains("Move `memory` behind what did not change"),
            "{said}"
        );
        assert!(said.contains("in 1,200 breaks"), "{said}");
    }

    #[test]
    fn without_texts_no_move_is_advised_against() {
        let said = shown(&broken(3, &SpanStore::default()), 1, &[]);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!said.contains("hardly more"), "{said}");
        let unknown = "Of 3 breaks it is not known what a move would keep: the run keeps no texts";
        assert!(said.contains(unknown), "{said}");
    }
}
