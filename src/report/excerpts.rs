//! Breaks with the texts of the two requests that part there.

use super::detail::Detail;
use super::html::{Break, Excerpt};
use super::scenes::Scene;
use super::words::{UNKNOWN, count};
use crate::analysis::advice::{Advised, Finding, Prompts, advised, look, sentence};
use crate::analysis::bounds::may_be_held;
use crate::analysis::breaks::{Breaks, Place};
use crate::analysis::{Cell, Results};
use crate::chat::{Origin, Text};
use crate::record::{Break as Broke, Outcome, RequestRecord, SpanStore};
use crate::tokens::embedded;
use std::cmp::Reverse;

/// Breaks that are shown.
const SHOWN: usize = 40;
/// Letters shown of what both have in common, in front of the place.
const COMMON: usize = 200;
/// Letters shown of each request from the place on.
const FROM: usize = 500;

/// The breaks that a page shows, and what follows from them.
#[derive(Default)]
pub(super) struct Excerpts {
    /// Most tokens lost first; one without a count comes last.
    pub(super) breaks: Vec<Break>,
    /// How many breaks there are in the conversations that were looked into.
    pub(super) all: usize,
    /// What to change, from the breaks that are shown.
    pub(super) advised: Vec<Advised>,
}

/// The breaks of the conversations in `detail`.
pub(super) fn excerpts(results: &Results, scenes: &[Scene<'_>], detail: &Detail) -> Excerpts {
    let mut found = found(detail);
    let all = found.len();
    found.truncate(SHOWN);
    let name = |record: &RequestRecord| {
        let cell = Cell::from(record);
        let of = scenes.iter().find(|scene| scene.holds(&cell));
        of.map_or_else(|| record.scenario.to_string(), |scene| scene.name(results))
    };
    let looked = found
        .iter()
        .map(|one| looked(one, results, detail.texts()))
        .collect::<Vec<_>>();
    let shown = found.iter().zip(&looked).map(|(one, looked)| Break {
        lost: one
            .broke
            .lost
            .map_or_else(|| UNKNOWN.to_owned(), |lost| count(lost.0, "token")),
        title: format!(
            "{}, {} {}: in {} ({})",
            one.record.configuration,
            name(one.record),
            request(one.record),
            one.broke.origin,
            one.broke.cause
        ),
        advice: match looked {
            Finding::Alone => format!(
                "{} `explain RUN` has all requests at hand.",
                sentence(one.broke, looked)
            ),
            _ => sentence(one.broke, looked),
        },
        ..texts(one, detail.texts())
    });
    let configurations = found.iter().map(|one| &one.record.configuration);
    Excerpts {
        breaks: shown.collect(),
        all,
        advised: advised(configurations.zip(&looked)),
    }
}

/// A break of a record, with the request that it is told against.
struct Found<'a> {
    record: &'a RequestRecord,
    broke: &'a Broke,
    /// `None` where that request is not among those kept.
    against: Option<(&'a RequestRecord, Place)>,
}

fn found(detail: &Detail) -> Vec<Found<'_>> {
    let mut records: Vec<&RequestRecord> = detail.records().iter().collect();
    records.sort_by_key(|record| record.stamps.sent_us.unwrap_or(record.stamps.due_us));
    let mut breaks = Breaks::new(detail.texts());
    let mut found = Vec::new();
    for &record in &records {
        let place = breaks.next(record, may_be_held(record));
        let broke = detail
            .bound(record)
            .and_then(|bound| bound.broke.as_ref())
            .filter(|_| record.outcome == Outcome::Ok);
        if let Some(broke) = broke {
            // The same place as the analysis of the whole run found, or none is shown.
            let place = place.filter(|place| place.byte == broke.byte);
            let against = place.and_then(|place| Some((*records.get(place.predecessor)?, place)));
            found.push(Found {
                record,
                broke,
                against,
            });
        }
    }
    found.sort_by_key(|one| Reverse(one.broke.lost));
    found
}

/// What a move would have kept. Tokens are counted where the embedded server did so, bytes
/// elsewhere.
fn looked(one: &Found<'_>, results: &Results, spans: &SpanStore) -> Finding {
    let target = results
        .targets
        .iter()
        .find(|target| target.name == one.record.target);
    let encoder = target.filter(|target| target.simulated).map(|_| embedded());
    let prompts = Prompts {
        spans,
        encoder: encoder.as_ref(),
        dialect: target.map_or("", |target| &target.dialect),
    };
    let earlier = one.against.as_ref().map(|(earlier, _)| *earlier);
    look(earlier, one.record, prompts)
}

/// The three texts; empty where they are not known.
fn texts(one: &Found<'_>, spans: &SpanStore) -> Break {
    let known = one.against.as_ref().and_then(|(earlier, place)| {
        let (before, now) = message(one.record, place.message, spans)?.split(place.offset)?;
        let (_, was) = message(earlier, place.message, spans)?.split(place.offset)?;
        let before = match place.message.checked_sub(1) {
            Some(last) if before.is_empty() => message(one.record, last, spans)?.text,
            _ => before,
        };
        let excerpt = |record: &RequestRecord, text: &str| Excerpt {
            request: format!(
                "{}, in the {} message",
                request(record),
                role(record, place)
            ),
            text: head(text),
        };
        Some(Break {
            common: tail(&before),
            earlier: excerpt(earlier, &was),
            now: excerpt(one.record, &now),
            ..Break::default()
        })
    });
    known.unwrap_or_default()
}

/// The text of a message, nonces left out.
struct Message {
    text: String,
}

impl Message {
    fn split(self, at: usize) -> Option<(String, String)> {
        let (front, rest) = self.text.split_at_checked(at)?;
        Some((front.to_owned(), rest.to_owned()))
    }
}

/// `None` where a text was not kept; empty where the request has no such message.
fn message(record: &RequestRecord, index: usize, spans: &SpanStore) -> Option<Message> {
    let Some(message) = record.prompt.get(index) else {
        return Some(Message {
            text: String::new(),
        });
    };
    let content = message
        .spans
        .iter()
        .filter(|span| span.origin.as_str() != Origin::NONCE);
    let texts = content.map(|span| spans.text(span.sha256).map(Text::as_str));
    Some(Message {
        text: texts.collect::<Option<String>>()?,
    })
}

fn role(record: &RequestRecord, place: &Place) -> &'static str {
    let message = record.prompt.get(place.message);
    message.map_or("last", |message| message.role.as_str())
}

/// `turn 3`, or `turn 3, request 2`.
fn request(record: &RequestRecord) -> String {
    match record.request {
        1 => format!("turn {}", record.turn),
        request => format!("turn {}, request {request}", record.turn),
    }
}

/// The first letters of a text, and a sign that it goes on.
fn head(text: &str) -> String {
    match text.char_indices().nth(FROM) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None if text.is_empty() => "(ends here)".to_owned(),
        None => text.to_owned(),
    }
}

/// The last letters of a text.
fn tail(text: &str) -> String {
    match text.char_indices().rev().nth(COMMON - 1) {
        Some((start, _)) if start > 0 => format!("…{}", &text[start..]),
        _ => text.to_owned(),
    }
}
