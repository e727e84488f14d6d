//! Runs plan files with the real binary on the embedded server.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up has to stop"
)]

use assert_cmd::{Command, cargo::cargo_bin_cmd};
use prefixbench::record::{BoundRecord, RequestRecord, Run, RunContents, SettingOrigin};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

fn harness(dir: &tempfile::TempDir) -> Command {
    let mut command = cargo_bin_cmd!("prefixbench");
    command.current_dir(dir).env_clear().env("NO_COLOR", "1");
    command
}

/// A folder with a small scenario and a plan of it.
fn workplace(plan: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("temporary folder");
    let scenario = "scenario: chat\nsystem: {generate: {tokens: 100, seed: 1}}\n\
                    steps:\n  - user: {text: One.}\n  - user: {text: Two.}\n";
    fs::write(dir.path().join("chat.yaml"), scenario).expect("scenario");
    fs::write(dir.path().join("plan.yaml"), plan).expect("plan");
    dir
}

fn contents(run: &Path) -> RunContents {
    Run::read(run)
        .and_then(Run::contents)
        .expect("a run that reads")
}

/// Runs a shipped plan without a report.
fn shipped(name: &str) -> RunContents {
    let dir = tempfile::tempdir().expect("temporary folder");
    let plan = scenarios().join("plans").join(format!("{name}.yaml"));
    harness(&dir)
        .arg("run")
        .arg(plan)
        .args(["--out", "run", "--no-report", "--quiet"])
        .assert()
        .success();
    contents(&dir.path().join("run"))
}

/// Every record with what was computed of it.
fn bounded(run: &RunContents) -> Vec<(&RequestRecord, &BoundRecord)> {
    let of = |record: &RequestRecord| {
        run.bounds.iter().find(|bound| {
            (
                &bound.conversation,
                bound.turn,
                bound.request,
                bound.attempt,
            ) == (
                &record.conversation,
                record.turn,
                record.request,
                record.attempt,
            )
        })
    };
    run.requests
        .iter()
        .map(|record| (record, of(record).expect("a bound")))
        .collect()
}

#[test]
fn a_pause_beyond_the_lifetime_leaves_nothing_and_one_within_it_everything() {
    let run = shipped("s22-idle");
    assert_eq!(run.requests.len(), 3 * 5);
    for (record, bound) in bounded(&run) {
        let at = format!("{} turn {}", record.conversation, record.turn);
        let read = record.usage.read.map(|tokens| tokens.0);
        let can = bound.bound.map(|tokens| tokens.0);
        assert_eq!(read, can, "{at}");
        match record.turn {
            1 | 4 => assert_eq!(read, Some(0), "{at}"),
            _ => assert!(read > Some(1_000), "{at}: {read:?}"),
        }
    }
}

#[test]
fn more_chats_at_once_than_the_cache_holds_evict_each_other() {
    let run = shipped("s24-concurrency");
    let share = |load: &str| {
        let of = run.requests.iter().filter(|record| &*record.load == load);
        let sums = of.fold((0, 0), |(read, total), record| {
            let usage = &record.usage;
            (
                read + usage.read.expect("a count").0,
                total + usage.total.expect("a count").0,
            )
        });
        sums.0 as f64 / sums.1 as f64
    };
    let (alone, together) = (share("sessions=1"), share("sessions=8"));
    assert!(alone > 0.7, "{alone}");
    assert!(together < alone / 2.0, "{together} of {alone}");
    for (record, bound) in bounded(&run) {
        if &*record.load == "sessions=1" {
            assert_eq!(record.usage.read, bound.bound, "{}", record.conversation);
        }
    }
    let names: std::collections::BTreeSet<&str> = run
        .requests
        .iter()
        .map(|record| &*record.conversation)
        .collect();
    assert_eq!(
        names.len(),
        2 * 2 * 8,
        "conversations are told apart by their load"
    );
}

