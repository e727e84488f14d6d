use super::*;
use crate::analysis::samples::Samples;
use crate::analysis::testing::{manifest, repeated, story};
use crate::chat::UsageOrigin;
use crate::record::{Outcome, RequestRecord};
use proptest::prelude::*;
use std::sync::Arc;

#[test]
fn rules_are_read_and_written_plainly() {
    let cases = [
        (
            "cached_share(turn-context) >= 0.8",
            "cached_share(turn-context) >= 0.8",
        ),
        (
            " achievable_share>=baseline-0.01 # no worse",
            "achievable_share >= baseline - 0.01",
        ),
        (
            "ttft_p90_us <= 1.1 * baseline",
            "ttft_p90_us <= 1.1 * baseline",
        ),
        (
            "computed_tokens(append-only, scenario=s03) <= computed_tokens(dev)",
            "computed_tokens(append-only, scenario=s03) <= computed_tokens(dev)",
        ),
        ("cached_share >= 80%", "cached_share >= 0.8"),
        ("ttft_p50_us < 1.5 s", "ttft_p50_us < 1500000"),
        ("ttft_p50_us < 20ms", "ttft_p50_us < 20000"),
        ("total_tokens <= 1_000", "total_tokens <= 1000"),
        ("failed == 0", "failed == 0"),
        ("(read_tokens + 1) * 2 > 1", "(read_tokens + 1) * 2 > 1"),
        ("((read_tokens * 2)) > 1", "read_tokens * 2 > 1"),
        (
            "1 - (cached_share - 2) != -1e2",
            "1 - (cached_share - 2) != -100",
        ),
        ("-(cached_share / 2) < 0", "-(cached_share / 2) < 0"),
        (
            "cached_share(scenario=each, load=sessions=8) > 0",
            "cached_share(scenario=each, load=sessions=8) > 0",
        ),
        (
            "cached_share(\"a, (b)\") > 0",
            "cached_share(\"a, (b)\") > 0",
        ),
        (
            "cached_share(configuration = dev , group=G*) > 0",
            "cached_share(dev, group=G*) > 0",
        ),
        (
            "efficiency(dev) > baseline(\"*\")",
            "efficiency(dev) > baseline(\"*\")",
        ),
    ];
    for (text, expected) in cases {
        let rule = parse(text).unwrap_or_else(|error| panic!("{text}: {error} ({})", error.help));
        assert_eq!(rule.to_string(), expected, "{text}");
        assert_eq!(parse(expected).expect("reads"), rule, "{text}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of mistakes")]
fn a_mistake_is_pointed_at_with_what_was_probably_meant() {
    // Text, byte of the place, what is wrong, a word of the help.
    let cases = [
        ("", 0, "the rule is empty", "a rule is a comparison"),
        (
            "cached_shar >= 0.8",
            0,
            "unknown figure `cached_shar`",
            "did you mean `cached_share`?",
        ),
        (
            "cached-share >= 0.8",
            0,
            "unknown figure `cached`",
            "did you mean `cached_share`?",
        ),
        (
            "ttft_p95_us < 1",
            0,
            "unknown figure `ttft_p95_us`",
            "did you mean `ttft_p90_us`?",
        ),
        (
            "cached_share => 0.8",
            13,
            "`=>` is no comparison",
            "did you mean `>=`?",
        ),
        (
            "cached_share ≥ 0.8",
            13,
            "`≥` is no comparison",
            "did you mean `>=`?",
        ),
        (
            "cached_share = 0.8",
            13,
            "`=` is no comparison",
            "did you mean `==`?",
        ),
        ("cached_share", 12, "a comparison is missing", ">="),
        (
            "cached_share >=",
            15,
            "a figure or a number is missing",
            "a rule is",
        ),
        (
            "0.1 < cached_share < 0.8",
            19,
            "a rule has one comparison",
            "a rule for each",
        ),
        (
            "cached_share >= 0.8 0.9",
            20,
            "the rule goes on behind its end",
            "put figures",
        ),
        ("1 < 2", 0, "the rule names no figure", "a rule is"),
        (
            "cached_share >= 1.1 baseline",
            20,
            "something is missing",
            "did you mean `1.1 * baseline`?",
        ),
        (
            "cached_share >= 80 percent",
            19,
            "unknown unit `percent`",
            "known: %",
        ),
        (
            "cached_share >= 1.2.3",
            16,
            "`1.2.3` is no number",
            "write it as",
        ),
        (
            "cached_share >= 1e999",
            16,
            "the number is too large",
            "no figure",
        ),
        (
            "cached_share(dev >= 0.8",
            17,
            "a `)` is missing",
            "close what",
        ),
        (
            "cached_share(scenrio=a) > 0",
            13,
            "unknown choice `scenrio`",
            "did you mean `scenario`?",
        ),
        (
            "cached_share(dev, dev) > 0",
            18,
            "`configuration` is given twice",
            "take several",
        ),
        (
            "cached_share() > 0",
            13,
            "a name is missing",
            "name a configuration",
        ),
        (
            "cached_share(dev,) > 0",
            17,
            "a name is missing",
            "name a configuration",
        ),
        (
            "cached_share(\"dev) > 0",
            13,
            "a quote is not closed",
            "end the name",
        ),
        ("(cached_share > 0", 14, "a `)` is missing", "close what"),
        (
            "cached_share > read_tokens(group=each)",
            0,
            "`each` can stand only in the first",
            "holds for each",
        ),
    ];
    for (text, at, said, help) in cases {
        let error = parse(text).expect_err(text);
        assert_eq!(error.at.offset(), at, "{text}: {error}");
        assert!(error.said.contains(said), "{text}: {}", error.said);
        assert!(error.help.contains(help), "{text}: {}", error.help);
    }
    let deep = format!("{}cached_share > 0", "(".repeat(100_000));
    assert!(
        parse(&deep)
            .expect_err("deep")
            .said
            .contains("longer than any")
    );
    let deep = format!("{}cached_share > 0", "-".repeat(60));
    assert!(parse(&deep).expect_err("deep").said.contains("too many"));
}

#[test]
fn a_file_of_rules_tells_every_line_that_is_wrong() {
    let rules = parse_file(
        "rules",
        "# ours\n\nfailed == 0\r\ncached_share > 0.5 # half\n",
    );
    assert_eq!(rules.expect("reads").len(), 2);
    let text = "failed == 0\nfaild == 0\n  cached_share >\n";
    let errors = parse_file("rules", text).expect_err("two are wrong").errors;
    let places: Vec<usize> = errors.iter().map(|error| error.at.offset()).collect();
    assert_eq!(places, [12, 39]);
    let none = parse_file("rules", "# nothing\n")
        .expect_err("no rule")
        .errors;
    assert!(none[0].said.contains("no rule"));
}

#[test]
fn what_is_counted_in_different_units_is_a_mistake_at_its_place() {
    // Text, what the place points at, what is wrong, a word of the help.
    let cases = [
        (
            "cached_share <= 5 ms",
            "5 ms",
            "`cached_share` is a share, and `5 ms` is a time: they cannot be compared",
            "0.8 or 80 %",
        ),
        (
            "ttft_p90_us >= 10 %  # comment",
            "10 %",
            "`ttft_p90_us` is a time, and `10 %` is a share",
            "300 ms",
        ),
        (
            "achievable_share <= 80",
            "80",
            "a share is at most 1, and this is 80",
            "did you mean `80 %`?",
        ),
        (
            "80 <= cached_share(dev)",
            "80",
            "a share is at most 1",
            "did you mean `80 %`?",
        ),
        (
            "cached_share >= 120 %",
            "120 %",
            "a share is at most 1, and this is 120 %",
            "0.8 or 80 %",
        ),
        (
            "cached_share + ttft_p90_us >= 0",
            "ttft_p90_us",
            "they cannot be added",
            "figures of one kind",
        ),
        (
            "total_tokens - cost_usd > 0",
            "cost_usd",
            "they cannot be subtracted",
            "figures of one kind",
        ),
        ("failed <= 5 %", "5 %", "`failed` is a count", "as 3"),
        ("total_tokens <= 2 s", "2 s", "a number of tokens", "1_000"),
        (
            "read_tokens(dev, scenario=a b) / total_tokens >= 1 ms",
            "1 ms",
            "is a ratio, and `1 ms` is a time",
            "80 %",
        ),
        (
            "ttft_p50_us <= baseline + 1 %",
            "1 %",
            "`baseline` is a time, and `1 %` is a share: they cannot be added",
            "300 ms",
        ),
        (
            "(ttft_p50_us * 2) <= cached_share",
            "cached_share",
            "`ttft_p50_us * 2` is a time",
            "one kind",
        ),
    ];
    for (text, place, said, help) in cases {
        let error = parse(text).expect_err(text);
        let at = error.at.offset()..error.at.offset() + error.at.len();
        assert_eq!(&text[at], place, "{text}");
        assert!(error.said.contains(said), "{text}: {}", error.said);
        assert!(error.help.contains(help), "{text}: {}", error.help);
    }
    for good in [
        "read_tokens / total_tokens >= 80 %",
        "failed / requests <= 1 %",
        "failed <= 1 % * requests",
        "computed_tokens / conversations <= computed_per_conversation",
        "(total_tokens - read_tokens) / requests < 900",
        "cost_usd / total_tokens * 1_000_000 <= 3",
        "cost_usd / total_tokens <= baseline / total_tokens",
        "ttft_p50_us - 20 ms <= 1.1 * baseline",
        "cached_share >= baseline - 1 %",
        "1 - cached_share <= 20 %",
        "efficiency <= 2",
        "cached_share / achievable_share <= 3",
        "ttft_p90_us <= 13000",
    ] {
        assert!(parse(good).is_ok(), "{good}");
    }
}

/// Four conversations each: requests enough for a median.
fn longer() -> Measured {
    let (records, bounds) = repeated(4);
    let samples = Samples::of(&manifest(), &records, &bounds);
    Measured::run(samples, 7)
}

/// Nine conversations each, of which `dev` fails at all but the first requests.
fn mostly_failing() -> Measured {
    let (mut records, bounds) = repeated(9);
    for record in &mut records {
        if &*record.configuration == "dev" && record.turn > 1 {
            record.outcome = Outcome::Timeout;
        }
    }
    let samples = Samples::of(&manifest(), &records, &bounds);
    Measured::run(samples, 7)
}

#[test]
fn a_run_that_mostly_failed_does_not_pass() {
    let failing = mostly_failing();
    let found = judged("ttft_p50_us(dev) <= 10 s", &failing, None);
    assert_eq!(said(&found), ["dev: missed"]);
    assert_eq!(found.cases[0].left, Some(f64::INFINITY));
    for rule in ["cached_share(dev) >= 0", "achievable_share(dev) <= 1"] {
        let found = judged(rule, &failing, None);
        assert!(
            said(&found)[0].contains("18 of 27 requests failed, 0 had no usable count"),
            "{rule}: {:?}",
            said(&found)
        );
    }
    let found = judged("computed_per_conversation(dev) < 1_000_000", &failing, None);
    assert!(
        said(&found)[0].contains("all of a scenario"),
        "{:?}",
        said(&found)
    );
    let found = judged("ttft_p50_us(dev) - ttft_p50_us(dev) <= 1 s", &failing, None);
    assert!(said(&found)[0].contains("too many requests failed"));
    let facts = || Facts::from(&manifest());
    let kept = Stored::of(&failing, facts());
    let kept = Stored::parse(&kept.json().expect("JSON")).expect("reads");
    for base in [
        Baseline::measured(mostly_failing(), facts()),
        Baseline::stored(kept),
    ] {
        let found = judged("ttft_p50_us(dev) <= 1.1 * baseline", &failing, Some(&base));
        assert!(
            matches!(found.cases[0].verdict, Verdict::Undecided(_)),
            "{:?}",
            said(&found)
        );
        let found = judged(
            "cached_share(append-only) >= baseline(dev)",
            &failing,
            Some(&base),
        );
        assert!(
            said(&found)[0].contains("in the baseline failed"),
            "{:?}",
            said(&found)
        );
    }
}

#[test]
fn what_a_gateway_set_apart_is_no_evidence_of_the_rest() {
    let (mut records, bounds) = repeated(9);
    for record in &mut records {
        if &*record.configuration == "dev" && record.turn > 1 {
            record.flags.push("gateway_retried".into());
        }
    }
    let measured = Measured::run(Samples::of(&manifest(), &records, &bounds), 7);
    for (rule, why) in [
        ("cached_share(dev) >= 0", "18 are set apart"),
        (
            "ttft_p50_us(dev) <= 10 s",
            "p50 takes 10 requests with a time, and there are 9",
        ),
    ] {
        let found = judged(rule, &measured, None);
        assert!(matches!(found.cases[0].verdict, Verdict::Undecided(_)));
        assert!(said(&found)[0].contains(why), "{:?}", said(&found));
    }
    assert!(judged("cached_share(append-only) >= 0", &measured, None).is_met());
}

#[test]
fn a_quantile_takes_requests_on_its_far_side() {
    let measured = mostly_failing();
    assert!(judged("ttft_p50_us(append-only) <= 10 s", &measured, None).is_met());
    for (rule, takes) in [
        (
            "ttft_p90_us(append-only) <= 10 s",
            "p90 takes 50 requests with a time, and there are 27",
        ),
        (
            "ttft_p99_us(append-only) <= 10 s",
            "p99 takes 500 requests with a time, and there are 27",
        ),
    ] {
        let found = judged(rule, &measured, None);
        assert!(said(&found)[0].contains(takes), "{:?}", said(&found));
        assert!(said(&found)[0].contains("--repeat"), "{:?}", said(&found));
    }
}

/// Any rule that the grammar has.
fn rules() -> impl Strategy<Value = Rule> {
    let name = prop_oneof![
        "[a-z][a-z0-9-]{0,8}",
        "each|a b|\\*|x=y|\\\\|\"|,|#|é\\(|  pad "
    ];
    let wanted = prop_oneof![
        name.prop_map(|name| Wanted::These(Pattern::Name(Arc::from(name)))),
        "[a-z]{0,3}\\*[a-z]{0,3}".prop_map(|form| Wanted::These(Pattern::Glob(Arc::from(form)))),
    ];
    let selection = proptest::collection::vec((0..6_usize, wanted), 0..3).prop_map(|all| {
        let mut selection = Selection::default();
        for (dimension, wanted) in all {
            selection.set(Dimension::ALL[dimension], wanted);
        }
        selection
    });
    let figure = (0..METRICS.len(), selection.clone()).prop_map(|(metric, selection)| {
        let metric = &METRICS[metric];
        Expression::Figure(Figure { metric, selection })
    });
    let leaf = prop_oneof![
        (0.0..1e9_f64).prop_map(Expression::Number),
        figure.clone(),
        selection.prop_map(Expression::Baseline),
    ];
    let operator = prop_oneof![
        Just(Operator::Add),
        Just(Operator::Subtract),
        Just(Operator::Multiply),
        Just(Operator::Divide)
    ];
    let side = leaf.prop_recursive(4, 12, 2, move |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|inner| Expression::Negative(Box::new(inner))),
            (operator.clone(), inner.clone(), inner).prop_map(|(operator, left, right)| {
                Expression::Pair(operator, Box::new((left, right)))
            }),
        ]
    });
    (figure, 0..6_usize, side).prop_map(|(left, comparison, right)| Rule {
        left,
        comparison: Comparison::ALL[comparison],
        right,
    })
}

