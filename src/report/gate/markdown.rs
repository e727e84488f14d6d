//! What came of rules, as a comment on a pull request.

use super::{Gate, label, number, operands};
use crate::analysis::rules::{Verdict, Verdicts};
use crate::report::markdown::inline;
use std::fmt::Write as _;

/// Rows of a rule whose cases are met.
const LISTED: usize = 8;

/// What came of the rules.
pub fn markdown(gate: &Gate<'_>) -> String {
    let sign = if gate.is_met() { "✅" } else { "❌" };
    let mut out = format!(
        "### {sign} Prefix cache: {}\n\n{}\n",
        gate.ending(),
        inline(gate.about)
    );
    for note in gate.notes {
        let _infallible = writeln!(out, "\n> ⚠ {}", inline(note));
    }
    out.push_str("\n| | rule | for | is | wanted |\n| --- | --- | --- | ---: | ---: |\n");
    for rule in gate.verdicts {
        rows(&mut out, rule);
    }
    out
}

fn rows(out: &mut String, rule: &Verdicts) {
    let met = rule
        .cases
        .iter()
        .filter(|case| case.verdict == Verdict::Met)
        .count();
    let mut name = format!("`{}`", rule.rule.replace('`', "'").replace('|', "\\|"));
    for case in &rule.cases {
        let (sign, is, wanted) = match &case.verdict {
            Verdict::Met if met > LISTED => continue,
            Verdict::Undecided(why) => (
                "❓",
                format!("cannot be decided: {}", inline(why)),
                String::new(),
            ),
            verdict => {
                let sign = if *verdict == Verdict::Met {
                    "✅"
                } else {
                    "❌"
                };
                let (left, right) = number::sides(rule, case);
                let operands: Vec<String> = operands(case).iter().map(|one| inline(one)).collect();
                let more = if operands.is_empty() {
                    String::new()
                } else {
                    format!("<br><sub>{}</sub>", operands.join("<br>"))
                };
                (sign, left, format!("{right}{more}"))
            }
        };
        let _infallible = writeln!(
            out,
            "| {sign} | {name} | {} | {is} | {wanted} |",
            inline(&label(case))
        );
        name.clear();
    }
    if met > LISTED {
        let _infallible = writeln!(out, "| ✅ | {name} | {met} of {} | | |", rule.cases.len());
    }
}