#[test]
fn a_flag_goes_before_the_environment_and_that_before_the_plan() {
    let dir = workplace(
        "plan: order\nscenarios: [{file: chat.yaml, weight: 2}]\nconfig: [dev, mine]\n\
         configurations: {mine: {base: inline}}\nrepeat: 3\nretries: 1\nseed: 9\nmax_tokens: 4\n",
    );
    harness(&dir)
        .args([
            "run",
            "plan.yaml",
            "--out",
            "run",
            "--no-report",
            "--seed",
            "5",
        ])
        .env("PREFIXBENCH_SEED", "6")
        .env("PREFIXBENCH_REPEAT", "2")
        .assert()
        .success();
    let run = contents(&dir.path().join("run"));
    let setting = |name: &str| {
        let setting = &run.manifest.settings[name];
        (setting.value.clone(), setting.origin)
    };
    assert_eq!(setting("seed"), (json!("5"), SettingOrigin::Flag));
    assert_eq!(setting("repeat"), (json!("2"), SettingOrigin::Env));
    assert_eq!(setting("retries"), (json!("1"), SettingOrigin::Plan));
    assert_eq!(
        setting("config"),
        (json!(["dev", "mine"]), SettingOrigin::Plan)
    );
    assert_eq!(setting("sessions"), (json!(["1"]), SettingOrigin::Default));
    assert!(run.manifest.plan_sha256.is_some());
    // Two configurations, twice two conversations by the weight, two turns each.
    assert_eq!(run.requests.len(), 2 * 4 * 2);
}

#[test]
fn a_plan_says_what_caches_are_to_be_and_how_they_are_kept_apart() {
    let dir = workplace(
        "plan: states\nscenarios: [chat.yaml]\nconfig: [dev]\nrepeat: 2\n\
         isolate_by: nonce\nwarm_up: isolate\neviction_probe: on\n",
    );
    let run = |out: &str, variable: Option<&str>| {
        let mut run = harness(&dir);
        if let Some(by) = variable {
            run.env("PREFIXBENCH_ISOLATE_BY", by);
        }
        run.args(["run", "plan.yaml", "--out", out, "--no-report"]);
        run.assert().success();
        contents(&dir.path().join(out))
    };
    let planned = run("planned", None);
    assert!(planned.requests.iter().all(|record| record.salt.is_none()));
    let mut nonces: Vec<_> = planned.requests.iter().map(|r| r.nonce.clone()).collect();
    nonces.dedup();
    assert_eq!(nonces.len(), 2, "one a conversation: {nonces:?}");
    let aside: Vec<&str> = planned
        .aside
        .iter()
        .flat_map(|r| r.flags.iter().map(|f| &**f))
        .collect();
    assert_eq!(aside, ["warm_up", "probe"]);
    let by = &planned.manifest.settings["isolate-by"];
    assert_eq!(
        (&by.value, by.origin),
        (&json!("nonce"), SettingOrigin::Plan)
    );
    let salted = run("salted", Some("salt"));
    assert!(salted.requests.iter().all(|record| record.salt.is_some()));
}

#[test]
fn a_shuffled_run_interleaves_cells_and_is_repeated_by_its_seed() {
    let plan = "plan: mixed\nscenarios: [chat.yaml]\nconfig: [dev, inline]\nrepeat: 6\n\
                order: shuffled\n";
    let dir = workplace(plan);
    let schedule = |out: &str, seed: &str| {
        harness(&dir)
            .args([
                "run",
                "--plan",
                "plan.yaml",
                "--out",
                out,
                "--no-report",
                "--seed",
                seed,
            ])
            .assert()
            .success();
        let run = contents(&dir.path().join(out));
        let mut begun: Vec<String> = run
            .requests
            .iter()
            .map(|record| record.conversation.to_string())
            .collect();
        begun.dedup();
        let noted = run.manifest.settings["schedule"].clone();
        assert_eq!(noted.value, Value::from(begun));
        assert_eq!(noted.origin, SettingOrigin::Plan);
        noted.value
    };
    let first = schedule("one", "1");
    assert_eq!(first, schedule("again", "1"));
    assert_ne!(first, schedule("other", "2"));
    let text = first.to_string();
    assert!(
        text.contains("chat/dev/6") && text.contains("chat/inline/6"),
        "{text}"
    );
}

