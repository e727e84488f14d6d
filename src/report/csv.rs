//! Results as a table for other programs: `summary.csv`.

use crate::analysis::{Results, SummaryRow};
use crate::record::inert;
use crate::units::{Money, Tokens};
use std::io;

/// Columns of `summary.csv`, in order. Shares are fractions of 1. An empty
/// cell: not known.
pub const SUMMARY_COLUMNS: &[&str] = &[
    "group",
    "scenario",
    "configuration",
    "target",
    "model",
    "load",
    "requests",
    "failed",
    "without_count",
    "total_tokens",
    "read_tokens",
    "cached_share",
    "cached_share_low",
    "cached_share_high",
    "cached_share_after_first",
    "achievable_share",
    "efficiency",
    "computed_tokens",
    "ttft_p50_us",
    "ttft_p90_us",
    "ttft_p99_us",
    "cost_usd",
    "cost_uncached_usd",
    "cost_best_usd",
    "cost_per_conversation_usd",
    "cost_least_usd",
    "cost_most_usd",
    "computed_per_conversation",
    "set_apart",
    "write_tokens",
    "prompt_reuse_tokens",
    "reply_reuse_tokens",
    "hit_chances",
    "full_hits",
    "breaks",
    "lost_tokens",
    "ttft_from_due_p50_us",
    "ttft_from_due_p90_us",
    "ttft_from_due_p99_us",
];

/// Writes `summary.csv`, a row per group, scenario, configuration, target,
/// model and load.
///
/// # Errors
///
/// What `out` says.
pub fn summary_csv(out: impl io::Write, results: &Results) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(SUMMARY_COLUMNS)?;
    for summary in &results.rows {
        csv.write_record(row(summary))?;
    }
    csv.flush()
}

fn row(summary: &SummaryRow) -> Vec<String> {
    let (cell, figures) = (&summary.cell, &summary.figures);
    let names = [
        &cell.group,
        &cell.scenario,
        &cell.configuration,
        &cell.target,
        &cell.model,
        &cell.load,
    ];
    let tokens =
        |value: Option<Tokens>| value.map_or_else(String::new, |value| value.0.to_string());
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let dollars = |value: Option<Money>| value.map_or_else(String::new, Money::decimal);
    let interval = figures.cached_interval;
    let mut cells: Vec<String> = names.iter().map(|name| inert(name).into_owned()).collect();
    cells.extend([
        figures.requests.to_string(),
        figures.failed.to_string(),
        figures.without_count.to_string(),
        tokens(figures.total),
        tokens(figures.read),
        number(figures.cached_share),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
        number(figures.cached_share_after_first),
        number(figures.achievable_share),
        number(figures.efficiency),
        tokens(figures.computed),
        number(figures.ttft.p50_us),
        number(figures.ttft.p90_us),
        number(figures.ttft.p99_us),
        dollars(figures.cost),
        dollars(figures.cost_uncached),
        dollars(figures.costs.best),
        dollars(figures.costs.per_conversation),
        dollars(figures.costs.least),
        dollars(figures.costs.most),
        number(figures.computed_per_conversation),
        figures.set_apart.to_string(),
        tokens(figures.written),
        tokens(figures.reuse.prompt),
        tokens(figures.reuse.reply),
        figures.hit_chances.to_string(),
        figures.full_hits.to_string(),
        figures.breaks.to_string(),
        tokens(figures.lost),
        number(figures.ttft_from_due.p50_us),
        number(figures.ttft_from_due.p90_us),
        number(figures.ttft_from_due.p99_us),
    ]);
    cells
}
