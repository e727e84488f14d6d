//! One run against another, for a program.

use crate::analysis::compare::{Change, Comparison, Level, Row, Told};
use crate::analysis::stats::Interval;
use serde::Serialize;
use std::sync::Arc;

/// Name and version of the form of the JSON.
pub const COMPARE_SCHEMA: &str = "prefixbench/compare/1";

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    base: &'a str,
    candidate: &'a str,
    paired: bool,
    notes: &'a [String],
    left_out: &'a [String],
    rows: Vec<RowLine<'a>>,
}

#[derive(Serialize)]
struct RowLine<'a> {
    level: &'static str,
    scenario: Option<&'a str>,
    base_configuration: Option<&'a str>,
    configuration: Option<&'a str>,
    base_target: &'a str,
    target: &'a str,
    load: &'a str,
    pairs: usize,
    independent: usize,
    requests: usize,
    changes: Vec<ChangeLine<'a>>,
}

#[derive(Serialize)]
struct ChangeLine<'a> {
    name: &'a str,
    base: Option<f64>,
    candidate: Option<f64>,
    over: Option<usize>,
    difference: Option<f64>,
    interval: Option<Interval>,
    told: &'static str,
    why: Option<&'a str>,
}

/// The comparison as indented JSON that ends with a line end.
///
/// # Errors
///
/// What the serializer says; comparisons as they are made can always be written.
pub fn json(found: &Comparison, about: &[String; 2]) -> serde_json::Result<String> {
    let report = Report {
        schema: COMPARE_SCHEMA,
        base: &about[0],
        candidate: &about[1],
        paired: found.paired,
        notes: &found.notes,
        left_out: &found.left_out,
        rows: found.rows.iter().map(row_line).collect(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

fn row_line(row: &Row) -> RowLine<'_> {
    let (level, scenario) = match &row.level {
        Level::All => ("all", None),
        Level::Configuration => ("configuration", None),
        Level::Scenario(name) => ("scenario", Some(&**name)),
    };
    let named = |name: &'_ Arc<str>| level != "all" && !name.is_empty();
    RowLine {
        level,
        scenario,
        base_configuration: Some(&*row.configurations.0).filter(|_| named(&row.configurations.0)),
        configuration: Some(&*row.configurations.1).filter(|_| named(&row.configurations.1)),
        base_target: &row.targets.0,
        target: &row.targets.1,
        load: &row.load,
        pairs: row.pairs,
        independent: row.independent,
        requests: row.requests,
        changes: row.changes.iter().map(change_line).collect(),
    }
}

fn change_line(change: &Change) -> ChangeLine<'_> {
    let (told, why) = match &change.told {
        Told::Clear { better: Some(true) } => ("better", None),
        Told::Clear {
            better: Some(false),
        } => ("worse", None),
        Told::Clear { better: None } => ("changed", None),
        Told::Same => ("same", None),
        Told::Unclear => ("unclear", None),
        Told::TooFew(said) => ("too_few", Some(said.as_str())),
        Told::Nothing(why) => ("nothing", Some(why.as_str())),
    };
    ChangeLine {
        name: change.name,
        base: change.base,
        candidate: change.candidate,
        over: change.over,
        difference: change.difference,
        interval: change.interval,
        told,
        why,
    }
}
