//! The records as a table: `requests.csv`.

use super::computed::{Computed, ComputedTable};
use super::lean::LeanRecord;
use super::request::{BoundRecord, RequestRecord, Stamps};
use crate::units::{Money, Tokens};
use std::borrow::{Borrow, Cow};
use std::fmt;
use std::io::{self, Write as _};

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
    "ready_us",
    "limited_us",
    "late_us",
    "ttft_us",
    "ttft_from_due_us",
    "first_due_us",
];

/// Writes `requests.csv`, a row per record, each with what was computed for it.
///
/// # Errors
///
/// What `out` says.
pub fn write_requests<R: Borrow<RequestRecord>>(
    mut out: impl io::Write,
    records: impl IntoIterator<Item = R>,
    bounds: &[BoundRecord],
) -> io::Result<()> {
    let computed = ComputedTable::from(bounds);
    let mut line = request_head();
    out.write_all(&line)?;
    for record in records {
        let record = record.borrow();
        let place = (record.turn, record.request, record.attempt);
        line.clear();
        let found = computed.get(&record.conversation, place);
        let cost = found.and_then(|found| found.cost);
        request_row(&mut line, &LeanRecord::from(record), found, cost);
        out.write_all(&line)?;
    }
    out.flush()
}

/// The first line of `requests.csv`.
pub fn request_head() -> Vec<u8> {
    let mut out = Vec::new();
    let mut row = Row::new(&mut out);
    for name in REQUEST_COLUMNS {
        row.text(name);
    }
    row.end();
    out
}

/// Adds the row of a record, and what it cost, to `out`.
pub fn request_row(
    out: &mut Vec<u8>,
    record: &LeanRecord<'_>,
    computed: Option<&Computed>,
    cost: Option<Money>,
) {
    let mut row = Row::new(out);
    let names = [
        &record.scenario,
        &record.group,
        &record.configuration,
        &record.target,
        &record.model,
        &record.load,
    ];
    for name in names {
        row.text(name);
    }
    row.number(record.repeat);
    row.text(&record.conversation);
    for number in [record.turn, record.request, record.attempt] {
        row.number(number);
    }
    row.list(record.events.iter().map(|event| &*event.label));
    row.text(record.outcome.as_str());
    row.maybe(record.status);
    let added = computed.map_or(&[][..], |computed| &computed.flags);
    let own = record.flags.iter().map(|flag| &**flag);
    let added = added.iter().map(|flag| &**flag);
    row.list(
        own.clone()
            .chain(added.filter(|flag| !own.clone().any(|known| known == *flag))),
    );
    counts(&mut row, record, computed);
    row.number(record.bytes_sent.0);
    stamps(&mut row, &record.stamps);
    row.text(&cost.map_or_else(String::new, Money::decimal));
    row.text(record.served_by.as_deref().unwrap_or_default());
    waits(&mut row, &record.stamps);
    row.end();
}

fn counts(row: &mut Row<'_>, record: &LeanRecord<'_>, computed: Option<&Computed>) {
    let usage = &record.usage;
    for tokens in [
        usage.total,
        usage.read,
        usage.write,
        usage.write_long,
        usage.output,
        usage.reasoning,
    ] {
        row.maybe(tokens.map(|tokens| tokens.0));
    }
    row.text(usage.origin.as_str());
    let tokens = |of: fn(&Computed) -> Option<Tokens>| Some(computed.and_then(of)?.0);
    row.maybe(tokens(|computed| computed.eligible));
    row.maybe(tokens(|computed| computed.bound));
    let model = computed.and_then(|computed| computed.cache_model.as_deref());
    row.text(model.unwrap_or_default());
    let broke = computed.and_then(|computed| computed.broke.as_ref());
    row.text(broke.map_or("", |broke| broke.origin.as_str()));
    row.text(broke.map_or("", |broke| &*broke.cause));
    row.maybe(broke.map(|broke| broke.byte));
    row.maybe(broke.and_then(|broke| Some(broke.lost?.0)));
}

fn stamps(row: &mut Row<'_>, stamps: &Stamps) {
    row.number(stamps.due_us.0);
    for stamp in [
        stamps.sent_us,
        stamps.headers_us,
        stamps.first_event_us,
        stamps.first_text_us,
        stamps.first_answer_us,
        stamps.done_us,
    ] {
        row.maybe(stamp.map(|stamp| stamp.0));
    }
}

/// When the client had the request ready, what it waited for limits, and the spans that
/// follow from the stamps: its own lateness, the time to first token from when the
/// request was sent, and from when it was due first, which stands behind them.
fn waits(row: &mut Row<'_>, stamps: &Stamps) {
    for micros in [
        stamps.ready_us,
        stamps.limited_us,
        stamps.lateness(),
        stamps.ttft(),
        stamps.ttft_from_due(),
        Some(stamps.wanted()),
    ] {
        row.maybe(micros.map(|micros| micros.0));
    }
}

/// A text that no spreadsheet takes for a formula: one that begins like a formula gets an
/// apostrophe in front.
pub fn inert(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return Cow::Owned(format!("'{text}"));
    }
    Cow::Borrowed(text)
}

/// A row that is being written: RFC 4180, but for a bare line feed at its end.
struct Row<'a> {
    out: &'a mut Vec<u8>,
    begun: bool,
}

impl<'a> Row<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, begun: false }
    }

    fn field(&mut self) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push(b',');
        }
        self.out
    }

    /// A text, in quotes where it must be, and [`inert`].
    fn text(&mut self, text: &str) {
        let text = &*inert(text);
        let out = self.field();
        if text
            .bytes()
            .any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r'))
        {
            out.push(b'"');
            out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
            out.push(b'"');
        } else {
            out.extend_from_slice(text.as_bytes());
        }
    }

    fn number(&mut self, number: impl fmt::Display) {
        // A vector takes whatever is written to it.
        let _infallible = write!(self.field(), "{number}");
    }

    fn maybe(&mut self, number: Option<impl fmt::Display>) {
        match number {
            Some(number) => self.number(number),
            None => self.text(""),
        }
    }

    /// Texts as one field.
    fn list<S: AsRef<str>>(&mut self, mut texts: impl Iterator<Item = S>) {
        match (texts.next(), texts.next()) {
            (None, _) => self.text(""),
            (Some(only), None) => self.text(only.as_ref()),
            (Some(first), Some(second)) => {
                let mut all = first.as_ref().to_owned();
                for next in std::iter::once(second).chain(texts) {
                    all.push_str("; ");
                    all.push_str(next.as_ref());
                }
                self.text(&all);
            }
        }
    }

    fn end(self) {
        self.out.push(b'\n');
    }
}
