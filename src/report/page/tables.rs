//! The tables of a page that have rows of their own: turns, breaks, differences, lines.

use super::columns::{Of, Shown, estimate, number, table, text};
use crate::analysis::{BreakTotal, Cell, Difference, Fit, Results, TotalKey, TurnRow};
use crate::report::html::Table;
use crate::report::words::{latency, signed_dollars, signed_tokens};
use crate::units::Tokens;

/// Names of a row that are left out where they are the same everywhere.
pub(super) const PLACES: &[&str] = &["group", "scenario", "target", "model", "load"];

pub(super) const BREAKS: (&str, &str) = (
    "breaks",
    "Requests that differ from the earlier one that they share most with",
);
pub(super) const LOST: (&str, &str) = (
    "tokens lost",
    "Tokens behind the breaks that an unbroken prefix would have kept",
);

pub(super) fn tokens(value: Option<Tokens>) -> Option<f64> {
    value.map(|value| value.0 as f64)
}

/// A row per cell and turn.
pub(super) fn turns(results: &Results) -> Table {
    let number = |key, name: &'static str, shown, value: fn(&TurnRow) -> Option<f64>| {
        number(key, (name, ""), shown, value)
    };
    let place =
        |key, name: fn(&Cell) -> String| text(key, key, move |row: &TurnRow| name(&row.cell));
    let columns = [
        place("configuration", |cell| cell.configuration.to_string()),
        place("group", |cell| cell.group.to_string()),
        place("scenario", |cell| cell.scenario.to_string()),
        place("target", |cell| cell.target.to_string()),
        place("model", |cell| cell.model.to_string()),
        place("load", |cell| cell.load.to_string()),
        number("turn", "turn", Shown::Count, |row| {
            Some(f64::from(row.turn))
        }),
        text("events", "before it", |row: &TurnRow| row.events.join("; ")),
        number("cached_share", "cached share", Shown::Share, |row| {
            row.cached_share
        }),
        number(
            "achievable_share",
            "achievable share",
            Shown::Share,
            |row| row.achievable_share,
        ),
        number("total_tokens", "prompt tokens", Shown::Count, |row| {
            tokens(row.total)
        }),
        number("read_tokens", "read", Shown::Count, |row| tokens(row.read)),
        number("counted", "requests", Shown::Count, |row| {
            Some(row.counted as f64)
        }),
        number("full_hits", "full hits", Shown::Count, |row| {
            (row.hit_chances > 0).then_some(row.full_hits as f64)
        }),
        number("ttft_p50_us", "TTFT p50", Shown::Latency, |row| {
            row.ttft_p50_us
        }),
        number("breaks", "breaks", Shown::Count, |row| {
            Some(row.breaks as f64)
        }),
        number("lost_tokens", "tokens lost", Shown::Count, |row| {
            tokens(row.lost)
        }),
        text("break", "first break", |row: &TurnRow| {
            let example = row.break_example.as_ref();
            example.map_or_else(String::new, |(origin, cause)| format!("{origin}: {cause}"))
        }),
    ];
    table(("turns", "By turn", ""), &columns, PLACES, &results.turns)
}

/// A row per configuration, source and cause of its breaks.
pub(super) fn breaks(results: &Results) -> Table {
    let place =
        |key, name: fn(&TotalKey) -> String| text(key, key, move |row: &BreakTotal| name(&row.key));
    let columns = [
        place("configuration", |key| key.configuration.to_string()),
        place("target", |key| key.target.to_string()),
        place("model", |key| key.model.to_string()),
        place("load", |key| key.load.to_string()),
        text("break_origin", "source", |row: &BreakTotal| {
            row.origin.to_string()
        }),
        text("break_cause", "cause", |row: &BreakTotal| {
            row.cause.to_string()
        }),
        number("breaks", BREAKS, Shown::Count, |row: &BreakTotal| {
            Some(row.breaks as f64)
        }),
        number("lost_tokens", LOST, Shown::Count, |row: &BreakTotal| {
            tokens(row.lost)
        }),
    ];
    let head = ("breaks", "Breaks by source and cause", "");
    table(head, &columns, PLACES, &results.breaks)
}

