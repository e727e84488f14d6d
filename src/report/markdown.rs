//! Results as Markdown, for a pull request.

use super::excerpts::Excerpts;
use super::headline::headline;
use super::layouts::layouts;
use super::notes::{LIMITS, notes};
use super::page::{advice as said, breaks_note};
use super::strip::{Strip, cell, strips};
use super::table::columns;
use super::terminal::measured_on;
use super::words::{difference, signed_dollars, signed_tokens, tokens};
use crate::analysis::{Results, TotalKey};
use std::fmt::Write as _;

/// The results as Markdown, with what follows from the breaks that were looked into.
pub(super) fn markdown(results: &Results, looked: &Excerpts) -> String {
    let mut out = String::from("# Prefix cache report\n\n");
    for sentence in headline(results) {
        let _infallible = writeln!(out, "**{}**\n", inline(&sentence));
    }
    let notes = notes(results);
    if !notes.is_empty() {
        let _infallible = writeln!(out, "## {LIMITS}\n");
        for note in notes {
            let _infallible = writeln!(out, "- ⚠ {}", inline(&note));
        }
        out.push('\n');
    }
    for target in &results.targets {
        let _infallible = writeln!(out, "{}\n", inline(&measured_on(target, results)));
    }
    if results.totals.is_empty() {
        return out;
    }
    out.push_str("## Configurations\n\n");
    let columns = columns(results);
    let head: Vec<_> = columns
        .iter()
        .map(|column| one_line(&column.title))
        .collect();
    let numbers: Vec<_> = columns.iter().map(|column| column.number).collect();
    let rows = (0..results.totals.len()).map(|row| {
        let cells = columns.iter().filter_map(|column| column.cells.get(row));
        cells.map(|cell| one_line(cell)).collect()
    });
    table(&mut out, &head, &numbers, rows);
    for line in layouts(results) {
        let _infallible = writeln!(out, "\n{}", inline(&line));
    }
    differences(&mut out, results);
    breaks(&mut out, results);
    advice(&mut out, looked);
    match strips(results) {
        Some(strips) => strips.iter().for_each(|strip| turns(&mut out, strip)),
        None => out.push_str("\nThe turns of every scenario are in `summary.json`.\n"),
    }
    out
}