proptest! {
    #[test]
    fn a_rule_reads_back_as_it_was_written(rule in rules()) {
        let text = rule.to_string();
        prop_assert_eq!(parse::grammar(&text).expect(&text), rule);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z_]{0,12}[-+*/()%.<>=!,\"#\\\\ 0-9éa-z_]{0,40}") {
        let _any = parse(&text);
        let _any = parse_file("rules", &text);
    }

    #[test]
    fn no_unicode_makes_the_reader_panic(text in any::<String>()) {
        let _any = parse(&text);
        let _any = parse(&format!("cached_share({text}) > {text}"));
    }
}

fn measured() -> Measured {
    let (records, bounds) = story();
    let samples = Samples::of(&manifest(), &records, &bounds);
    Measured::run(samples, 7)
}

fn judged(rule: &str, measured: &Measured, baseline: Option<&Baseline>) -> Verdicts {
    let rule = parse(rule).expect("a rule");
    judge(&rule, measured, &Facts::from(&manifest()), baseline).expect("known names")
}

/// Case by case: its names and what came of it.
fn said(verdicts: &Verdicts) -> Vec<String> {
    let case = |case: &Case| {
        let names: Vec<&str> = case.about.iter().map(|(_, name)| &**name).collect();
        let verdict = match &case.verdict {
            Verdict::Met => "met".to_owned(),
            Verdict::Missed => "missed".to_owned(),
            Verdict::Undecided(why) => why.clone(),
        };
        format!("{}: {verdict}", names.join("/"))
    };
    verdicts.cases.iter().map(case).collect()
}

