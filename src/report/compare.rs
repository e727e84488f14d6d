//! One run against another: for a terminal, a program and a pull request.

mod json;

pub use json::{COMPARE_SCHEMA, json};

use super::gate::number::shown;
use super::markdown::inline;
use super::words::wrapped;
use crate::analysis::compare::{Change, Comparison, Level, Row, Told};
use crate::analysis::rules::Unit;
use comfy_table::{CellAlignment, Table, presets};
use std::fmt::Write as _;
use std::sync::Arc;

/// Lines are broken at about this width.
const WIDTH: usize = 100;

/// What a row is about: `append-only`, `dev against inline, quickstart`.
fn title(row: &Row, several: bool) -> String {
    let (base, own) = &row.configurations;
    let mut said = match &row.level {
        Level::All => "All configurations".to_owned(),
        _ if base == own => own.to_string(),
        _ => format!("{own} against {base}"),
    };
    if let Level::Scenario(name) = &row.level {
        said += &format!(", {name}");
    }
    if several {
        said += &format!(" (on {}, {})", row.targets.1, row.load);
    }
    said
}

/// Whether rows are of several targets or load levels.
fn several(found: &Comparison) -> bool {
    let place = |row: &Row| (row.targets.clone(), Arc::clone(&row.load));
    let first = found.rows.first().map(place);
    found.rows.iter().any(|row| Some(place(row)) != first)
}

fn counted(row: &Row) -> String {
    let plural = |number: usize| if number == 1 { "" } else { "s" };
    let joined = if row.independent < row.pairs {
        format!(
            " ({} independent: one scenario and repeat is one)",
            row.independent
        )
    } else {
        String::new()
    };
    format!(
        "{} conversation{}{joined}, {} request{}",
        row.pairs,
        plural(row.pairs),
        row.requests,
        plural(row.requests)
    )
}

/// A difference with its sign: shares in points.
fn signed(value: f64, unit: Unit) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    match unit {
        Unit::Share => format!("{sign}{:.1} points", value.abs() * 100.0),
        unit => format!("{sign}{}", shown(Some(value.abs()), Some(unit), 1)),
    }
}

/// `-186 [-300, -20]`, or that it cannot be told, and why.
fn difference(change: &Change) -> String {
    let (Some(value), Some(interval)) = (change.difference, change.interval) else {
        return match &change.told {
            Told::TooFew(said) => format!("cannot tell ({said})"),
            Told::Nothing(why) => why.clone(),
            _ => String::new(),
        };
    };
    if change.told == Told::Same {
        return "none".to_owned();
    }
    let end = |value| signed(value, change.unit).replace(" points", "");
    format!(
        "{} [{}, {}]",
        signed(value, change.unit),
        end(interval.low),
        end(interval.high)
    )
}

/// `better`, `worse`, `cannot tell`.
fn word(change: &Change) -> &'static str {
    match change.told {
        Told::Clear { better: Some(true) } => "better",
        Told::Clear {
            better: Some(false),
        } => "worse",
        Told::Clear { better: None } => "changed",
        Told::Same => "the same",
        Told::Unclear => "cannot tell",
        Told::TooFew(_) | Told::Nothing(_) => "",
    }
}

/// Whether a measure is worth a line: something is known of it.
fn is_known(change: &Change) -> bool {
    change.base.is_some() || change.candidate.is_some()
}

/// A table of what a row compares.
fn cells(change: &Change) -> [String; 5] {
    let value = |value| shown(value, Some(change.unit), 1);
    let over = change
        .over
        .map_or_else(String::new, |n| format!(" (over {n} whole on both sides)"));
    [
        change.title.to_owned() + &over,
        value(change.base),
        value(change.candidate),
        difference(change),
        word(change).to_owned(),
    ]
}

const HEAD: [&str; 5] = ["", "base", "candidate", "difference [95 % interval]", ""];

/// Rows of a whole configuration, or of all.
fn wholes(found: &Comparison) -> impl Iterator<Item = &Row> {
    found
        .rows
        .iter()
        .filter(|row| !matches!(row.level, Level::Scenario(_)))
}