/// Columns for target, model and load level, as far as these are not the same in every row.
struct Places(Vec<(&'static str, Name)>);

/// A part of where something was measured.
type Name = fn(&TotalKey) -> &str;

impl Places {
    fn of(keys: &[&TotalKey]) -> Self {
        let all: [(&str, Name); 3] = [
            ("target", |key| &key.target),
            ("model", |key| &key.model),
            ("load", |key| &key.load),
        ];
        let differs =
            |(_, name): &(&str, Name)| keys.windows(2).any(|two| name(two[0]) != name(two[1]));
        Self(all.into_iter().filter(differs).collect())
    }

    fn head(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(title, _)| *title)
    }

    fn cells(&self, key: &TotalKey) -> impl Iterator<Item = String> {
        self.0.iter().map(|(_, name)| name(key).to_owned())
    }
}

fn differences(out: &mut String, results: &Results) {
    if results.differences.is_empty() {
        return;
    }
    out.push_str("\n## Differences, conversation by conversation\n\n");
    let priced = results
        .differences
        .iter()
        .any(|found| found.cost_usd.is_some());
    let keys: Vec<&TotalKey> = results
        .differences
        .iter()
        .map(|one| &one.candidate)
        .collect();
    let places = Places::of(&keys);
    let mut head = vec!["configuration", "against"];
    head.extend(places.head());
    let numbers_from = head.len();
    head.push("pairs");
    head.extend(priced.then_some("cost per conversation"));
    head.extend(["computed per conversation", "cached share"]);
    let numbers: Vec<bool> = (0..head.len()).map(|at| at >= numbers_from).collect();
    let rows = results.differences.iter().map(|found| {
        let mut row = vec![
            found.candidate.configuration.to_string(),
            found.base.configuration.to_string(),
        ];
        row.extend(places.cells(&found.candidate));
        row.push(found.pairs.to_string());
        row.extend(priced.then(|| difference(found.cost_usd, signed_dollars)));
        row.push(difference(found.computed, signed_tokens));
        row.push(difference(found.cached_share, |value| {
            format!("{:+.1} points", value * 100.0)
        }));
        row
    });
    let head: Vec<String> = head.into_iter().map(str::to_owned).collect();
    table(out, &head, &numbers, rows);
}

fn breaks(out: &mut String, results: &Results) {
    if results.breaks.is_empty() {
        return;
    }
    out.push_str("\n## Where the prefix broke\n\n");
    let keys: Vec<&TotalKey> = results.breaks.iter().map(|one| &one.key).collect();
    let places = Places::of(&keys);
    let mut head = vec!["configuration"];
    head.extend(places.head());
    head.extend(["source", "cause", "breaks", "tokens lost"]);
    let numbers: Vec<bool> = (0..head.len()).map(|at| at + 2 >= head.len()).collect();
    let head: Vec<String> = head.into_iter().map(str::to_owned).collect();
    let rows = results.breaks.iter().map(|found| {
        let mut row = vec![found.key.configuration.to_string()];
        row.extend(places.cells(&found.key));
        row.extend([
            found.origin.to_string(),
            found.cause.to_string(),
            found.breaks.to_string(),
            tokens(found.lost),
        ]);
        row
    });
    table(out, &head, &numbers, rows);
}

fn advice(out: &mut String, looked: &Excerpts) {
    if looked.advised.is_empty() {
        return;
    }
    let which = breaks_note(looked.breaks.len(), looked.all);
    let _infallible = writeln!(
        out,
        "\n## What to change\n\n{which} `explain RUN` looks into all conversations.\n"
    );
    for said in said(&looked.advised) {
        let _infallible = writeln!(out, "- {}", inline(&said));
    }
}

fn turns(out: &mut String, strip: &Strip<'_>) {
    let _infallible = write!(
        out,
        "\n## {}: % of prompt tokens read from the cache, by turn\n\n",
        inline(&strip.title)
    );
    let mut head = vec!["configuration".to_owned()];
    head.extend(strip.turns.iter().map(u32::to_string));
    let numbers: Vec<bool> = (0..head.len()).map(|column| column > 0).collect();
    let rows = strip.rows.iter().map(|(name, row)| {
        let cells = strip
            .turns
            .iter()
            .map(|turn| cell(row.get(turn)).trim().to_owned());
        std::iter::once((*name).to_owned()).chain(cells).collect()
    });
    table(out, &head, &numbers, rows);
    if strip
        .rows
        .iter()
        .flat_map(|(_, row)| row.values())
        .any(|row| row.breaks > 0)
    {
        out.push_str("\n\\* the prefix broke\n");
    }
    if !strip.events.is_empty() {
        out.push('\n');
    }
    for (turn, events) in &strip.events {
        let _infallible = writeln!(out, "- before turn {turn}: {}", inline(events));
    }
}

fn table(
    out: &mut String,
    head: &[String],
    numbers: &[bool],
    rows: impl Iterator<Item = Vec<String>>,
) {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| inline(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    out.push_str(&line(head));
    let rules: Vec<_> = numbers
        .iter()
        .map(|number| if *number { "---:" } else { "---" })
        .collect();
    let _infallible = writeln!(out, "| {} |", rules.join(" | "));
    for row in rows {
        out.push_str(&line(&row));
    }
}

/// A cell or title of several lines in one.
fn one_line(text: &str) -> String {
    text.replace("-\n", "").replace('\n', " ")
}

/// Text that is no markup: names come from files that a person wrote.
pub(super) fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '#' | '~' => {
                out.push('\\');
                out.push(letter);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\r' | '\n' => out.push(' '),
            _ => out.push(letter),
        }
    }
    out
}