#[test]
fn a_rule_holds_for_each_configuration_that_it_does_not_name() {
    // dev reads 2,304 of 12,100, append-only 4,352.
    let measured = measured();
    let all = judged("cached_share >= 0.3", &measured, None);
    assert_eq!(
        said(&all),
        ["append-only: met", "dev: missed", "layered: missed"]
    );
    assert!(!all.is_met() && all.is_missed());
    assert_eq!(
        said(&judged("cached_share(append-*) >= 0.3", &measured, None)),
        ["append-*: met"]
    );
    let sum = judged("total_tokens(*) == 36_700", &measured, None);
    assert_eq!(sum.cases[0].left, Some(36_700.0));
}

#[test]
fn a_later_figure_is_taken_over_the_same_as_the_first() {
    let measured = measured();
    let rule = "computed_tokens(append-only, scenario=quick*) < computed_tokens(dev)";
    let found = judged(rule, &measured, None);
    assert_eq!(
        found.cases[0].operands[1].text,
        "computed_tokens(dev, scenario=quick*)"
    );
    assert_eq!(said(&found), ["append-only: met"]);
    let each = judged("computed_tokens <= computed_tokens(dev)", &measured, None);
    assert_eq!(
        said(&each),
        ["append-only: met", "dev: met", "layered: met"]
    );
}