#[test]
fn a_dry_run_says_what_to_expect_and_sends_nothing() {
    let dir = workplace(
        "plan: dry\nscenarios: [chat.yaml]\nconfig: [dev]\nrepeat: 3\nsessions: [1, 4]\n\
         targets: ['http://127.0.0.1:1/v1']\nmodel: gpt-6.1-sol\nlimits: {usd: 0.00001}\n",
    );
    let run = harness(&dir)
        .args(["run", "plan.yaml", "--dry-run"])
        .assert()
        .success();
    insta::assert_snapshot!(String::from_utf8_lossy(&run.get_output().stdout), @r#"
     SCENARIO  CONFIGURATION  TARGET                 LOAD        CONVERSATIONS  REQUESTS  PROMPT TOKENS  ACHIEVABLE
     chat      dev            http://127.0.0.1:1/v1  sessions=1              3         6          1,182           ?
     chat      dev            http://127.0.0.1:1/v1  sessions=4              3         6          1,182           ?

    Nothing was sent. 2 cells, 12 requests, 2,364 prompt tokens, at most 192 output tokens.
    Beside that at most 2 requests with 262 prompt tokens, to warm up and to probe: they count nowhere, and cost.
    Achievable: what a cache of the target's model can return to conversations that begin cold, one at a time. Not known (?) where the cache model is not: name it with --cache-model.
    Time: not known: the target's speed is not. Cost: at most 0.00001 USD, where the run ends.
    "#);
    insta::assert_snapshot!(String::from_utf8_lossy(&run.get_output().stderr), @"warning: the run may cost up to 0.008805 USD with nothing read from a cache, and ends before it has cost more than 0.00001");
    assert!(!dir.path().join("reports").exists());
}

#[test]
fn what_is_known_of_a_models_cache_and_price_is_known_before_a_run_too() {
    let dir = workplace(
        "plan: dry\nscenarios: [chat.yaml]\nconfig: [dev]\ntargets: [known, stated, own]\n",
    );
    let steps = "scenario: chat\nsystem: {generate: {tokens: 2000, seed: 1}}\nsteps:\n  \
                 - user: {text: One.}\n  - idle: 1d\n  - user: {text: Two.}\n  \
                 - user: {text: Three.}\n";
    fs::write(dir.path().join("chat.yaml"), steps).expect("scenario");
    let model = "preset: anthropic, model: claude-opus-4.8";
    let targets = format!(
        "targets:\n  known: {{url: 'http://127.0.0.1:1', {model}}}\n  \
         stated: {{url: 'http://127.0.0.1:1', {model}, cache_model: breakpoints}}\n  \
         own: {{url: 'http://127.0.0.1:1/v1', preset: vllm, model: claude-opus-4.8}}\n"
    );
    fs::write(dir.path().join("targets.yaml"), targets).expect("targets");
    let run = harness(&dir)
        .args(["run", "plan.yaml", "--dry-run"])
        .assert()
        .success();
    let said = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    let achievable = |target: &str| {
        let row = said.lines().find(|line| line.contains(target));
        let words: Vec<_> = row.expect("a row").split_whitespace().rev().collect();
        (words[1].to_owned(), words[0].to_owned())
    };
    assert_eq!(achievable(" known "), achievable(" stated "), "{said}");
    // Of three prompts alike the third alone finds an entry: a day is longer than one lives.
    let (share, percent) = achievable(" known ");
    let share: f64 = share.parse().expect("a share");
    assert!(percent == "%" && (25.0..40.0).contains(&share), "{said}");
    assert!(said.contains("Cost: not known"), "one's own server: {said}");
}

#[test]
fn a_dry_run_of_the_embedded_server_knows_its_time_and_costs_nothing() {
    let dir = workplace("plan: dry\nscenarios: [chat.yaml]\nconfig: [dev]\n");
    let run = harness(&dir)
        .args(["run", "plan.yaml", "--dry-run"])
        .assert()
        .success();
    let said = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert!(
        said.contains("s on the embedded server. Cost: nothing."),
        "{said}"
    );
    assert!(!dir.path().join("reports").exists());
}

#[test]
fn a_run_that_needs_more_than_its_plan_allows_is_not_begun() {
    let dir =
        workplace("plan: small\nscenarios: [chat.yaml]\nconfig: [dev]\nlimits: {requests: 1}\n");
    let run = harness(&dir)
        .args(["run", "plan.yaml", "--out", "run"])
        .assert()
        .code(2)
        .stdout("");
    let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(
        said.contains("3 requests (1 of them to warm up and to probe), and the limit is 1"),
        "{said}"
    );
    assert!(!dir.path().join("run").exists());
}

/// A server in this process, and a targets file that names it `paid` at a dollar a
/// thousand tokens, with `more` behind that.
fn paid(
    dir: &tempfile::TempDir,
    options: prefixbench::server::Options,
    more: &str,
) -> (tokio::runtime::Runtime, prefixbench::server::Handle) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server = runtime.block_on(prefixbench::server::Server::start(options));
    let server = server.expect("a server");
    let targets = format!(
        "targets:\n  paid: {{url: '{}', dialect: openai-chat, model: embedded, \
         prices: {{input: 1000, read: 100, output: 1000}}{more}}}\n",
        server.url()
    );
    fs::write(dir.path().join("targets.yaml"), targets).expect("targets");
    (runtime, server)
}

