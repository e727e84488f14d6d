use super::*;
use crate::analysis::rules::{Comparison, Operand, Unit};
use std::sync::Arc;

fn case(name: &str, left: f64, right: f64, verdict: Verdict) -> Case {
    Case {
        about: vec![(Dimension::Configuration, Arc::from(name))],
        left: Some(left),
        right: Some(right),
        operands: vec![Operand {
            text: format!("cached_share({name})"),
            value: Some(left),
            unit: Unit::Share,
        }],
        verdict,
    }
}

fn verdicts() -> Vec<Verdicts> {
    let of = |cases| Verdicts {
        rule: "cached_share >= 0.8".to_owned(),
        comparison: Comparison::AtLeast,
        unit: Some(Unit::Share),
        cases,
    };
    vec![
        of(vec![case("append-only", 0.852, 0.8, Verdict::Met)]),
        of(vec![
            case("dev", 0.799_96, 0.8, Verdict::Missed),
            case(
                "in|line<&\"'\u{1}",
                0.0,
                0.8,
                Verdict::Undecided("no count".to_owned()),
            ),
        ]),
    ]
}

fn gate(verdicts: &[Verdicts]) -> Gate<'_> {
    Gate {
        about: "Run of today.",
        predicted: false,
        notes: &[],
        verdicts,
    }
}

#[test]
fn the_text_says_what_is_and_what_was_wanted() {
    insta::assert_snapshot!(text(&gate(&verdicts()), false).replace('\u{1}', "^A"), @r#"
    Run of today.

    ✓ cached_share >= 0.8
        append-only  met:    85.2 %, wanted at least 80.0 %

    ✗ cached_share >= 0.8
        dev            missed: 79.996 %, wanted at least 80.000 %
        in|line<&"'^A  cannot be decided: no count

    1 of 2 rules met, 1 missed.
    "#);
}

#[test]
fn xml_holds_any_name() {
    insta::assert_snapshot!(junit(&gate(&verdicts())), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="prefixbench gate" tests="3" failures="2" errors="0" time="0">
      <testsuite name="cached_share &gt;= 0.8" tests="1" failures="0" errors="0" skipped="0" time="0">
        <testcase classname="cached_share &gt;= 0.8" name="append-only" time="0"/>
      </testsuite>
      <testsuite name="cached_share &gt;= 0.8" tests="2" failures="2" errors="0" skipped="0" time="0">
        <testcase classname="cached_share &gt;= 0.8" name="dev" time="0">
          <failure type="missed" message="79.996 %, wanted at least 80.000 %">dev: 79.996 %, wanted at least 80.000 %
    Run of today.</failure>
        </testcase>
        <testcase classname="cached_share &gt;= 0.8" name="in|line&lt;&amp;&quot;&apos;�" time="0">
          <failure type="undecided" message="cannot be decided: no count">in|line&lt;&amp;&quot;&apos;�: cannot be decided: no count
    Run of today.</failure>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
}

#[test]
fn a_comment_escapes_names() {
    let said = markdown(&gate(&verdicts()));
    assert!(
        said.starts_with("### ❌ Prefix cache: 1 of 2 rules met, 1 missed\n"),
        "{said}"
    );
    assert!(said.contains("in\\|line&lt;&amp;"), "{said}");
}

#[test]
fn a_program_reads_the_same() {
    let said: serde_json::Value =
        serde_json::from_str(&json(&gate(&verdicts())).expect("written")).expect("JSON");
    assert_eq!(said["schema"], GATE_SCHEMA);
    assert_eq!(said["met"], false);
    assert_eq!(said["rules"][1]["cases"][0]["left"], 0.799_96);
    assert_eq!(said["rules"][1]["cases"][1]["why"], "no count");
}
