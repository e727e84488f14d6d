//! What came of rules, for a terminal.

use super::{Gate, label, operands, outcome};
use crate::analysis::rules::{Case, Verdict, Verdicts};
use crate::report::words::wrapped;
use std::fmt::Write as _;

/// Cases of a rule that are met are listed up to this many.
const LISTED: usize = 8;
/// Lines are broken at about this width.
const WIDTH: usize = 100;

/// What came of the rules. With `colour`, escape sequences mark what is met and what is not.
pub fn text(gate: &Gate<'_>, colour: bool) -> String {
    let mut out = format!("{}\n", wrapped(gate.about, WIDTH, "  "));
    for note in gate.notes {
        let _infallible = writeln!(out, "{}", wrapped(&format!("! {note}"), WIDTH, "  "));
    }
    for verdicts in gate.verdicts {
        rule(&mut out, verdicts, colour);
    }
    let _infallible = writeln!(out, "\n{}.", gate.ending());
    out
}

fn rule(out: &mut String, verdicts: &Verdicts, colour: bool) {
    let (sign, code) = if verdicts.is_met() {
        ("✓", 32)
    } else if verdicts.is_missed() {
        ("✗", 31)
    } else {
        ("?", 33)
    };
    let sign = if colour {
        format!("\x1b[1;{code}m{sign}\x1b[0m")
    } else {
        sign.to_owned()
    };
    let _infallible = writeln!(out, "\n{sign} {}", verdicts.rule);
    let met = |case: &Case| case.verdict == Verdict::Met;
    let many = verdicts.cases.iter().filter(|case| met(case)).count();
    let listed = |case: &&Case| many <= LISTED || !met(case);
    let width = verdicts
        .cases
        .iter()
        .filter(listed)
        .map(|case| label(case).chars().count())
        .max();
    let width = width.unwrap_or_default().min(WIDTH / 2);
    for case in verdicts.cases.iter().filter(listed) {
        let word = match case.verdict {
            Verdict::Met => "met:    ",
            Verdict::Missed => "missed: ",
            Verdict::Undecided(_) => "",
        };
        let line = format!(
            "    {:width$}  {word}{}",
            label(case),
            outcome(verdicts, case)
        );
        let indent = " ".repeat(width + 6 + word.len());
        let _infallible = writeln!(out, "{}", wrapped(&line, WIDTH, &indent));
        let operands = operands(case);
        if !operands.is_empty() {
            let line = format!("        {}", operands.join("; "));
            let _infallible = writeln!(out, "{}", wrapped(&line, WIDTH, "          "));
        }
    }
    if many > LISTED {
        let _infallible = writeln!(out, "    met in {many} of {} cases", verdicts.cases.len());
    }
}