/// Each configuration against the first, conversation by conversation.
pub(super) fn differences(results: &Results) -> Table {
    let name = |key, title, of: fn(&Difference) -> String| text(key, title, of);
    let columns: Vec<Of<Difference>> = vec![
        name("configuration", "configuration", |row| {
            row.candidate.configuration.to_string()
        }),
        name("base", "against", |row| row.base.configuration.to_string()),
        name("target", "target", |row| row.candidate.target.to_string()),
        name("model", "model", |row| row.candidate.model.to_string()),
        name("load", "load", |row| row.candidate.load.to_string()),
        number(
            "pairs",
            ("pairs", "Conversations that both have run"),
            Shown::Count,
            |row: &Difference| Some(row.pairs as f64),
        ),
        estimate(
            "cost_difference",
            ("cost per conversation", ""),
            signed_dollars,
            |row: &Difference| row.cost_usd,
        ),
        estimate(
            "computed_difference",
            ("computed per conversation", ""),
            signed_tokens,
            |row: &Difference| row.computed,
        ),
        estimate(
            "share_difference",
            ("cached share", ""),
            |value| format!("{:+.1} points", value * 100.0),
            |row: &Difference| row.cached_share,
        ),
        estimate(
            "ttft_difference",
            (
                "TTFT",
                "Of the mean time to first token of a conversation's requests",
            ),
            signed_latency,
            |row: &Difference| row.ttft_us,
        ),
    ];
    let note = "Pairs of the same scenario and repeat, over the requests that both answered; in \
                brackets the 95 % interval. Where that holds 0, one cannot tell.";
    let head = (
        "differences",
        "Differences, conversation by conversation",
        note,
    );
    table(head, &columns, PLACES, &results.differences)
}

fn signed_latency(us: f64) -> String {
    let sign = if us < 0.0 { '-' } else { '+' };
    format!("{sign}{}", latency(Some(us.abs())))
}

/// Time to first token against computed tokens.
pub(super) fn fits(results: &Results) -> Table {
    let columns: Vec<Of<Fit>> = vec![
        text("configuration", "configuration", |row: &Fit| {
            row.configuration
                .as_deref()
                .unwrap_or("all together")
                .to_owned()
        }),
        text("target", "target", |row: &Fit| row.target.to_string()),
        text("model", "model", |row: &Fit| row.model.to_string()),
        text("load", "load", |row: &Fit| row.load.to_string()),
        number(
            "slope_us",
            ("per 1,000 computed tokens", "Slope of the line"),
            Shown::Slope,
            |row: &Fit| Some(row.line.slope * 1e3),
        ),
        number(
            "slope_us_low",
            ("95 % from", "Lower end of the interval of the slope"),
            Shown::Slope,
            |row: &Fit| row.line.interval.map(|interval| interval.low * 1e3),
        ),
        number(
            "slope_us_high",
            ("95 % to", "Upper end of the interval of the slope"),
            Shown::Slope,
            |row: &Fit| row.line.interval.map(|interval| interval.high * 1e3),
        ),
        number(
            "intercept_us",
            ("with none computed", "Where the line begins"),
            Shown::Slope,
            |row: &Fit| Some(row.line.intercept),
        ),
        number(
            "r_squared",
            ("explained", "Of the variance of the times, by the line"),
            Shown::Share,
            |row: &Fit| row.line.r_squared,
        ),
        number("points", ("requests", ""), Shown::Count, |row: &Fit| {
            Some(row.line.n as f64)
        }),
    ];
    let note = "A straight line by ordinary least squares; its interval is drawn over whole \
                conversations (bootstrap; above 2,000 of them the closed form that is robust to \
                what requests of one conversation have in common).";
    let head = ("fits", "Time to first token against computed tokens", note);
    table(head, &columns, PLACES, &results.fits)
}
