//! `gate` as a person and a build server run it.

#![expect(
    clippy::expect_used,
    reason = "a file or output that is not there is a failed test"
)]

use assert_cmd::cargo::cargo_bin_cmd;
use prefixbench::analysis::rules::METRICS;
use prefixbench::report::SUMMARY_COLUMNS;
use serde_json::Value;
use std::fs;
use std::path::Path;

const SMALL: &str = "\
scenario: small
group: G0
about: Artifacts go on, then memory changes.
system: {generate: {tokens: 400, seed: 1, kind: prose}}
start: {memory: {name: Ada, tone: formal}}
steps:
  - user: {text: When does it open?, reply: At nine.}
  - set: {artifacts: Draw with care.}
  - user: {text: Draw it., reply: Done.}
  - memory: {change: {tone: brief}}
  - user: {text: Smaller., reply: Done.}
";

struct Folder(tempfile::TempDir);

struct Ended {
    code: i32,
    out: String,
    err: String,
}

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("temporary folder"));
        folder.write("small.yaml", SMALL);
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect(name);
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect(name)
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let output = cargo_bin_cmd!("prefixbench")
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("NO_COLOR", "1")
            .output()
            .expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Ended {
            code: output.status.code().expect("no signal"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// The codes with which `gate small.yaml` ends for each rule.
    fn codes(&self, rules: &[&str]) -> Vec<i32> {
        let code = |rule: &&str| self.run(&["gate", "small.yaml", "--rule", rule]).code;
        rules.iter().map(code).collect()
    }
}

#[test]
fn scenarios_are_judged_without_a_server() {
    let folder = Folder::new();
    let ended = folder.run(&[
        "gate",
        "small.yaml",
        "--config",
        "dev,append-only",
        "--rule",
        "achievable_share(append-only) >= 60 %",
        "--rule",
        "achievable_share >= 0.5",
        "--rule",
        "computed_tokens(append-only, scenario=small) <= computed_tokens(dev)",
        "--rule",
        "cached_share(dev) > 0",
    ]);
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert_eq!(ended.err, "");
    insta::assert_snapshot!(ended.out, @r"
    Predicted: 1 scenario under 2 configurations, cache model blocks:16, tokens counted with o200k;
      nothing was sent.

    ✓ achievable_share(append-only) >= 0.6
        append-only  met:    63.5 %, wanted at least 60.0 %

    ✓ achievable_share >= 0.5
        append-only  met:    63.5 %, wanted at least 50.0 %
        dev          met:    57.8 %, wanted at least 50.0 %

    ✓ computed_tokens(append-only, scenario=small) <= computed_tokens(dev)
        append-only  met:    552, wanted at most 653
            computed_tokens(dev, scenario=small) = 653

    ? cached_share(dev) > 0
        dev  cannot be decided: cached_share needs a server's answers, and nothing was sent: gate a run

    3 of 4 rules met, 1 cannot be decided.
    ");
}

#[test]
fn the_exit_code_tells_met_missed_and_wrong() {
    let folder = Folder::new();
    let codes = folder.codes(&[
        "achievable_share(append-only) > 0",
        "achievable_share(append-only) > 1",
        "cached_share(append-only) >= 0",
        "cached_shar(append-only) >= 0",
        "achievable_share(apend-only) > 0",
        "achievable_share >= baseline",
    ]);
    assert_eq!(codes, [0, 3, 3, 2, 2, 2]);
    for (arguments, code, said) in [
        (vec!["gate", "small.yaml"], 2, "no rule is given"),
        (
            vec!["gate", "nowhere.yaml", "--rule", "failed == 0"],
            2,
            "nowhere.yaml",
        ),
        (
            vec!["gate", "small.yaml", "small.yaml", "--rule", "failed == 0"],
            2,
            "scenario `small` is in",
        ),
        (
            vec![
                "gate",
                "small.yaml",
                "--config",
                "dev,dev",
                "--rule",
                "failed == 0",
            ],
            2,
            "named twice",
        ),
        (
            vec!["gate", "small.yaml", "--rules", "none.rules"],
            2,
            "cannot read rules",
        ),
        (
            vec![
                "gate",
                "small.yaml",
                "--rule",
                "failed == 0",
                "--baseline",
                "small.yaml",
            ],
            2,
            "not a baseline",
        ),
        (
            vec![
                "gate",
                "small.yaml",
                "--rule",
                "failed == 0",
                "--out",
                "no/such/place.xml",
            ],
            5,
            "cannot write",
        ),
    ] {
        let ended = folder.run(&arguments);
        assert_eq!(ended.code, code, "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(said), "{arguments:?}: {}", ended.err);
    }
}

#[test]
fn a_mistake_in_a_rule_is_shown_where_it_stands() {
    let folder = Folder::new();
    folder.write(
        "cache.rules",
        "# ours\nachievable_share(dev) => 0.5\nfaild == 0\n",
    );
    let ended = folder.run(&["gate", "small.yaml", "--rules", "cache.rules"]);
    assert_eq!((ended.code, ended.out.as_str()), (2, ""));
    insta::assert_snapshot!(ended.err, @r"
      × 2 rules cannot be read

    Error: gate::rule

      × `=>` is no comparison
       ╭─[cache.rules:2:23]
     1 │ # ours
     2 │ achievable_share(dev) => 0.5
       ·                       ─┬
       ·                        ╰── here
     3 │ faild == 0
       ╰────
      help: did you mean `>=`?

    Error: gate::rule

      × unknown figure `faild`
       ╭─[cache.rules:3:1]
     2 │ achievable_share(dev) => 0.5
     3 │ faild == 0
       · ──┬──
       ·   ╰── no figure has this name
       ╰────
      help: did you mean `failed`? known: cached_share, cached_share_low,
            cached_share_high, cached_share_after_first, achievable_share,
            eligible_share, efficiency, computed_per_conversation,
            computed_tokens, total_tokens, read_tokens, eligible_tokens,
            bound_tokens, breaks, lost_tokens, ttft_p50_us, ttft_p90_us,
            ttft_p99_us, ttft_from_due_p50_us, ttft_from_due_p90_us,
            ttft_from_due_p99_us, cost_usd, cost_uncached_usd, cost_best_usd,
            cost_least_usd, cost_most_usd, cost_per_conversation_usd,
            write_tokens, prompt_reuse_tokens, reply_reuse_tokens, hit_chances,
            full_hits, set_apart, requests, failed, without_count, conversations,
            baseline
    ");
}

#[test]
fn a_run_is_judged_by_what_was_counted() {
    let folder = Folder::new();
    let run = [
        "run",
        "small.yaml",
        "--config",
        "dev,append-only",
        "--no-report",
        "--repeat",
        "5",
        "--out",
    ];
    assert_eq!(folder.run(&[run.as_slice(), &["first"]].concat()).code, 0);
    assert_eq!(folder.run(&[run.as_slice(), &["second"]].concat()).code, 0);
    let ended = folder.run(&["gate", "first", "--write-baseline", "base.json"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    for baseline in ["first", "base.json"] {
        let ended = folder.run(&[
            "gate",
            "second",
            "--baseline",
            baseline,
            "--rule",
            "cached_share == baseline",
            "--rule",
            "computed_tokens(scenario=each) <= baseline",
            "--rule",
            "ttft_p50_us <= 100 * baseline",
            "--rule",
            "failed == 0",
        ]);
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        assert!(ended.out.contains("4 of 4 rules met"), "{}", ended.out);
        assert!(ended.out.contains("simulated"), "{}", ended.out);
    }
    // A prediction can be held against the figures of a run, as far as both know them.
    let ended = folder.run(&[
        "gate",
        "small.yaml",
        "--config",
        "dev,append-only",
        "--baseline",
        "base.json",
        "--rule",
        "achievable_share >= baseline - 0.02",
    ]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let mixed = folder.run(&["gate", "first", "small.yaml", "--rule", "failed == 0"]);
    assert_eq!(mixed.code, 2);
    assert!(
        mixed.err.contains("a run among other things"),
        "{}",
        mixed.err
    );
}

#[test]
fn without_counts_nothing_is_met() {
    let folder = Folder::new();
    let run = [
        "run",
        "small.yaml",
        "--config",
        "dev",
        "--no-report",
        "--out",
        "run",
    ];
    assert_eq!(folder.run(&run).code, 0);
    let records = folder
        .read("run/requests.jsonl")
        .replace("\"origin\":\"reported\"", "\"origin\":\"absent\"");
    folder.write("run/requests.jsonl", &records);
    for rule in [
        "cached_share >= 0",
        "computed_tokens >= 0",
        "achievable_share <= 1",
    ] {
        let ended = folder.run(&["gate", "run", "--rule", rule]);
        assert_eq!(ended.code, 3, "{rule}: {}", ended.out);
        assert!(
            ended.out.contains("cannot be decided"),
            "{rule}: {}",
            ended.out
        );
        assert!(
            ended.out.contains("without a usable count"),
            "{}",
            ended.out
        );
    }
}

#[test]
fn every_form_says_the_same() {
    let folder = Folder::new();
    let ended = folder.run(&[
        "gate",
        "small.yaml",
        "--config",
        "dev,append-only",
        "--rule",
        "achievable_share >= 0.6",
        "--format",
        "json",
        "--out",
        "gate.xml",
        "--out",
        "gate.md",
        "--out",
        "gate.txt",
        "--out",
        "gate.other",
    ]);
    assert_eq!(ended.code, 3, "{}", ended.err);
    let json: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(json["schema"], "prefixbench/gate/1");
    assert_eq!(json["predicted"], true);
    assert_eq!(json["rules"][0]["verdict"], "missed");
    assert_eq!(folder.read("gate.other"), ended.out);
    let xml = folder.read("gate.xml");
    assert!(
        xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "),
        "{xml}"
    );
    assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
    assert!(
        folder
            .read("gate.md")
            .starts_with("### ❌ Prefix cache: 0 of 1 rule met, 1 missed")
    );
    assert!(
        folder
            .read("gate.txt")
            .contains("✗ achievable_share >= 0.6")
    );
}

#[test]
fn a_plan_brings_its_rules_and_its_cache() {
    let folder = Folder::new();
    let plan = "plan: nightly\nscenarios: [small.yaml]\nconfig: [append-only]\ncache_model: blocks:128\nsessions: [4]\n";
    folder.write(
        "plan.yaml",
        &format!("{plan}rules: [achievable_share > 0]\n"),
    );
    let ended = folder.run(&["gate", "plan.yaml"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(
        ended.out.contains("cache model blocks:128"),
        "{}",
        ended.out
    );
    assert!(ended.err.contains("sessions play no part"), "{}", ended.err);
    folder.write(
        "plan.yaml",
        &format!("{plan}rules: [achievable_shar > 0]\n"),
    );
    let ended = folder.run(&["gate", "plan.yaml"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("plan.yaml:6:"), "{}", ended.err);
    assert!(
        ended.err.contains("did you mean `achievable_share`?"),
        "{}",
        ended.err
    );
}

#[test]
fn prompts_of_ones_own_are_judged() {
    let folder = Folder::new();
    let builder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/external/builder.py");
    let ended = folder.run(&[
        "gate",
        "small.yaml",
        "--config",
        "external,dev",
        "--builder",
        &format!("python3 '{builder}'"),
        "--rule",
        "achievable_share(external) > achievable_share(dev)",
    ]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
}

#[test]
fn the_workflow_that_comes_along_judges_what_comes_along() {
    let root = env!("CARGO_MANIFEST_DIR");
    let workflow = fs::read_to_string(format!("{root}/examples/ci/prompt-cache.yml"));
    let workflow = workflow.expect("the workflow");
    let from = workflow.find("prefixbench gate").expect("it judges");
    let end = workflow[from..].find("\n\n").expect("a step ends");
    let command = &workflow[from..from + end];
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let folder = Folder::new();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let command = words.join(" ").replace("gate.xml", &file("gate.xml"));
    let command = command.replace("gate.md", &file("gate.md"));
    let program = assert_cmd::cargo::cargo_bin!("prefixbench");
    let ended = std::process::Command::new("sh")
        .args(["-c", &format!("'{}' {command}", program.display())])
        .current_dir(root)
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert!(folder.read("gate.xml").contains("failures=\"0\""));
    assert!(folder.read("gate.md").starts_with("### ✅"));
}

#[test]
fn every_number_of_the_summary_can_be_named_in_a_rule() {
    let names = [
        "group",
        "scenario",
        "configuration",
        "target",
        "model",
        "load",
    ];
    for column in SUMMARY_COLUMNS {
        let known = names.contains(column) || METRICS.iter().any(|metric| metric.name == *column);
        assert!(known, "{column}");
    }
}