/// The dollars behind `before`.
fn dollars(said: &str, before: &str) -> f64 {
    let behind = said.split_once(before).expect(before).1;
    let number = behind.split_whitespace().next().expect("a number");
    number.parse().expect("a number")
}

#[test]
fn what_a_run_may_cost_holds_though_its_cache_never_gives_anything_back() {
    let dir = workplace(
        "plan: warm\nscenarios: [chat.yaml]\nconfig: [dev]\ntargets: [paid]\nlimits: {requests: 10}\n",
    );
    let options = prefixbench::server::Options {
        profile: prefixbench::server::find_profile("deepseek").expect("a profile"),
        visible_after: std::time::Duration::from_secs(100_000),
        ..prefixbench::server::Options::default()
    };
    let (runtime, server) = paid(&dir, options, "");
    let warm = ["--warm-up", "prime", "--eviction-probe", "on"];
    let plain = [
        &["run", "chat.yaml", "--config", "dev", "--target", "paid"],
        &warm[..],
    ]
    .concat();
    let dry = harness(&dir)
        .args(&plain)
        .arg("--dry-run")
        .assert()
        .success();
    let said = String::from_utf8_lossy(&dry.get_output().stdout).into_owned();
    let most = dollars(&said, "Cost: at most ");
    assert!(said.contains("2 requests, "), "{said}");
    // Eight that warm up and one that probes.
    assert!(
        said.contains("Beside that at most 9 requests with "),
        "{said}"
    );

    let asked = harness(&dir)
        .args(&plain)
        .args(["--ask-above", "1"])
        .assert()
        .code(2);
    let asked = String::from_utf8_lossy(&asked.get_output().stderr).into_owned();
    assert!(
        (dollars(&asked, "may cost up to ") - most).abs() < 1e-9,
        "{asked}"
    );
    let limited = harness(&dir)
        .args(["run", "plan.yaml"])
        .args(warm)
        .assert()
        .code(2);
    let limited = String::from_utf8_lossy(&limited.get_output().stderr).into_owned();
    assert!(limited.contains("11 requests (9 of them"), "{limited}");

    harness(&dir)
        .args(&plain)
        .args(["--yes", "--out", "run", "--no-report", "--quiet"])
        .assert()
        .success();
    let run = Run::read(&dir.path().join("run")).expect("a run");
    let aside = run.aside().expect("records");
    assert_eq!(aside.len(), 9);
    let requests = run.contents().expect("records").requests;
    let spent: u64 = requests
        .iter()
        .chain(&aside)
        .map(|record| {
            let usage = &record.usage;
            let read = usage.read.expect("a count").0;
            assert_eq!(read, 0, "it is never there");
            usage.total.expect("a count").0 + usage.output.expect("a count").0
        })
        .sum();
    assert!((spent as f64 / 1e3 - most).abs() < 1e-9, "{spent} {said}");
    runtime.block_on(server.shutdown());
}

