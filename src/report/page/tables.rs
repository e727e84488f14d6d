//! The tables of a page.

use super::columns::{Of, Shown, amount, number, table, text};
use crate::analysis::{
    BreakTotal, Cell, Difference, Estimate, Figures, Results, TotalKey, TurnRow,
};
use crate::report::html::Table;
use crate::report::words::{difference, signed_tokens};
use crate::units::Tokens;

/// Names of a row that are left out where they are the same everywhere.
const PLACES: &[&str] = &["group", "scenario", "target", "model", "load"];

/// A row of numbers and what it is about.
struct Summed {
    group: String,
    scenario: String,
    key: TotalKey,
    figures: Figures,
    /// Breaks, and tokens lost behind them; only of a total.
    breaks: Option<u64>,
    lost: Option<Tokens>,
}

/// A row per configuration, target, model and load level, with every column.
pub(super) fn totals(results: &Results) -> Table {
    let rows: Vec<Summed> = results
        .totals
        .iter()
        .map(|total| {
            let of = results.breaks.iter().filter(|found| found.key == total.key);
            let (breaks, lost) = of.fold((0, Some(Tokens(0))), |(breaks, lost), found| {
                let lost = lost.zip(found.lost).map(|(sum, lost)| sum + lost);
                (breaks + found.breaks, lost)
            });
            Summed {
                breaks: Some(breaks),
                lost,
                ..summed("", "", &total.key, &total.figures)
            }
        })
        .collect();
    let note = "All scenarios together. Shares are ratios of sums over answered requests that have a count.";
    let head = ("totals", "Configurations", note);
    table(head, &summed_columns(), PLACES, &rows)
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
        table(head, &summed_columns(), &PLACES[2..], &rows)
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
        table(head, &summed_columns(), &PLACES[2..], &rows)
    })
}

fn summed(group: &str, scenario: &str, key: &TotalKey, figures: &Figures) -> Summed {
    Summed {
        group: group.to_owned(),
        scenario: scenario.to_owned(),
        key: key.clone(),
        figures: figures.clone(),
        breaks: None,
        lost: None,
    }
}

const BREAKS: (&str, &str) = (
    "breaks",
    "Requests that differ from the earlier one that they share most with",
);
const LOST: (&str, &str) = (
    "tokens lost",
    "Tokens behind the breaks that an unbroken prefix would have kept",
);

fn tokens(value: Option<Tokens>) -> Option<f64> {
    value.map(|value| value.0 as f64)
}

fn places(key: impl Fn(&Summed) -> &TotalKey + Copy + 'static) -> [Of<Summed>; 3] {
    [
        text("target", "target", move |row| key(row).target.to_string()),
        text("model", "model", move |row| key(row).model.to_string()),
        text("load", "load", move |row| key(row).load.to_string()),
    ]
}

#[expect(clippy::too_many_lines, reason = "one line a column")]
fn summed_columns() -> Vec<Of<Summed>> {
    let mut columns = vec![
        text("configuration", "configuration", |row: &Summed| {
            row.key.configuration.to_string()
        }),
        text("group", "group", |row: &Summed| row.group.clone()),
        text("scenario", "scenario", |row: &Summed| row.scenario.clone()),
    ];
    columns.extend(places(|row| &row.key));
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
        number("breaks", BREAKS, Shown::Count, |row: &Summed| {
            row.breaks.map(|breaks| breaks as f64)
        }),
        number("lost_tokens", LOST, Shown::Count, |row: &Summed| {
            tokens(row.lost)
        }),
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
        amount("cost_usd", ("cost", "Of the counted requests"), |row: &Summed| {
            row.figures.cost
        }),
        amount(
            "cost_uncached_usd",
            ("cost without cache", "Had nothing been read from the cache"),
            |row: &Summed| row.figures.cost_uncached,
        ),
    ]);
    columns
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
        number("breaks", "breaks", Shown::Count, |row| {
            Some(row.breaks as f64)
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
    let value = |estimate: Option<Estimate>| estimate.map(|estimate| estimate.difference);
    let columns = [
        text("configuration", "configuration", |row: &Difference| {
            row.candidate.configuration.to_string()
        }),
        text("base", "against", |row: &Difference| {
            row.base.configuration.to_string()
        }),
        text("target", "target", |row: &Difference| {
            row.candidate.target.to_string()
        }),
        text("model", "model", |row: &Difference| {
            row.candidate.model.to_string()
        }),
        text("load", "load", |row: &Difference| {
            row.candidate.load.to_string()
        }),
        number(
            "pairs",
            ("pairs", "Conversations that both have run"),
            Shown::Count,
            |row: &Difference| Some(row.pairs as f64),
        ),
    ];
    let note = "Pairs of the same scenario and repeat; in brackets the 95 % interval.";
    let head = (
        "differences",
        "Differences, conversation by conversation",
        note,
    );
    let mut out = table(head, &columns, PLACES, &results.differences);
    if out.rows.is_empty() {
        return out;
    }
    for (key, name) in [
        ("computed_difference", "computed per conversation"),
        ("share_difference", "cached share"),
    ] {
        out.columns.push(crate::report::html::Column {
            key: key.to_owned(),
            name: name.to_owned(),
            help: String::new(),
            number: true,
        });
    }
    for (row, found) in out.rows.iter_mut().zip(&results.differences) {
        row.push(crate::report::html::Cell {
            text: difference(found.computed, signed_tokens),
            value: value(found.computed),
        });
        row.push(crate::report::html::Cell {
            text: difference(found.cached_share, |value| {
                format!("{:+.1} points", value * 100.0)
            }),
            value: value(found.cached_share),
        });
    }
    out
}
