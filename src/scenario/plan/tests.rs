//! The grammar of plans, and what a person sees who gets one wrong.

use super::*;
use crate::cache::Routing;
use crate::scenario::load::shown;
use crate::units::Tokens;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Loads `text` as `plan.yaml` beside a scenario `chat.yaml`.
fn loaded(text: &str) -> Result<Plan, ScenarioError> {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("chat.yaml"), "scenario: chat\n").expect("a scenario");
    let path = dir.path().join("plan.yaml");
    fs::write(&path, text).expect("a plan");
    load(&path, &LoadOptions::default())
}

fn refusal(text: &str) -> String {
    shown(&loaded(text).expect_err("the plan is faulty"))
}

/// The first two lines of a refusal and its help, where the picture is of no interest.
fn said(text: &str) -> String {
    let shown = refusal(text);
    let lines = shown.lines().map(str::trim);
    let told = lines.filter(|line| line.starts_with('×') || line.starts_with("help:"));
    told.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_least_plan_settles_nothing_else() {
    let plan = loaded("plan: least\nscenarios: [chat.yaml]\n").expect("valid");
    assert_eq!(&*plan.name, "least");
    assert_eq!(plan.scenarios.len(), 1);
    assert_eq!(plan.scenarios[0].weight, 1);
    assert!(plan.scenarios[0].path.ends_with("chat.yaml"));
    assert!(plan.settings.is_empty() && plan.configurations.is_empty() && plan.rules.is_empty());
    assert_eq!(plan.embedded, Embedded::default());
    assert_eq!(plan.limits, Limits::default());
    assert_eq!(plan.fleet, None);
}

#[test]
fn everything_that_a_plan_can_say_is_read() {
    let plan = loaded(
        "plan: all\n\
         about: Says everything.\n\
         scenarios: [{file: chat.yaml, weight: 3}]\n\
         config: [dev, mine]\n\
         configurations: {mine: {base: turn-context, timestamps: on}}\n\
         targets: [embedded, 'http://127.0.0.1:1/v1']\n\
         model: tiny\n\
         dialect: anthropic\n\
         wire: anthropic\n\
         cache_model: 'blocks:16,capacity=130'\n\
         lifetime: 10m\n\
         embedded: {profile: openai-old, cache_model: 'blocks:32', lifetime: 1h}\n\
         repeat: 5\n\
         sessions: [1, 8]\n\
         order: shuffled\n\
         isolate: cell\n\
         isolate_by: reset\n\
         warm_up: prime\n\
         eviction_probe: off\n\
         max_tokens: 32\n\
         retries: 0\n\
         seed: 7\n\
         limits: {requests: 100, tokens: 1000000, usd: 2.5}\n\
         rules: [' cached_share > 0.5 ']\n",
    )
    .expect("valid");
    let settings: Vec<String> = plan
        .settings
        .iter()
        .map(|(name, values)| format!("{name}={}", values.join(" ")))
        .collect();
    insta::assert_snapshot!(settings.join("\n"), @r#"
    cache-model=blocks:16,capacity=130
    config=dev mine
    dialect=anthropic
    eviction-probe=off
    isolate=cell
    isolate-by=reset
    lifetime=600
    max-tokens=32
    max-usd=2.5
    model=tiny
    order=shuffled
    profile=openai-old
    repeat=5
    retries=0
    seed=7
    sessions=1 8
    target=embedded http://127.0.0.1:1/v1
    warm-up=prime
    wire=anthropic
    "#);
    assert_eq!(plan.scenarios[0].weight, 3);
    assert_eq!(plan.configurations["mine"].options.timestamps, Some(true));
    assert_eq!(plan.embedded.lifetime, Some(Duration::from_hours(1)));
    let cache = plan.embedded.cache.as_ref().map(ToString::to_string);
    assert_eq!(cache.as_deref(), Some("blocks:32"));
    assert_eq!(plan.limits.requests, Some(100));
    assert_eq!(plan.limits.tokens, Some(Tokens(1_000_000)));
    assert_eq!(plan.setting("max-usd"), ["2.5"]);
    assert_eq!(plan.rules, ["cached_share > 0.5"]);
}

#[test]
fn load_models_and_limits_are_kept_as_their_flags_are_written() {
    let plan = loaded(
        "plan: paced\nscenarios: [chat.yaml]\n\
         load: [sessions=4, 'open=2/s', 'ramp=1..9,over=300s']\n\
         think: exponential=5s\nduration: 10m\n\
         limits: {in_flight: 8, requests_per_minute: 60, tokens_per_minute: 1000, longest_wait: 90s}\n",
    )
    .expect("valid");
    let shown = |name: &str| plan.setting(name).join(" ");
    assert_eq!(
        shown("load"),
        "sessions=4 open=2/s,poisson ramp=1..9,over=5m"
    );
    assert_eq!(shown("think"), "exponential=5s");
    assert_eq!(shown("duration"), "10m");
    assert_eq!(shown("in-flight"), "8");
    assert_eq!(shown("requests-per-minute"), "60");
    assert_eq!(shown("tokens-per-minute"), "1000");
    assert_eq!(shown("longest-wait"), "1m30s");
    let plan = loaded(
        "plan: swept\nscenarios: [chat.yaml]\nsweep: 'sessions=1..8,x2'\n\
         until: [ttft_p90<=1s, failed<=1%]\n",
    )
    .expect("valid");
    assert_eq!(plan.setting("sweep"), ["sessions=1..8,x2"]);
    assert_eq!(plan.setting("until"), ["ttft_p90<=1000ms", "failed<=1%"]);
}

#[test]
fn what_is_wrong_with_a_load_is_said_where_it_stands() {
    for (line, said) in [
        ("load: [closed=8]", "is no load model"),
        ("load: []", "is an empty list"),
        ("load: sessions=1\nsessions: 2", "only one of them"),
        ("load: trace=none.csv", "none.csv"),
        ("until: failed<=1%", "ends a sweep"),
        ("sweep: sessions=8..1,x2", "begins above 0"),
        ("think: soon", "cannot be read"),
        ("duration: 0s", "must be above 0"),
        ("limits: {in_flight: 0}", "must be at least 1"),
        ("limits: {usd: -1}", "amount of dollars"),
    ] {
        let text = format!("plan: wrong\nscenarios: [chat.yaml]\n{line}\n");
        let shown = refusal(&text).replace('│', " ");
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(said), "{line}: {shown}");
    }
}

#[test]
fn a_fleet_is_read() {
    let plan = loaded(
        "plan: fleet\nscenarios: [chat.yaml]\n\
         fleet: {sessions: 64, capacity: 100000, replicas: 4, routing: [round-robin, prefix]}\n",
    )
    .expect("valid");
    let fleet = plan.fleet.expect("a fleet");
    assert_eq!(fleet.routing, [Routing::RoundRobin, Routing::Prefix]);
    assert_eq!((fleet.sessions, fleet.replicas), (64, 4));
    assert_eq!(fleet.capacity, Tokens(100_000));
}

#[test]
fn one_value_stands_for_a_list_of_one() {
    let plan = loaded(
        "plan: one\nscenarios: [chat.yaml]\nsessions: 4\n\
         fleet: {sessions: 2, capacity: 1000, replicas: 2, routing: sticky}\n",
    )
    .expect("valid");
    assert_eq!(plan.setting("sessions"), ["4"]);
    assert_eq!(plan.fleet.expect("a fleet").routing, [Routing::Sticky]);
}

#[test]
fn an_unknown_key_is_shown_with_the_one_that_was_meant() {
    insta::assert_snapshot!(refusal("plan: p\nscenarios: [chat.yaml]\nrepeats: 3\n"), @r#"
    scenario::unknown_key

      × unknown key `repeats`
       ╭─[plan.yaml:3:1]
     2 │ scenarios: [chat.yaml]
     3 │ repeats: 3
       · ───┬───
       ·    ╰── nothing reads this key
       ╰────
      help: did you mean `repeat`?
    "#);
}

#[test]
fn a_scenario_that_is_not_there_is_shown_where_it_stands() {
    insta::assert_snapshot!(refusal("plan: p\nscenarios:\n  - chat.yaml\n  - chta.yaml\n"), @r#"
    scenario::file

      × cannot read `chta.yaml`
       ╭─[plan.yaml:4:5]
     3 │   - chat.yaml
     4 │   - chta.yaml
       ·     ────┬────
       ·         ╰── there is no such file
       ╰────
      help: files are looked for beside the file that names them
    "#);
}

#[test]
fn an_unknown_configuration_is_shown_where_it_stands() {
    insta::assert_snapshot!(
        refusal("plan: p\nscenarios: [chat.yaml]\nconfig: [dev, turn-contxt]\n"), @r#"
    scenario::unknown_name

      × unknown configuration `turn-contxt`
       ╭─[plan.yaml:3:15]
     2 │ scenarios: [chat.yaml]
     3 │ config: [dev, turn-contxt]
       ·               ─────┬─────
       ·                    ╰── no configuration of this name here
       ╰────
      help: did you mean `turn-context`?
    "#
    );
}

#[test]
fn a_wrong_load_level_is_shown_where_it_stands() {
    insta::assert_snapshot!(
        refusal("plan: p\nscenarios: [chat.yaml]\nsessions: [1, 8, many]\n"), @r#"
    scenario::wrong_type

      × expected a whole number, found `many`
       ╭─[plan.yaml:3:18]
     2 │ scenarios: [chat.yaml]
     3 │ sessions: [1, 8, many]
       ·                  ──┬─
       ·                    ╰── here
       ╰────
    "#
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let cases = [
        ("scenarios: []", "`scenarios` names no scenario"),
        (
            "scenarios: [{file: chat.yaml, weight: 0}]",
            "`weight` must be at least 1",
        ),
        ("scenarios: [{weight: 2}]", "`file` is missing"),
        ("config: []", "`config` is an empty list"),
        ("config: [dev, dev]", "`config` names `dev` twice"),
        ("targets: ['']", "the name is empty"),
        ("targets: [embedded, embedded]", "names `embedded` twice"),
        ("dialect: antropic", "did you mean `anthropic`?"),
        ("wire: azure", "known: openai"),
        (
            "cache_model: bloks:16",
            "is no cache model: unknown cache model `bloks`",
        ),
        ("lifetime: 10", "`lifetime` has no unit"),
        ("lifetime: 500ms", "must be whole seconds"),
        (
            "embedded: {lifetime: 0s}",
            "must be whole seconds, at least one",
        ),
        ("embedded: {profil: vllm}", "did you mean `profile`?"),
        ("repeat: 0", "`repeat` must be at least 1"),
        ("max_tokens: 0", "`max_tokens` must be at least 1"),
        ("sessions: 0", "`sessions` must be from 1 to 1,000,000"),
        ("sessions: []", "`sessions` is an empty list"),
        ("sessions: [2, 2]", "names 2 twice"),
        ("order: random", "known words: given, shuffled"),
        ("isolate: cells", "did you mean `cell`?"),
        ("isolate_by: salts", "did you mean `salt`?"),
        ("warm_up: primed", "did you mean `prime`?"),
        ("eviction_probe: maybe", "known words: auto, on, off"),
        ("limits: {requests: 0}", "`requests` must be at least 1"),
        ("limits: {usd: -1}", "`usd` must be an amount of dollars"),
        ("limits: {dollars: 1}", "known keys: requests, tokens, usd"),
        ("rules: ['  ']", "the rule is empty"),
        (
            "fleet: {sessions: 1, capacity: 10, replicas: 0, routing: sticky}",
            "`replicas` must be at least 1",
        ),
        (
            "fleet: {sessions: 1, capacity: 10, replicas: 1, routing: [sticky, sticky]}",
            "names `sticky` twice",
        ),
        (
            "fleet: {sessions: 1, capacity: 10, replicas: 1, routing: stiky}",
            "did you mean `sticky`?",
        ),
        ("fleet: {sessions: 1}", "is missing"),
        (
            "lifetime: 5m\nfleet: {sessions: 1, capacity: 10, replicas: 1, routing: sticky}",
            "without a lifetime",
        ),
        (
            "configurations: {dev: {base: inline}}",
            "built-in configuration `dev` exists already",
        ),
        (
            "configurations: {mine: {base: devv}}",
            "did you mean `dev`?",
        ),
        (
            "configurations: {mine: {base: raw, raw: ../bodies.jsonl}}",
            "lies outside",
        ),
    ];
    for (line, expected) in cases {
        let scenarios = if line.starts_with("scenarios") {
            ""
        } else {
            "scenarios: [chat.yaml]\n"
        };
        let said = said(&format!("plan: p\n{scenarios}{line}\n"));
        assert!(said.contains(expected), "{line}\n{said}");
    }
}

#[test]
fn a_plan_is_told_from_a_scenario_also_where_it_is_broken() {
    let dir = tempfile::tempdir().expect("a folder");
    let cases = [
        ("plan: p\nscenarios: [a.yaml]\n", true),
        ("{\"plan\": \"p\"}", true),
        ("plan: p\nscenarios: [a.yaml\n", true),
        ("scenario: s\nsteps: []\n", false),
        ("scenario: s\nnotes: {plan: x}\n", false),
        ("scenario: s\nabout: |\n  plan: x\n", false),
        ("", false),
    ];
    for (text, expected) in cases {
        let path = dir.path().join("file.yaml");
        fs::write(&path, text).expect("a file");
        assert_eq!(is_plan(&path), expected, "{text:?}");
    }
    assert!(!is_plan(dir.path()) && !is_plan(&dir.path().join("none.yaml")));
}

fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/plans");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_shipped_plan_is_valid_and_named_as_its_file() {
    let plans = shipped();
    assert!(plans.len() >= 3, "{plans:?}");
    let schema = jsonschema::validator_for(&schema()).expect("a schema");
    for path in plans {
        assert!(is_plan(&path));
        let plan = load(&path, &LoadOptions::default())
            .unwrap_or_else(|error| panic!("{}", shown(&error)));
        assert_eq!(path.file_stem(), Some((*plan.name).as_ref()));
        assert!(!plan.about.is_empty(), "{}", plan.name);
        for scenario in &plan.scenarios {
            crate::scenario::load(&scenario.path, &LoadOptions::default())
                .unwrap_or_else(|error| panic!("{}", shown(&error)));
        }
        let text = fs::read_to_string(&path).expect("a plan");
        let value: serde_json::Value = serde_saphyr::from_str(&text).expect("YAML");
        let faults: Vec<String> = schema.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(faults.is_empty(), "{}: {faults:?}", plan.name);
    }
}

#[test]
fn the_schema_beside_the_plans_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/plans/schema.json");
    let text = fs::read_to_string(path).expect("scenarios/plans/schema.json");
    assert_eq!(
        text,
        schema_text(),
        "prefixbench schema --plan > scenarios/plans/schema.json"
    );
}

#[test]
fn no_text_makes_the_loader_panic() {
    use proptest::prelude::*;
    let words = prop::sample::select(vec![
        "plan",
        "scenarios",
        "config",
        ": ",
        "[",
        "]",
        "{",
        "}",
        "\n",
        "- ",
        "chat.yaml",
        "1",
        "'",
        "sessions",
        "fleet",
        "  ",
        ",",
        "é",
        "&a",
        "*a",
        "|",
    ]);
    let texts = prop::collection::vec(words, 0..30).prop_map(|words| words.concat());
    proptest!(|(text in texts)| {
        let _either = loaded(&text);
    });
}
