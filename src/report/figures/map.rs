//! The prefix map: prompts to scale.
//!
//! Lengths of spans are those of the bundled vocabulary, or bytes where texts
//! were not kept, in proportion to the request's own count: a server counts
//! with a vocabulary of its own, and what its template adds is spread.

use crate::analysis::{Cell, Results};
use crate::chart::prefix_map::{Break, Panel, Row, Span};
use crate::chart::{Figure, PrefixMap};
use crate::chat::{Digest, Origin, UsageOrigin};
use crate::record::{Outcome, RecordedSpan, RequestRecord};
use crate::report::detail::{Detail, KEPT_REQUESTS};
use crate::report::html::Picture;
use crate::report::scenes::{DRAWN_CONFIGURATIONS, Scene, note};
use crate::tokens::{Encoder, o200k};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// Lengths of spans, and the sources that they come from.
pub(super) struct Sizes {
    tokens: HashMap<Digest, u64>,
    textless: bool,
    cut: bool,
    /// In the order in which they get colours, for all pictures of a run.
    sources: Vec<String>,
}

impl Sizes {
    /// Counts every distinct text once.
    pub(super) fn of(detail: &Detail) -> Self {
        let mut sizes = Self {
            tokens: HashMap::new(),
            textless: detail.textless,
            cut: detail.cut,
            sources: Vec::new(),
        };
        for span in detail.records().iter().flat_map(spans) {
            let source = source(&span.origin);
            if !sizes.sources.contains(&source) {
                sizes.sources.push(source);
            }
            if let Some(text) = detail.texts().text(span.sha256) {
                let count = || o200k().encode(text).len() as u64;
                sizes.tokens.entry(span.sha256).or_insert_with(count);
            }
        }
        // The nonce is a dozen tokens: it need not have the first colour.
        sizes.sources.sort_by_key(|source| source == Origin::NONCE);
        sizes
    }

    fn size(&self, span: &RecordedSpan) -> u64 {
        let bytes = span.end.saturating_sub(span.start) as u64;
        if self.textless {
            return bytes;
        }
        self.tokens.get(&span.sha256).copied().unwrap_or(bytes)
    }

    fn caption(&self) -> String {
        let mut caption = "The first conversation of the configuration. A bar is solid as far as \
                           the server read the prompt from its cache"
            .to_owned();
        caption.push_str(if self.textless {
            "; texts were not kept, so the lengths of its parts are in proportion to their bytes."
        } else {
            "; its parts are in proportion to their tokens."
        });
        if self.cut {
            let _infallible = write!(
                caption,
                " Of a longer conversation, its first {KEPT_REQUESTS} requests are drawn."
            );
        }
        caption
    }
}

fn spans(record: &RequestRecord) -> impl Iterator<Item = &RecordedSpan> {
    record.prompt.iter().flat_map(|message| &message.spans)
}

/// What a colour stands for: notes as one source, and a source in the first
/// layer as the same that it is elsewhere.
fn source(origin: &Origin) -> String {
    let name = origin.as_str();
    let name = name.strip_prefix("L1/").unwrap_or(name);
    name.split('/').next().unwrap_or(name).to_owned()
}

/// A picture for each configuration of a scene, all to the same scale.
pub(super) fn pictures(
    scene: &Scene<'_>,
    results: &Results,
    detail: &Detail,
    sizes: &Sizes,
) -> Vec<(String, Picture)> {
    let panels: Vec<Panel> = scene
        .rows
        .iter()
        .take(DRAWN_CONFIGURATIONS)
        .map(|row| panel(scene, &row.cell.configuration, detail, sizes))
        .filter(|panel| !panel.rows.is_empty())
        .collect();
    let rows = panels.iter().flat_map(|panel| &panel.rows);
    let length = |row: &Row| row.spans.iter().map(|span| span.tokens).sum();
    let scale: u64 = rows.map(length).max().unwrap_or(0);
    let picture = |panel: Panel| {
        let mut note = note(results, Some(&scene.arena), &[]);
        note.requests = panel.rows.iter().filter(|row| row.read.is_some()).count() as u64;
        note.without_count = panel.rows.len() as u64 - note.requests;
        note.conversations = 1;
        let figure = PrefixMap {
            scenario: scene.name(results),
            sources: sizes.sources.clone(),
            panels: vec![panel],
            scale,
            note,
        };
        Picture {
            figure: Figure::PrefixMap(figure),
            caption: sizes.caption(),
            file: String::new(),
        }
    };
    let each = panels.into_iter();
    each.map(|panel| (panel.configuration.clone(), picture(panel)))
        .collect()
}