/// Computed tokens of every scenario; no rows where there is only one scenario.
fn scenarios(found: &Comparison) -> Vec<[String; 5]> {
    let several = several(found);
    let of_scenario = |row: &&Row| matches!(row.level, Level::Scenario(_));
    let rows: Vec<&Row> = found.rows.iter().filter(of_scenario).collect();
    let first = rows.first().map(|row| &row.configurations);
    let one = !several && rows.iter().all(|row| Some(&row.configurations) == first);
    let rows = rows.into_iter().filter_map(|row| {
        let computed = |change: &&Change| change.name == "computed_per_conversation";
        let change = row.changes.iter().find(computed)?;
        let [_, base, candidate, difference, word] = cells(change);
        let title = match &row.level {
            Level::Scenario(name) if one => name.to_string(),
            _ => title(row, several),
        };
        Some([title, base, candidate, difference, word])
    });
    rows.collect()
}

const SCENARIOS: &str = "Computed tokens per conversation, by scenario";

/// What it takes to tell, where something could not be told.
fn takes(found: &Comparison) -> Option<&'static str> {
    let mut changes = found.rows.iter().flat_map(|row| &row.changes);
    let few = changes.any(|change| matches!(change.told, Told::TooFew(_)));
    few.then_some(
        "Cannot tell at this sample size: what stands in parentheses is what there is, of what it \
         takes; `run --repeat` gives more conversations.",
    )
}

/// The comparison for a terminal. `about` says what base and candidate are.
pub fn text(found: &Comparison, about: &[String; 2], colour: bool) -> String {
    let mut out = format!("Base:      {}\nCandidate: {}\n", about[0], about[1]);
    for note in &found.notes {
        let _infallible = writeln!(out, "{}", wrapped(&format!("! {note}"), WIDTH, "  "));
    }
    for said in &found.left_out {
        let _infallible = writeln!(
            out,
            "{}",
            wrapped(&format!("- left out: {said}"), WIDTH, "  ")
        );
    }
    let several = several(found);
    for row in wholes(found) {
        let _infallible = writeln!(out, "\n{} ({})\n", title(row, several), counted(row));
        let changes = row.changes.iter().filter(|change| is_known(change));
        out.push_str(&table(HEAD, changes.map(cells).collect(), colour));
    }
    let scenarios = scenarios(found);
    if !scenarios.is_empty() {
        let _infallible = writeln!(out, "\n{SCENARIOS}\n");
        out.push_str(&table(HEAD, scenarios, colour));
    }
    if let Some(takes) = takes(found) {
        let _infallible = writeln!(out, "\n{}", wrapped(takes, WIDTH, "  "));
    }
    out
}

fn table(head: [&str; 5], rows: Vec<[String; 5]>, colour: bool) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(head);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1).take(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines = table.to_string();
    let lines = lines
        .lines()
        .map(|line| format!(" {}\n", coloured(line.trim_end(), colour)));
    lines.collect()
}

/// The verdict at the end of a line in its colour.
fn coloured(line: &str, colour: bool) -> String {
    for (word, code) in [("better", 32), ("worse", 31)] {
        if let Some(front) = line.strip_suffix(word).filter(|_| colour) {
            return format!("{front}\x1b[{code}m{word}\x1b[0m");
        }
    }
    line.to_owned()
}

/// The comparison as Markdown.
pub fn markdown(found: &Comparison, about: &[String; 2]) -> String {
    let mut out = format!(
        "### Prefix cache: candidate against base\n\nBase: {}  \nCandidate: {}\n",
        inline(&about[0]),
        inline(&about[1])
    );
    for note in &found.notes {
        let _infallible = writeln!(out, "\n> ⚠ {}", inline(note));
    }
    for said in &found.left_out {
        let _infallible = writeln!(out, "\n> Left out: {}", inline(said));
    }
    let several = several(found);
    for row in wholes(found) {
        let (title, counted) = (title(row, several), counted(row));
        let _infallible = writeln!(out, "\n**{}** ({counted})\n", inline(&title));
        markdown_table(
            &mut out,
            row.changes
                .iter()
                .filter(|change| is_known(change))
                .map(cells),
        );
    }
    let scenarios = scenarios(found);
    if !scenarios.is_empty() {
        let _infallible = writeln!(out, "\n<details><summary>{SCENARIOS}</summary>\n");
        markdown_table(&mut out, scenarios.into_iter());
        out.push_str("\n</details>\n");
    }
    if let Some(takes) = takes(found) {
        let _infallible = writeln!(out, "\n{takes}");
    }
    out
}

fn markdown_table(out: &mut String, rows: impl Iterator<Item = [String; 5]>) {
    let _infallible = writeln!(
        out,
        "| {} |\n| --- | ---: | ---: | --- | --- |",
        HEAD.join(" | ")
    );
    for row in rows {
        let cells = row.map(|cell| inline(&cell));
        let _infallible = writeln!(out, "| {} |", cells.join(" | "));
    }
}
