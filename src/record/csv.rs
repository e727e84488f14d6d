//! The records as a table: `requests.csv`.

use super::request::{BoundRecord, RequestRecord};
use crate::units::{Micros, Money, Tokens};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::io;

/// Columns of `requests.csv`, in order. An empty cell: not known.
pub const REQUEST_COLUMNS: &[&str] = &[
    "scenario",
    "group",
    "configuration",
    "target",
    "model",
    "load",
    "repeat",
    "conversation",
    "turn",
    "request",
    "attempt",
    "events",
    "outcome",
    "status",
    "flags",
    "total_tokens",
    "read_tokens",
    "write_tokens",
    "write_long_tokens",
    "output_tokens",
    "reasoning_tokens",
    "usage_origin",
    "eligible_tokens",
    "bound_tokens",
    "cache_model",
    "break_origin",
    "break_cause",
    "break_byte",
    "lost_tokens",
    "bytes_sent",
    "due_us",
    "sent_us",
    "headers_us",
    "first_event_us",
    "first_text_us",
    "first_answer_us",
    "done_us",
    "cost_usd",
    "served_by",
];

/// Writes `requests.csv`, a row per record, each with what was computed for it.
///
/// # Errors
///
/// What `out` says.
pub fn write_requests<R: Borrow<RequestRecord>>(
    out: impl io::Write,
    records: impl IntoIterator<Item = R>,
    bounds: &[BoundRecord],
) -> io::Result<()> {
    let by_attempt: HashMap<_, _> = bounds.iter().map(|bound| (bound.key(), bound)).collect();
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(REQUEST_COLUMNS)?;
    for record in records {
        let record = record.borrow();
        let bound = by_attempt.get(&record.key()).copied();
        csv.write_record(row(record, bound))?;
    }
    csv.flush()
}

fn tokens(value: Option<Tokens>) -> String {
    value.map_or_else(String::new, |value| value.0.to_string())
}

fn micros(value: Option<Micros>) -> String {
    value.map_or_else(String::new, |value| value.0.to_string())
}

/// An amount as a decimal fraction of dollars, exact to the pico-dollar.
fn dollars(value: Option<Money>) -> String {
    value.map_or_else(String::new, Money::decimal)
}

fn row(record: &RequestRecord, bound: Option<&BoundRecord>) -> Vec<String> {
    let mut cells = identity(record);
    cells.extend(ending(record, bound));
    let usage = &record.usage;
    let broke = bound.and_then(|bound| bound.broke.as_ref());
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    cells.extend([
        tokens(usage.total),
        tokens(usage.read),
        tokens(usage.write),
        tokens(usage.write_long),
        tokens(usage.output),
        tokens(usage.reasoning),
        usage.origin.as_str().to_owned(),
        tokens(bound.and_then(|bound| bound.eligible)),
        tokens(bound.and_then(|bound| bound.bound)),
        text(bound.and_then(|bound| bound.cache_model.as_deref())),
        text(broke.map(|broke| broke.origin.as_str())),
        text(broke.map(|broke| &*broke.cause)),
        broke.map_or_else(String::new, |broke| broke.byte.to_string()),
        tokens(broke.and_then(|broke| broke.lost)),
        record.bytes_sent.0.to_string(),
    ]);
    let stamps = &record.stamps;
    cells.extend([
        stamps.due_us.0.to_string(),
        micros(stamps.sent_us),
        micros(stamps.headers_us),
        micros(stamps.first_event_us),
        micros(stamps.first_text_us),
        micros(stamps.first_answer_us),
        micros(stamps.done_us),
        dollars(bound.and_then(|bound| bound.cost)),
        text(record.served_by.as_deref()),
    ]);
    cells
}

fn identity(record: &RequestRecord) -> Vec<String> {
    vec![
        record.scenario.to_string(),
        record.group.to_string(),
        record.configuration.to_string(),
        record.target.to_string(),
        record.model.to_string(),
        record.load.to_string(),
        record.repeat.to_string(),
        record.conversation.to_string(),
        record.turn.to_string(),
        record.request.to_string(),
        record.attempt.to_string(),
    ]
}

fn ending(record: &RequestRecord, bound: Option<&BoundRecord>) -> [String; 4] {
    let events: Vec<&str> = record.events.iter().map(|event| &*event.label).collect();
    let mut flags: Vec<&str> = Vec::new();
    let added = bound.map_or(&[][..], |bound| &bound.flags);
    for flag in record.flags.iter().chain(added) {
        if !flags.contains(&&**flag) {
            flags.push(flag);
        }
    }
    [
        events.join("; "),
        record.outcome.as_str().to_owned(),
        record
            .status
            .map_or_else(String::new, |status| status.to_string()),
        flags.join("; "),
    ]
}
