//! The tables of a page whose rows are sums over requests.

use super::columns::{Of, Shown, amount, number, table, text};
use super::tables::{BREAKS, LOST, PLACES, tokens};
use crate::analysis::{Figures, Results, Total, TotalKey};
use crate::report::html::Table;

/// A row of numbers and what it is about.
pub(super) struct Summed {
    group: String,
    scenario: String,
    key: TotalKey,
    pub(super) figures: Figures,
}

/// A row per configuration, target, model and load level, with every column.
pub(super) fn totals(results: &Results) -> Table {
    let rows = total_rows(results);
    let note = "All scenarios together. Shares are ratios of sums over answered requests that have a count.";
    let head = ("totals", "Configurations", note);
    table(head, &summed_columns(results), PLACES, &rows)
}

/// A row per group; `None` where there is one only.
pub(super) fn groups(results: &Results) -> Option<Table> {
    let rows: Vec<Summed> = results
        .groups
        .iter()
        .map(|row| summed(&row.group, "", &row.key, &row.figures))
        .collect();
    let several = rows.len() > results.totals.len();
    several.then(|| {
        let head = ("groups", "By group of scenarios", "");
        table(head, &summed_columns(results), &PLACES[2..], &rows)
    })
}

/// A row per scenario; `None` where there is one only.
pub(super) fn scenarios(results: &Results) -> Option<Table> {
    let rows: Vec<Summed> = results
        .rows
        .iter()
        .map(|row| {
            let (group, scenario) = (&row.cell.group, &row.cell.scenario);
            summed(group, scenario, &TotalKey::from(&row.cell), &row.figures)
        })
        .collect();
    let several = rows.len() > results.totals.len();
    several.then(|| {
        let head = ("scenarios", "By scenario", "");
        table(head, &summed_columns(results), &PLACES[2..], &rows)
    })
}

/// A row per configuration, target, model and load level.
pub(super) fn total_rows(results: &Results) -> Vec<Summed> {
    let row = |total: &Total| summed("", "", &total.key, &total.figures);
    results.totals.iter().map(row).collect()
}

fn summed(group: &str, scenario: &str, key: &TotalKey, figures: &Figures) -> Summed {
    Summed {
        group: group.to_owned(),
        scenario: scenario.to_owned(),
        key: key.clone(),
        figures: figures.clone(),
    }
}

/// What a row is about.
pub(super) fn names() -> Vec<Of<Summed>> {
    vec![
        text("configuration", "configuration", |row: &Summed| {
            row.key.configuration.to_string()
        }),
        text("group", "group", |row: &Summed| row.group.clone()),
        text("scenario", "scenario", |row: &Summed| row.scenario.clone()),
        text("target", "target", |row: &Summed| {
            row.key.target.to_string()
        }),
        text("model", "model", |row: &Summed| row.key.model.to_string()),
        text("load", "load", |row: &Summed| row.key.load.to_string()),
    ]
}