#[test]
fn replies_of_the_model_make_only_their_own_scenario_dearer() {
    let dir = workplace("plan: two\nscenarios: [chat.yaml, live.yaml]\nconfig: [dev]\n");
    let chat = fs::read_to_string(dir.path().join("chat.yaml")).expect("scenario");
    let live = chat.replace("scenario: chat", "scenario: live\nreplies: live");
    fs::write(dir.path().join("live.yaml"), live).expect("scenario");
    let dry = harness(&dir)
        .args(["run", "plan.yaml", "--max-tokens", "70", "--dry-run"])
        .assert()
        .success();
    let said = String::from_utf8_lossy(&dry.get_output().stdout).into_owned();
    // One answer stands before the second request of the one that is live.
    assert!(
        said.contains("(up to 70 more by replies of the model itself)"),
        "{said}"
    );
}

#[test]
fn what_an_account_allows_in_a_minute_is_not_exceeded() {
    let dir = workplace("plan: small\nscenarios: [chat.yaml]\n");
    let options = prefixbench::server::Options::default();
    let (runtime, server) = paid(&dir, options, ", limits: {requests_per_minute: 2}");
    let arguments = [
        "run",
        "chat.yaml",
        "--config",
        "dev",
        "--target",
        "paid",
        "--repeat",
        "20",
    ];
    let dry = harness(&dir)
        .args(arguments)
        .arg("--dry-run")
        .assert()
        .success();
    let said = String::from_utf8_lossy(&dry.get_output().stdout).into_owned();
    assert!(said.contains("Time: at least 19.0 min"), "{said}");
    let mut run = std::process::Command::new(assert_cmd::cargo::cargo_bin!("prefixbench"))
        .current_dir(&dir)
        .env_clear()
        .args(arguments)
        .args(["--yes", "--out", "run", "--no-report", "--quiet"])
        .spawn()
        .expect("a process");
    let sent = || {
        let text = fs::read_to_string(dir.path().join("run/requests.jsonl"));
        text.map_or(0, |text| text.lines().count())
    };
    let rest = |millis| {
        let millis = std::time::Duration::from_millis(millis);
        runtime.block_on(async { tokio::time::sleep(millis).await });
    };
    while sent() < 2 && run.try_wait().expect("a process").is_none() {
        rest(20);
    }
    rest(500);
    assert!(run.try_wait().expect("a process").is_none(), "it waits");
    run.kill().expect("killed");
    run.wait().expect("ended");
    assert_eq!(sent(), 2);
    runtime.block_on(server.shutdown());
}

#[test]
fn a_dry_run_takes_minutes_by_target_and_shows_what_a_shard_does() {
    let dir = workplace("plan: small\nscenarios: [chat.yaml]\n");
    let dry = |more: &[&str]| {
        let dry = harness(&dir)
            .args(["run", "chat.yaml", "--dry-run"])
            .args(more)
            .assert()
            .success();
        String::from_utf8_lossy(&dry.get_output().stdout).into_owned()
    };
    // Five configurations: 500 requests in all, and five that probe.
    let said = dry(&["--repeat", "50", "--requests-per-minute", "60"]);
    assert!(said.contains("Time: about 8.0 min"), "{said}");
    let total = |said: &str, before: &str| -> u64 {
        let behind = said.split_once(before).expect(before).1;
        let number = behind.split_whitespace().next().expect("a number");
        number.parse().expect("a number")
    };
    let shards = (1..=3).map(|index| {
        let shard = format!("{index}/3");
        let said = dry(&["--repeat", "50", "--nonce", "12345678", "--shard", &shard]);
        assert!(
            said.contains("All 3 shards: at most 515 requests"),
            "{said}"
        );
        total(&said, &format!("Of shard {shard}: 5 cells, "))
    });
    assert_eq!(shards.sum::<u64>(), 500);
}

