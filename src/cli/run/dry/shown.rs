//! What a dry run says: a row a cell, then what the numbers rest on and what bounds them.

use super::one::Amounts;
use super::rows::Row;
use super::whole::Whole;
use super::width;
use crate::cli::run::plan::Planned;
use crate::units::{Money, Tokens, grouped};
use comfy_table::{CellAlignment, Table, presets};
use std::fmt::Write as _;
use std::time::Duration;

/// The plan as a table, with what it rests on and what bounds it. `own` is what this
/// process does of `all`.
pub(super) fn shown(
    own: &Whole,
    all: &Whole,
    repeats: Option<&[String]>,
    planned: &Planned,
) -> String {
    let needed = repeats.map(|_| width::EXPLAINED).unwrap_or_default();
    format!(
        "{}\n\n{}{}\n{}\n{needed}{}\n",
        table(&own.rows, repeats).trim_fmt(),
        sent(own, planned),
        aside(own),
        assumptions(&own.rows, planned),
        bounds(own, all, planned),
    )
}

fn table(rows: &[Row], repeats: Option<&[String]>) -> Table {
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
            known(grouped(row.measured.requests)),
            known(row.measured.prompt.to_string()),
            row.achievable
                .map_or_else(|| "?".to_owned(), |share| share.to_string()),
        ];
        cells.extend(repeats.and_then(|repeats| repeats.get(at)).cloned());
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// What is measured.
fn sent(own: &Whole, planned: &Planned) -> String {
    let measured = own.measured();
    let shard = planned.shard.map_or_else(String::new, |shard| {
        format!("Of shard {}/{}: ", shard.index, shard.count)
    });
    let grown = match measured.grown {
        Tokens(0) => String::new(),
        grown => format!(" (up to {grown} more by replies of the model itself)"),
    };
    let cells = numbered(own.rows.len() as u64, "cell");
    let more = match (own.is_open_ended(), measured.requests) {
        (false, _) => "",
        (true, 0) => {
            return format!(
                "Nothing was sent. {shard}{cells}, as many requests as the target gets through."
            );
        }
        (true, _) => "more than ",
    };
    format!(
        "Nothing was sent. {shard}{cells}, {more}{}, {} prompt tokens{grown}, at most {} output \
         tokens.",
        numbered(measured.requests, "request"),
        measured.prompt,
        measured.output,
    )
}

/// What is sent beside that.
fn aside(own: &Whole) -> String {
    let Amounts {
        requests, prompt, ..
    } = own.beside();
    match requests {
        0 => String::new(),
        _ => format!(
            "\nBeside that at most {} with {prompt} prompt tokens, to warm up and to probe: they count \
             nowhere, and cost.",
            numbered(requests, "request")
        ),
    }
}

fn assumptions(rows: &[Row], planned: &Planned) -> String {
    let shared = match planned.isolate.as_str() {
        "conversation" => "",
        _ => " Conversations share a cache here, so it may be more.",
    };
    let unknown = if rows.iter().any(|row| row.achievable.is_none()) {
        " Not known (?) where the cache model is not: name it with --cache-model."
    } else {
        ""
    };
    format!(
        "Achievable: what a cache of the target's model can return to conversations that begin \
         cold, one at a time.{unknown}{shared}"
    )
}

fn bounds(own: &Whole, all: &Whole, planned: &Planned) -> String {
    let time = match own.about {
        Some(time) => format!("about {} on the embedded server", span(time)),
        None if own.at_least > Duration::ZERO => format!(
            "at least {} by schedule, think time and limits; the target's speed is not known",
            span(own.at_least)
        ),
        None => "not known: the target's speed is not".to_owned(),
    };
    let cost = match (own.most().cost, planned.load.max_usd) {
        (Some(Money(0)), _) => "nothing".to_owned(),
        (Some(cost), limit) if limit.is_none_or(|limit| cost <= limit) => format!(
            "at most {} USD, with nothing read from a cache and no request sent twice; prompts are \
             counted {}",
            cost.decimal(),
            counted(planned)
        ),
        (_, Some(limit)) => format!("at most {} USD, where the run ends", limit.decimal()),
        (_, None) if own.is_open_ended() => {
            "not known: as many conversations run as the target gets through; bound it by \
             --max-usd"
                .to_owned()
        }
        (_, None) => "not known: name a model that has a price with --model".to_owned(),
    };
    let mut said = format!("Time: {time}. Cost: {cost}.");
    if let Some(shard) = planned.shard {
        // A string takes everything.
        let _written = write!(
            said,
            "\nAll {} shards: {}.",
            shard.count,
            in_all(all, planned)
        );
    }
    said
}

/// What all shards come to.
fn in_all(all: &Whole, planned: &Planned) -> String {
    let most = all.most();
    let limit = planned.load.max_usd;
    let limit = limit.map(|limit| super::of_all(limit, planned));
    let cost = match (most.cost, limit) {
        (Some(Money(0)), _) => String::new(),
        (Some(cost), Some(limit)) => format!(", at most {} USD", cost.min(limit).decimal()),
        (Some(cost), None) | (None, Some(cost)) => format!(", at most {} USD", cost.decimal()),
        (None, None) => ", at a cost that is not known".to_owned(),
    };
    format!(
        "at most {} requests with {} prompt tokens{cost}; limits of a minute and --max-usd hold for \
         each shard alone",
        grouped(most.requests),
        most.prompt + most.grown,
    )
}

fn counted(planned: &Planned) -> &'static str {
    if planned.counts_with_own {
        "with --tokenizer"
    } else {
        "with the bundled vocabulary (--tokenizer takes the model's own)"
    }
}

/// `1 cell`, `1,200 cells`
fn numbered(count: u64, what: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{} {what}{many}", grouped(count))
}

/// `8.3 s`, `2 h 13 min`
fn span(span: Duration) -> String {
    let minutes = span.as_secs() / 60;
    match span.as_secs() {
        0..120 => format!("{:.1} s", span.as_secs_f64()),
        120..7_200 => format!("{:.1} min", span.as_secs_f64() / 60.0),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_a_unit_of_its_size() {
        for (millis, shown) in [
            (8_340, "8.3 s"),
            (119_900, "119.9 s"),
            (240_000, "4.0 min"),
            (7_980_000, "2 h 13 min"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), shown);
        }
    }
}
