//! The table of configurations, as columns; a form of output takes those that
//! it has room for.

use super::words::{UNKNOWN, dollars, latency, mean_tokens, percent, tokens, wrapped};
use crate::analysis::{BreakTotal, Results, Total};
use crate::units::grouped;

/// Letters in a line of the main break.
const MAIN_BREAK: usize = 22;

/// A column: what stands above it, its cells, and how soon it is given up where
/// there is no room (0: never).
pub(super) struct Column {
    pub(super) title: String,
    pub(super) cells: Vec<String>,
    pub(super) number: bool,
    pub(super) expendable: u8,
}

impl Column {
    /// Letters of its widest line.
    pub(super) fn width(&self) -> usize {
        let widest = |text: &String| text.lines().map(|line| line.chars().count()).max();
        let cells = self.cells.iter().filter_map(widest).max();
        cells.max(widest(&self.title)).unwrap_or(0)
    }
}

/// The columns of `results.totals`, left to right.
pub(super) fn columns(results: &Results) -> Vec<Column> {
    let totals = &results.totals;
    let column = |title: &str, expendable, cell: &dyn Fn(&Total) -> String| Column {
        title: title.to_owned(),
        cells: totals.iter().map(cell).collect(),
        number: true,
        expendable,
    };
    let mut columns = names(totals);
    columns.extend([
        column("requests", 5, &|total| grouped(total.figures.requests)),
        column("prompt\ntokens", 6, &|total| tokens(total.figures.total)),
        column("read", 7, &|total| tokens(total.figures.read)),
    ]);
    if totals.iter().any(|total| total.figures.cost.is_some()) {
        columns.push(column("cost per\nconversation", 1, &|total| {
            dollars(total.figures.costs.per_conversation)
        }));
    }
    columns.extend([
        column("computed per\nconversation", 0, &|total| {
            mean_tokens(total.figures.computed_per_conversation)
        }),
        column("cached\nshare", 0, &share),
        column("achiev-\nable", 2, &|total| {
            percent(total.figures.achievable_share)
        }),
        column("effi-\nciency", 4, &|total| {
            percent(total.figures.efficiency)
        }),
        column("TTFT\np50", 1, &|total| latency(total.figures.ttft.p50_us)),
    ]);
    if results.shows_due() {
        columns.extend([
            column("from due\np50", 1, &|total| {
                latency(total.figures.ttft_from_due.p50_us)
            }),
            column("TTFT\np99", 7, &|total| latency(total.figures.ttft.p99_us)),
            column("from due\np99", 2, &|total| {
                latency(total.figures.ttft_from_due.p99_us)
            }),
        ]);
    }
    columns.push(column("breaks", 3, &|total| {
        grouped(breaks(results, total).map(|found| found.breaks).sum())
    }));
    let mut main = column("main break", 3, &|total| main_break(results, total));
    main.number = false;
    if main.width() > MAIN_BREAK {
        // The name of a source does not wrap: rather this one than three others.
        main.expendable = 8;
    }
    columns.push(main);
    columns
}

/// Configuration, and of target, model and load what is not the same everywhere.
fn names(totals: &[Total]) -> Vec<Column> {
    type Name = fn(&Total) -> &str;
    let all: [(&str, Name); 4] = [
        ("configuration", |total| &total.key.configuration),
        ("target", |total| &total.key.target),
        ("model", |total| &total.key.model),
        ("load", |total| &total.key.load),
    ];
    all.into_iter()
        .filter(|(title, name)| {
            *title == "configuration" || totals.windows(2).any(|two| name(&two[0]) != name(&two[1]))
        })
        .map(|(title, name)| Column {
            title: title.to_owned(),
            cells: totals.iter().map(|total| name(total).to_owned()).collect(),
            number: false,
            expendable: 0,
        })
        .collect()
}

fn share(total: &Total) -> String {
    let share = percent(total.figures.cached_share);
    match total.figures.cached_interval {
        Some(interval) => format!(
            "{share}\n[{:.1}, {:.1}]",
            interval.low * 100.0,
            interval.high * 100.0
        ),
        None => share,
    }
}

fn breaks<'a>(results: &'a Results, total: &'a Total) -> impl Iterator<Item = &'a BreakTotal> {
    results.breaks.iter().filter(|found| found.key == total.key)
}

/// The source that lost most; where nobody counted, the one that broke most often.
fn main_break(results: &Results, total: &Total) -> String {
    let Some(main) = breaks(results, total).max_by_key(|found| (found.lost, found.breaks)) else {
        return UNKNOWN.to_owned();
    };
    if main.cause.contains(main.origin.as_str()) {
        return wrapped(&main.cause, MAIN_BREAK, "");
    }
    format!(
        "{}\n{}",
        main.origin,
        wrapped(&format!("({})", main.cause), MAIN_BREAK, "")
    )
}
