//! What came of rules as `JUnit` XML, which build servers show as tests.
//!
//! A rule is a suite and a case of it a test; what cannot be decided is a
//! failure of its own type.

use super::{Gate, label, operands, outcome};
use crate::analysis::rules::{Case, Verdict, Verdicts};
use std::borrow::Borrow;
use std::fmt::Write as _;

/// What came of the rules.
pub fn junit(gate: &Gate<'_>) -> String {
    let cases = gate.verdicts.iter().flat_map(|rule| &rule.cases);
    let (tests, failures) = counted(cases);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _infallible = writeln!(
        out,
        "<testsuites name=\"prefixbench gate\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" time=\"0\">"
    );
    for rule in gate.verdicts {
        suite(&mut out, gate, rule);
    }
    out.push_str("</testsuites>\n");
    out
}

/// Cases, and those that are not met.
fn counted<C: Borrow<Case>>(cases: impl Iterator<Item = C>) -> (usize, usize) {
    cases.fold((0, 0), |(tests, failures), case| {
        (
            tests + 1,
            failures + usize::from(case.borrow().verdict != Verdict::Met),
        )
    })
}

fn suite(out: &mut String, gate: &Gate<'_>, rule: &Verdicts) {
    let (tests, failures) = counted(rule.cases.iter());
    let name = escaped(&rule.rule);
    let _infallible = writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" time=\"0\">"
    );
    for case in &rule.cases {
        let said = outcome(rule, case);
        let opened = format!(
            "    <testcase classname=\"{name}\" name=\"{}\" time=\"0\"",
            escaped(&label(case))
        );
        let kind = match case.verdict {
            Verdict::Met => {
                let _infallible = writeln!(out, "{opened}/>");
                continue;
            }
            Verdict::Missed => "missed",
            Verdict::Undecided(_) => "undecided",
        };
        let mut lines = vec![format!("{}: {said}", label(case))];
        lines.extend(operands(case));
        lines.push(gate.about.to_owned());
        lines.extend(gate.notes.iter().cloned());
        let _infallible = writeln!(
            out,
            "{opened}>\n      <failure type=\"{kind}\" message=\"{}\">{}</failure>\n    </testcase>",
            escaped(&said),
            escaped(&lines.join("\n")).replace("&#10;", "\n"),
        );
    }
    out.push_str("  </testsuite>\n");
}

/// Text as it may stand in an attribute or an element. What XML cannot hold at
/// all becomes a replacement character.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            letter if letter < ' ' => out.push('\u{FFFD}'),
            letter => out.push(letter),
        }
    }
    out
}