#[test]
fn a_name_that_is_not_there_is_a_mistake_with_what_was_meant() {
    let rule = parse("cached_share(apend-only) > 0").expect("a rule");
    let error = judge(&rule, &measured(), &Facts::default(), None).expect_err("unknown");
    assert!(
        error.help().contains("did you mean `append-only`?"),
        "{}",
        error.help()
    );
    let rule = parse("cached_share(scenario=quick) > 0").expect("a rule");
    let error = judge(&rule, &measured(), &Facts::default(), None).expect_err("unknown");
    assert!(
        error.help().contains("did you mean `quickstart`?"),
        "{}",
        error.help()
    );
}

/// The story with a change made to every request of a configuration.
fn changed(change: impl Fn(&mut RequestRecord)) -> Measured {
    let (mut records, bounds) = story();
    records.iter_mut().for_each(change);
    let samples = Samples::of(&manifest(), &records, &bounds);
    Measured::run(samples, 7)
}

#[test]
fn without_evidence_nothing_is_met() {
    let silent = changed(|record| record.usage.origin = UsageOrigin::Absent);
    for rule in [
        "cached_share >= 0",
        "computed_tokens >= 0",
        "efficiency < 2",
        "cost_usd < 1",
    ] {
        let found = judged(rule, &silent, None);
        let undecided = |case: &Case| matches!(case.verdict, Verdict::Undecided(_));
        assert!(
            found.cases.iter().all(undecided),
            "{rule}: {:?}",
            said(&found)
        );
        assert!(!found.is_met() && !found.is_missed());
    }
    let failing = changed(|record| {
        if record.turn == 3 && record.repeat == 1 && &*record.configuration == "dev" {
            record.outcome = Outcome::Timeout;
        }
    });
    let found = judged(
        "computed_tokens(dev) <= computed_tokens(append-only)",
        &failing,
        None,
    );
    assert!(
        said(&found)[0].contains("1 of 2 conversations lack"),
        "{:?}",
        said(&found)
    );
    assert!(judged("failed(dev) == 1", &failing, None).is_met());
    let found = judged("total_tokens(dev) / 0 > 1", &measured(), None);
    assert!(said(&found)[0].contains("divides by 0"));
    let found = judged("cached_share(dev) >= baseline", &measured(), None);
    assert!(said(&found)[0].contains("no baseline"));
}