fn panel(scene: &Scene<'_>, configuration: &str, detail: &Detail, sizes: &Sizes) -> Panel {
    // Of several attempts the last one counts.
    let mut requests: BTreeMap<(u32, u32), &RequestRecord> = BTreeMap::new();
    for record in detail.records() {
        if &*record.configuration == configuration && scene.holds(&Cell::from(record)) {
            requests.insert((record.turn, record.request), record);
        }
    }
    let several = |turn| requests.range((turn, 2)..(turn + 1, 0)).next().is_some();
    let rows = requests.iter().map(|(&(turn, request), record)| {
        let name = if several(turn) {
            format!("{turn}.{request}")
        } else {
            turn.to_string()
        };
        row(name, record, detail, sizes)
    });
    Panel {
        configuration: configuration.to_owned(),
        rows: rows.collect(),
    }
}

fn row(turn: String, record: &RequestRecord, detail: &Detail, sizes: &Sizes) -> Row {
    let bound = detail.bound(record);
    let raw: Vec<u64> = spans(record).map(|span| sizes.size(span)).collect();
    let sum: u64 = raw.iter().sum();
    let usage = &record.usage;
    let good = record.outcome == Outcome::Ok && usage.origin == UsageOrigin::Reported;
    let counted = usage.total.filter(|_| good);
    let total = counted
        .or(bound.and_then(|bound| bound.prompt))
        .map_or(sum, |tokens| tokens.0);
    let lengths = scaled(&raw, total);
    let drawn = spans(record).zip(&lengths).map(|(span, &tokens)| Span {
        source: source(&span.origin),
        tokens,
    });
    let broke = bound.and_then(|bound| {
        let broke = bound.broke.as_ref()?;
        let eligible = bound.eligible.map(|tokens| tokens.0);
        Some(Break {
            source: broke.origin.to_string(),
            at: eligible
                .unwrap_or_else(|| place(record, broke.byte, &lengths))
                .min(total),
            cause: broke.cause.to_string(),
        })
    });
    Row {
        turn,
        spans: drawn.collect(),
        read: counted.and(usage.read).map(|read| read.0.min(total)),
        broke,
    }
}

/// `sizes` in the same proportions, with the sum `total`: each place is rounded
/// on its own, so that no error adds up.
fn scaled(sizes: &[u64], total: u64) -> Vec<u64> {
    let sum: u64 = sizes.iter().sum();
    if sum == 0 {
        return vec![0; sizes.len()];
    }
    let place = |before: u64| u128::from(before) * u128::from(total) / u128::from(sum);
    let mut before = 0;
    sizes
        .iter()
        .map(|size| {
            let start = place(before);
            before += size;
            u64::try_from(place(before) - start).unwrap_or(u64::MAX)
        })
        .collect()
}

/// Tokens in front of a byte of the body.
fn place(record: &RequestRecord, byte: usize, lengths: &[u64]) -> u64 {
    let mut before = 0;
    for (span, tokens) in spans(record).zip(lengths) {
        if byte < span.end {
            let inside = byte.saturating_sub(span.start) as u64;
            let whole = (span.end - span.start).max(1) as u64;
            return before + tokens * inside / whole;
        }
        before += tokens;
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_keep_their_proportions_and_their_sum() {
        let cases: &[(&[u64], u64, &[u64])] = &[
            (&[1, 1, 2], 8, &[2, 2, 4]),
            (&[1, 1, 1], 10, &[3, 3, 4]),
            (&[3, 0, 5], 8, &[3, 0, 5]),
            (&[0, 0], 7, &[0, 0]),
            (&[], 7, &[]),
            (&[u64::MAX / 2, u64::MAX / 2], 2, &[1, 1]),
        ];
        for &(sizes, total, expected) in cases {
            assert_eq!(scaled(sizes, total), expected, "{sizes:?}");
        }
    }

    #[test]
    fn a_source_has_one_colour_wherever_it_stands() {
        for (origin, expected) in [
            ("L1/memory", "memory"),
            ("memory", "memory"),
            ("notes/spec.md", "notes"),
            ("L2/spec.md", "L2"),
            ("L2", "L2"),
        ] {
            assert_eq!(source(&Origin::from(origin)), expected);
        }
    }
}
