//! Results for a terminal: a sentence, a table, and the turns.
//!
//! Invariants: no line but a path or an error message is wider than asked for;
//! nothing is said by colour alone.

use super::headline::headline;
use super::layouts::layouts;
use super::notes::{LIMITS, notes};
use super::scenes::Arena;
use super::strip::{SCENARIOS, strips, text};
use super::table::{Column, columns};
use super::words::{count, difference, few, signed_dollars, signed_tokens, wrapped};
use crate::analysis::stats::FEWEST;
use crate::analysis::{Difference, Results, TargetNote};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use std::fmt::Write as _;

/// How a report looks on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Letters in a line.
    pub width: usize,
    /// Whether escape sequences may be used.
    pub colour: bool,
}

impl Default for Look {
    /// 100 letters, no escape sequences.
    fn default() -> Self {
        Self {
            width: 100,
            colour: false,
        }
    }
}

/// The results as text that ends with a line end.
pub fn terminal(results: &Results, look: Look) -> String {
    let width = look.width.max(40);
    let mut out = String::new();
    for sentence in headline(results) {
        let wrapped = wrapped(&sentence, width, "");
        out.push_str(&if look.colour { bold(&wrapped) } else { wrapped });
        out.push('\n');
    }
    out.push('\n');
    let notes = notes(results);
    if !notes.is_empty() {
        let _infallible = writeln!(out, "{LIMITS}:");
    }
    for note in notes {
        out.push_str(&wrapped(&format!("! {note}"), width, "  "));
        out.push('\n');
    }
    for target in &results.targets {
        out.push_str(&wrapped(&measured_on(target, results), width, "  "));
        out.push('\n');
    }
    if results.totals.is_empty() {
        return out;
    }
    let _infallible = write!(out, "\n{}\n", table(results, width));
    for line in differences(results) {
        let _infallible = write!(out, "\n{}", wrapped(&line, width, "    "));
    }
    if !results.differences.is_empty() {
        out.push('\n');
    }
    for line in layouts(results) {
        let _infallible = writeln!(out, "\n{}", wrapped(&line, width, "    "));
    }
    match strips(results) {
        Some(strips) => {
            for strip in strips {
                let _infallible = write!(out, "\n{}", text(&strip, width));
            }
        }
        None => {
            let _infallible = write!(
                out,
                "\nMore than {SCENARIOS} scenarios: the turns are in `summary.json` and `report.md`.\n"
            );
        }
    }
    out
}

/// What a target is, in a line.
pub(super) fn measured_on(target: &TargetNote, results: &Results) -> String {
    let mut said = if target.simulated {
        format!("Measured on {} (embedded server, simulated)", target.name)
    } else {
        format!("Measured on {} ({})", target.name, target.url)
    };
    let mut add = |what: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let _infallible = write!(said, ", {what}{value}");
        }
    };
    add("model ", Some(&target.model));
    add("cache model ", target.cache_model.as_deref());
    add("tokens by ", target.tokenizer.as_deref());
    add("prices: ", target.price_source.as_deref());
    add("", Some(&results.date));
    let conversations: u64 = results
        .totals
        .iter()
        .filter(|total| total.key.target == target.name)
        .map(|total| total.figures.conversations)
        .sum();
    add("", Some(&count(conversations, "conversation")));
    said + "."
}

/// Each configuration against the first one; one line where nothing can be told.
fn differences(results: &Results) -> Vec<String> {
    let found = &results.differences;
    let most = found.iter().map(|found| found.pairs).max();
    if let Some(most) = most.filter(|most| *most < FEWEST) {
        return vec![format!("Differences: {}; `--repeat` runs more.", few(most))];
    }
    let line = |found: &Difference| {
        let (name, base) = (&found.candidate.configuration, &found.base.configuration);
        let cost = found.cost_usd.map_or_else(String::new, |cost| {
            format!("{} of cost, ", difference(Some(cost), signed_dollars))
        });
        let at = match Arena::from(&found.candidate).label(results) {
            label if label.is_empty() => label,
            label => format!(" on {label}"),
        };
        if found.pairs < FEWEST {
            return format!("{name} against {base}{at}: {}", few(found.pairs));
        }
        format!(
            "{name} against {base}{at}, a conversation: {cost}{} computed tokens, {} points of cached share \
             ({} pairs{}, 95 % intervals)",
            difference(found.computed, signed_tokens),
            difference(found.cached_share, |value| format!("{:+.1}", value * 100.0)),
            found.pairs,
            whole(found),
        )
    };
    found.iter().map(line).collect()
}

/// How many of the pairs cost and computed tokens are over, where that is not all.
fn whole(found: &Difference) -> String {
    let n = found.computed.map_or(0, |computed| computed.n);
    if n < found.pairs {
        format!(", of which {n} are whole, as cost and computed tokens take it")
    } else {
        String::new()
    }
}

/// The table, without the columns that there is no room for.
fn table(results: &Results, width: usize) -> String {
    let columns = fitting(columns(results), width);
    let mut table = Table::new();
    table
        .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header(columns.iter().map(|column| column.title.clone()));
    for row in 0..results.totals.len() {
        table.add_row(columns.iter().filter_map(|column| column.cells.get(row)));
    }
    for (shown, column) in table.column_iter_mut().zip(&columns) {
        shown.set_padding((0, 1));
        if column.number {
            shown.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table
        .to_string()
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// Gives up the most expendable columns until the rest fits.
fn fitting(mut columns: Vec<Column>, width: usize) -> Vec<Column> {
    // A blank behind each column, and one between two.
    let needed = |columns: &[Column]| {
        columns
            .iter()
            .map(|column| column.width() + 2)
            .sum::<usize>()
    };
    while needed(&columns) > width {
        let most = columns.iter().map(|column| column.expendable).max();
        if most.is_none_or(|most| most == 0) {
            break;
        }
        columns.retain(|column| Some(column.expendable) != most);
    }
    columns
}

fn bold(text: &str) -> String {
    format!("\x1b[1m{text}\x1b[0m")
}