#[test]
fn a_prediction_decides_what_no_server_is_needed_for() {
    let (mut records, bounds) = story();
    for record in &mut records {
        record.usage.origin = UsageOrigin::Absent;
        record.usage.read = None;
    }
    let samples = Samples::of(&manifest(), &records, &bounds);
    let predicted = Measured::prediction(samples);
    assert!(judged("achievable_share(append-only) > 0.3", &predicted, None).is_met());
    assert!(judged("computed_per_conversation(dev) < 10_000", &predicted, None).is_met());
    let found = judged("cached_share(dev) >= 0", &predicted, None);
    assert!(
        said(&found)[0].contains("needs a server's answers"),
        "{:?}",
        said(&found)
    );
}

#[test]
fn a_stored_baseline_stands_for_the_run_that_it_was_made_of() {
    let facts = Facts::from(&manifest());
    let stored = Stored::of(&longer(), facts.clone());
    let json = stored.json().expect("written");
    let stored = Stored::parse(&json).expect("reads");
    let kept = Baseline::stored(stored);
    let whole = Baseline::measured(longer(), facts);
    let now = longer();
    for baseline in [&kept, &whole] {
        for rule in [
            "cached_share == baseline",
            "ttft_p50_us(scenario=each) <= 1.0 * baseline",
            "computed_tokens(group=G1) == baseline",
            "computed_tokens(append-only) < baseline(dev)",
            "lost_tokens == baseline",
        ] {
            let found = judged(rule, &now, Some(baseline));
            assert!(found.is_met(), "{rule}: {:?}", said(&found));
        }
    }
    let found = judged("total_tokens(*) == baseline", &now, Some(&kept));
    assert!(
        said(&found)[0].contains("a baseline file has"),
        "{:?}",
        said(&found)
    );
    assert!(Stored::parse("{}").is_err());
    assert!(matches!(
        Stored::parse(&json.replace("baseline/1", "baseline/9")),
        Err(BaselineError::Schema(_))
    ));
}