#[expect(clippy::too_many_lines, reason = "one line a column")]
fn summed_columns(results: &Results) -> Vec<Of<Summed>> {
    let mut columns = names();
    let count = |key, name, value: fn(&Figures) -> Option<f64>| {
        number(key, name, Shown::Count, move |row: &Summed| {
            value(&row.figures)
        })
    };
    let share = |key, name, value: fn(&Figures) -> Option<f64>| {
        number(key, name, Shown::Share, move |row: &Summed| {
            value(&row.figures)
        })
    };
    let latency = |key, name, value: fn(&Figures) -> Option<f64>| {
        number(key, name, Shown::Latency, move |row: &Summed| {
            value(&row.figures)
        })
    };
    columns.extend([
        amount(
            "cost_per_conversation",
            (
                "cost per conversation",
                "Mean over the conversations that were counted from first request to last",
            ),
            |row: &Summed| row.figures.costs.per_conversation,
        ),
        number(
            "computed_per_conversation",
            (
                "computed per conversation",
                "Prompt tokens that were not read from the cache, for each conversation",
            ),
            Shown::Mean,
            |row: &Summed| row.figures.computed_per_conversation,
        ),
        share(
            "cached_share",
            ("cached share", "Tokens read from the cache, of all prompt tokens"),
            |figures| figures.cached_share,
        ),
        share(
            "cached_share_low",
            ("95 % from", "Lower end of the interval of the cached share"),
            |figures| figures.cached_interval.map(|interval| interval.low),
        ),
        share(
            "cached_share_high",
            ("95 % to", "Upper end of the interval of the cached share"),
            |figures| figures.cached_interval.map(|interval| interval.high),
        ),
        share(
            "cached_share_after_first",
            (
                "after first",
                "Cached share without each conversation's first request, which finds an empty cache",
            ),
            |figures| figures.cached_share_after_first,
        ),
        share(
            "achievable_share",
            (
                "achievable share",
                "What the cache could have returned, of all prompt tokens",
            ),
            |figures| figures.achievable_share,
        ),
        share(
            "efficiency",
            ("efficiency", "Read, of what the cache could have returned"),
            |figures| figures.efficiency,
        ),
        count("breaks", BREAKS, |figures| Some(figures.breaks as f64)),
        count("lost_tokens", LOST, |figures| tokens(figures.lost)),
        count(
            "total_tokens",
            ("prompt tokens", "All prompt tokens as the server counted them"),
            |figures| tokens(figures.total),
        ),
        count(
            "read_tokens",
            ("read", "Of these, taken from the cache"),
            |figures| tokens(figures.read),
        ),
        count(
            "computed_tokens",
            ("computed", "Of these, not taken from the cache"),
            |figures| tokens(figures.computed),
        ),
        count(
            "requests",
            ("requests", "Requests sent; a retry is none of its own"),
            |figures| Some(figures.requests as f64),
        ),
        count(
            "failed",
            ("failed", "Requests that were never answered"),
            |figures| Some(figures.failed as f64),
        ),
        count(
            "without_count",
            (
                "without count",
                "Answered requests whose cached tokens are not known",
            ),
            |figures| Some(figures.without_count as f64),
        ),
        count(
            "conversations",
            ("conversations", "Conversations that the shares are of"),
            |figures| Some(figures.conversations as f64),
        ),
        count(
            "set_apart",
            (
                "set apart",
                "Answered requests whose count says nothing of the layout; see below",
            ),
            |figures| (figures.set_apart > 0).then_some(figures.set_apart as f64),
        ),
        latency(
            "ttft_p50_us",
            ("TTFT p50", "Time to first token: half are faster"),
            |figures| figures.ttft.p50_us,
        ),
        latency(
            "ttft_p90_us",
            ("TTFT p90", "Time to first token: nine in ten are faster"),
            |figures| figures.ttft.p90_us,
        ),
        latency(
            "ttft_p99_us",
            ("TTFT p99", "Time to first token: 99 in a hundred are faster"),
            |figures| figures.ttft.p99_us,
        ),
    ]);
    if results.shows_due() {
        columns.extend(from_due());
    }
    columns
}

/// Quantiles of the time to first token from when a request was due.
pub(super) fn from_due() -> [Of<Summed>; 3] {
    let latency = |key, name, help, value: fn(&Figures) -> Option<f64>| {
        number(key, (name, help), Shown::Latency, move |row: &Summed| {
            value(&row.figures)
        })
    };
    [
        latency(
            "ttft_from_due_p50_us",
            "TTFT from due p50",
            "From when the request was due first: half are faster",
            |figures| figures.ttft_from_due.p50_us,
        ),
        latency(
            "ttft_from_due_p90_us",
            "TTFT from due p90",
            "From when the request was due first: nine in ten are faster",
            |figures| figures.ttft_from_due.p90_us,
        ),
        latency(
            "ttft_from_due_p99_us",
            "TTFT from due p99",
            "From when the request was due first: 99 in a hundred are faster",
            |figures| figures.ttft_from_due.p99_us,
        ),
    ]
}