#[test]
fn what_is_wrong_with_a_plan_is_shown_where_it_stands_and_exits_with_2() {
    let dir = workplace("plan: wrong\nscenarios: [chat.yaml]\nembedded: {profile: vlm}\n");
    let run = harness(&dir)
        .args(["run", "plan.yaml", "--out", "run"])
        .assert()
        .code(2)
        .stdout("");
    insta::assert_snapshot!(String::from_utf8_lossy(&run.get_output().stderr), @r#"
    scenario::value

      × `profile` is no profile
       ╭─[plan.yaml:3:21]
     2 │ scenarios: [chat.yaml]
     3 │ embedded: {profile: vlm}
       ·                     ─┬─
       ·                      ╰── here
       ╰────
      help: did you mean `vllm`?
    "#);
    let run = harness(&dir)
        .args(["run", "chat.yaml", "plan.yaml", "--out", "run"])
        .assert()
        .code(2);
    let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(
        said.contains("`plan.yaml` is a plan among scenarios"),
        "{said}"
    );
    assert!(!dir.path().join("run").exists());
}

#[test]
fn two_targets_and_their_records_are_told_apart() {
    let dir = workplace("plan: two\nscenarios: [chat.yaml]\nconfig: [dev]\n");
    let server = tokio::runtime::Runtime::new().expect("a runtime");
    let handle = server
        .block_on(prefixbench::server::Server::start(
            prefixbench::server::Options::default(),
        ))
        .expect("a server");
    let plan = format!(
        "plan: two\nscenarios: [chat.yaml]\nconfig: [dev]\ncache_model: blocks:16\n\
         targets: [embedded, '{}']\n",
        handle.url()
    );
    fs::write(dir.path().join("plan.yaml"), plan).expect("plan");
    harness(&dir)
        .args(["run", "plan.yaml", "--out", "run", "--quiet"])
        .assert()
        .success();
    let run = contents(&dir.path().join("run"));
    let targets: Vec<&str> = run
        .manifest
        .targets
        .iter()
        .map(|facts| &*facts.name)
        .collect();
    assert_eq!(targets.len(), 2);
    for target in targets {
        let of = run
            .requests
            .iter()
            .filter(|record| &*record.target == target);
        assert_eq!(of.count(), 2, "{target}");
    }
    server.block_on(handle.shutdown());
}

#[test]
fn a_fleet_loses_what_it_spreads_over_servers() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let run = harness(&dir)
        .arg("predict")
        .arg(scenarios().join("plans/s23-routing.yaml"))
        .args(["--format", "jsonl"])
        .assert()
        .success();
    let text = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    let read = |routing: &str, configuration: &str| {
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        let mut of = lines.filter(|line: &Value| {
            line["routing"] == routing && line["configuration"] == configuration
        });
        let line = of.next().expect("a line of this routing");
        assert_eq!(line["replicas"].as_array().map(Vec::len), Some(4));
        line["total"]["bound_tokens"].as_u64().expect("a number")
    };
    for configuration in ["dev", "append-only"] {
        let sticky = read("sticky", configuration);
        assert!(sticky > 2 * read("round-robin", configuration), "{text}");
        assert_eq!(sticky, read("prefix", configuration), "{text}");
    }
}

#[test]
fn a_plan_is_checked_and_its_schema_printed() {
    let dir = workplace("plan: fine\nscenarios: [chat.yaml]\n");
    harness(&dir)
        .args(["check", "plan.yaml", "chat.yaml"])
        .assert()
        .success()
        .stdout("plan.yaml: ok, plan `fine`, 1 scenario\nchat.yaml: ok, `chat`, 2 steps\n");
    let run = harness(&dir).args(["schema", "--plan"]).assert().success();
    let schema: Value = serde_json::from_slice(&run.get_output().stdout).expect("JSON");
    assert_eq!(schema["title"], "prefixbench plan");
}