#[test]
fn a_baseline_under_another_cache_model_decides_no_bound() {
    let mut other = manifest();
    other.targets[0].cache_model = Some(Arc::from("blocks:1600"));
    let baseline = Baseline::measured(measured(), Facts::from(&other));
    let found = judged(
        "achievable_share(dev) >= baseline",
        &measured(),
        Some(&baseline),
    );
    assert!(
        said(&found)[0].contains("blocks:1600"),
        "{:?}",
        said(&found)
    );
    assert!(
        judged(
            "cached_share(dev) >= baseline",
            &measured(),
            Some(&baseline)
        )
        .is_met()
    );
    let said = Facts::from(&manifest()).differences(&Facts::from(&other));
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn sums_over_different_conversations_are_not_compared() {
    let (records, bounds) = story();
    let once: Vec<_> = records
        .into_iter()
        .filter(|record| record.repeat == 1)
        .collect();
    let samples = Samples::of(&manifest(), &once, &bounds);
    let once = Measured::run(samples, 7);
    let baseline = Baseline::measured(measured(), Facts::from(&manifest()));
    let found = judged("computed_tokens(dev) <= baseline", &once, Some(&baseline));
    assert!(
        said(&found)[0].contains("different conversations (1 and 2)"),
        "{:?}",
        said(&found)
    );
    assert!(
        judged(
            "computed_per_conversation(dev) <= baseline",
            &once,
            Some(&baseline)
        )
        .is_met()
    );
}
