//! What a dry run says: a row a cell, then what the numbers rest on and what bounds them.

use super::{Estimate, Row, whole, width};
use crate::cli::run::plan::Planned;
use crate::units::{Money, grouped};
use comfy_table::{CellAlignment, Table, presets};
use std::time::Duration;

/// The plan as a table, with what it rests on and what bounds it.
pub(super) fn shown(rows: &[Row], repeats: Option<&[String]>, planned: &Planned) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = vec![
        "SCENARIO",
        "CONFIGURATION",
        "TARGET",
        "LOAD",
        "CONVERSATIONS",
        "REQUESTS",
        "PROMPT TOKENS",
        "ACHIEVABLE",
    ];
    header.extend(repeats.map(|_| "NEEDED"));
    table.set_header(header);
    for (at, row) in rows.iter().enumerate() {
        let known = |text: String| match row.conversations {
            Some(_) => text,
            None => "?".to_owned(),
        };
        let mut cells = vec![
            row.scenario.to_string(),
            row.configuration.clone(),
            row.target.clone(),
            row.load.to_string(),
            known(row.conversations.unwrap_or_default().to_string()),
            known(grouped(row.estimate.requests)),
            known(row.estimate.total.to_string()),
            row.estimate
                .achievable
                .map_or_else(|| "?".to_owned(), |share| share.to_string()),
        ];
        cells.extend(repeats.and_then(|repeats| repeats.get(at)).cloned());
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let whole = whole(rows);
    let needed = repeats.map(|_| width::EXPLAINED).unwrap_or_default();
    format!(
        "{}\n\nNothing was sent. {} cells, {}{} requests, {} prompt tokens, at most {} output \
         tokens.\n{}\n{needed}{}\n",
        table.trim_fmt(),
        rows.len(),
        if is_open_ended(rows) {
            "more than "
        } else {
            ""
        },
        grouped(whole.requests),
        whole.total,
        whole.output,
        assumptions(rows, planned),
        bounds(&whole, rows, planned),
    )
}

/// Whether as many conversations run in a cell as the target gets through.
fn is_open_ended(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.conversations.is_none())
}

fn assumptions(rows: &[Row], planned: &Planned) -> String {
    let shared = match planned.isolate.as_str() {
        "conversation" => "",
        _ => " Conversations share a cache here, so it may be more.",
    };
    let unknown = if rows.iter().any(|row| row.estimate.achievable.is_none()) {
        " Not known (?) where the cache model is not: name it with --cache-model."
    } else {
        ""
    };
    format!(
        "Achievable: what a cache of the target's model can return to conversations that begin \
         cold, one at a time.{unknown}{shared}"
    )
}

fn bounds(whole: &Estimate, rows: &[Row], planned: &Planned) -> String {
    let time = match whole.time {
        Some(time) => format!("about {:.1} s on the embedded server", time.as_secs_f64()),
        None if whole.at_least > Duration::ZERO => format!(
            "at least {:.1} s by schedule, think time and limits; the target's speed is not known",
            whole.at_least.as_secs_f64()
        ),
        None => "not known: the target's speed is not".to_owned(),
    };
    let cost = match (whole.cost, planned.load.max_usd) {
        (Some(Money(0)), _) => "nothing".to_owned(),
        (Some(cost), limit) if limit.is_none_or(|limit| cost <= limit) => format!(
            "at most {} USD, with nothing read from a cache and no request sent twice",
            cost.decimal()
        ),
        (_, Some(limit)) => format!("at most {} USD, where the run ends", limit.decimal()),
        (_, None) if is_open_ended(rows) => {
            "not known: as many conversations run as the target gets through; bound it by \
             --max-usd"
                .to_owned()
        }
        (_, None) => "not known: name a model that has a price with --model".to_owned(),
    };
    format!("Time: {time}. Cost: {cost}.")
}
