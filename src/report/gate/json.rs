//! What came of rules, for a program.

use super::{Gate, label};
use crate::analysis::rules::{Case, Verdict, Verdicts};
use serde::Serialize;
use std::collections::BTreeMap;

/// Name and version of the form.
pub const GATE_SCHEMA: &str = "prefixbench/gate/1";

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    met: bool,
    about: &'a str,
    predicted: bool,
    notes: &'a [String],
    rules: Vec<Rule<'a>>,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "it is called so in the file")]
struct Rule<'a> {
    rule: &'a str,
    verdict: &'static str,
    cases: Vec<Said<'a>>,
}

#[derive(Serialize)]
struct Said<'a> {
    name: String,
    #[serde(rename = "where")]
    about: BTreeMap<&'static str, &'a str>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    left: Option<f64>,
    right: Option<f64>,
    figures: Vec<Figure<'a>>,
}

#[derive(Serialize)]
struct Figure<'a> {
    figure: &'a str,
    value: Option<f64>,
}

/// What came of the rules as indented JSON that ends with a line end.
///
/// # Errors
///
/// What the serializer says; verdicts as they are made can always be written.
pub fn json(gate: &Gate<'_>) -> serde_json::Result<String> {
    let report = Report {
        schema: GATE_SCHEMA,
        met: gate.is_met(),
        about: gate.about,
        predicted: gate.predicted,
        notes: gate.notes,
        rules: gate.verdicts.iter().map(rule).collect(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

fn rule(verdicts: &Verdicts) -> Rule<'_> {
    let verdict = if verdicts.is_met() {
        "met"
    } else if verdicts.is_missed() {
        "missed"
    } else {
        "undecided"
    };
    Rule {
        rule: &verdicts.rule,
        verdict,
        cases: verdicts.cases.iter().map(said).collect(),
    }
}

fn said(case: &Case) -> Said<'_> {
    let (verdict, why) = match &case.verdict {
        Verdict::Met => ("met", None),
        Verdict::Missed => ("missed", None),
        Verdict::Undecided(why) => ("undecided", Some(why.as_str())),
    };
    Said {
        name: label(case),
        about: case
            .about
            .iter()
            .map(|(dimension, name)| (dimension.as_str(), &**name))
            .collect(),
        verdict,
        why,
        left: case.left,
        right: case.right,
        figures: case
            .operands
            .iter()
            .map(|operand| Figure {
                figure: &operand.text,
                value: operand.value,
            })
            .collect(),
    }
}
