//! Load models, limits and sweeps through the real binary, on embedded servers.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up has to stop"
)]

use assert_cmd::{Command, cargo::cargo_bin_cmd};
use prefixbench::load::{Opening, beginning};
use prefixbench::record::load::LoadRecord;
use prefixbench::record::{Ending, Fact, Outcome, RequestRecord, Run, RunContents};
use prefixbench::scenario::pace::Level;
use prefixbench::server::{Faults, Handle, Options, Server, Speed};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;
use tokio::runtime::Runtime;

/// A folder with a chat of two turns.
fn workplace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("temporary folder");
    let chat = "scenario: chat\nsystem: {generate: {tokens: 100, seed: 1}}\n\
                steps:\n  - user: {text: One.}\n  - user: {text: Two.}\n";
    fs::write(dir.path().join("chat.yaml"), chat).expect("scenario");
    dir
}

fn harness(dir: &tempfile::TempDir) -> Command {
    let mut command = cargo_bin_cmd!("prefixbench");
    command.current_dir(dir).env_clear().env("NO_COLOR", "1");
    command
}

/// Runs the chat under `dev` without a report; says what was told on stderr.
fn run(dir: &tempfile::TempDir, arguments: &[&str]) -> String {
    let ended = harness(dir)
        .args([
            "run",
            "chat.yaml",
            "--config",
            "dev",
            "--out",
            "run",
            "--no-report",
        ])
        .args(arguments)
        .assert()
        .success();
    String::from_utf8_lossy(&ended.get_output().stderr).into_owned()
}

fn contents(dir: &tempfile::TempDir) -> RunContents {
    Run::read(&dir.path().join("run"))
        .and_then(Run::contents)
        .expect("a run that reads")
}

fn loads(dir: &tempfile::TempDir) -> Vec<LoadRecord> {
    let text = fs::read_to_string(dir.path().join("run/load.jsonl")).expect("load.jsonl");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("lines of JSON")
}

/// A server in this process; it lives as long as the runtime.
fn served(options: Options) -> (Runtime, Handle) {
    let runtime = Runtime::new().expect("a runtime");
    let handle = runtime.block_on(Server::start(options)).expect("a server");
    (runtime, handle)
}

/// First attempts of conversations' first requests, by repeat.
fn arrivals(run: &RunContents) -> Vec<&RequestRecord> {
    let first =
        |record: &&RequestRecord| (record.turn, record.request, record.attempt) == (1, 1, 1);
    let mut arrivals: Vec<&RequestRecord> = run.requests.iter().filter(first).collect();
    arrivals.sort_by_key(|record| record.repeat);
    arrivals
}

/// Due times counted from the first.
fn offsets(arrivals: &[&RequestRecord]) -> Vec<u64> {
    let first = arrivals[0].stamps.due_us.0;
    let due = arrivals.iter().map(|record| record.stamps.due_us.0 - first);
    due.collect()
}

#[test]
fn an_open_level_keeps_its_schedule_and_records_due_beside_sent() {
    let dir = workplace();
    run(
        &dir,
        &[
            "--load",
            "open=40/s,poisson",
            "--repeat",
            "12",
            "--think",
            "30ms",
        ],
    );
    let run = contents(&dir);
    let arrivals = arrivals(&run);
    assert_eq!(arrivals.len(), 12);
    let level: Level = "open=40/s,poisson".parse().expect("a level");
    let Opening::Open(times) = beginning(&level, Some(12), None, &[], 1).opening else {
        panic!("an open level is a schedule");
    };
    let expected: Vec<u64> = times
        .iter()
        .map(|at| {
            u64::try_from((*at).checked_sub(times[0]).unwrap().as_micros()).expect("a short time")
        })
        .collect();
    for (found, expected) in offsets(&arrivals).iter().zip(expected) {
        assert!(found.abs_diff(expected) <= 1, "{found} {expected}");
    }
    for record in &run.requests {
        let stamps = &record.stamps;
        assert_eq!(&*record.load, "open=40/s,poisson,think=30ms");
        assert!(
            stamps.ready_us.expect("ready") >= stamps.due_us,
            "{stamps:?}"
        );
        assert!(stamps.sent_us >= stamps.ready_us, "{stamps:?}");
        if record.turn == 2 {
            let before = run
                .requests
                .iter()
                .find(|other| (&other.conversation, other.turn) == (&record.conversation, 1));
            let done = before.and_then(|before| before.stamps.done_us);
            let thought = stamps.due_us.0 - done.expect("an answer").0;
            assert_eq!(
                thought, 30_000,
                "due when the answer has been thought about"
            );
        }
    }
    let loads = loads(&dir);
    let lateness = loads[0].lateness.as_ref().expect("a histogram");
    let counted: u64 = lateness.buckets.iter().map(|(_, count)| count).sum();
    assert_eq!((counted, loads[0].requests), (24, 24));
}

#[test]
fn a_schedule_waits_for_nobody_and_what_has_no_room_is_shed() {
    let dir = workplace();
    let slow = Speed {
        overhead: Duration::from_millis(300),
        ..Speed::default()
    };
    let (_runtime, server) = served(Options {
        speed: slow,
        ..Options::default()
    });
    let url = server.url();
    let load = ["--load", "open=200/s,constant", "--repeat", "10"];
    let told = run(
        &dir,
        &[&["--target", &url, "--in-flight", "2"], &load[..]].concat(),
    );
    assert!(told.contains(" shed"), "{told}");
    let run = contents(&dir);
    let arrivals = arrivals(&run);
    let offsets = offsets(&arrivals);
    assert_eq!(offsets, (0..10).map(|n| n * 5_000).collect::<Vec<u64>>());
    let shed: Vec<_> = arrivals
        .iter()
        .filter(|record| record.outcome == Outcome::Shed)
        .collect();
    // Forty-five milliseconds hold all arrivals, and an answer takes three hundred.
    assert_eq!(shed.len(), 8, "{told}");
    for record in &shed {
        assert_eq!(record.stamps.sent_us, None);
        assert_eq!(record.bytes_sent.0, 0);
        let of = |other: &&RequestRecord| other.conversation == record.conversation;
        assert_eq!(run.requests.iter().filter(of).count(), 1, "it ends there");
    }
    assert_eq!(loads(&dir)[0].shed, 8);
    // What was not sent is in no share, and it is counted as failed.
    harness(&dir).args(["report", "run"]).assert().success();
    let summary = fs::read_to_string(dir.path().join("run/summary.csv")).expect("summary");
    assert!(summary.contains(",12,8,0,"), "{summary}");
}

#[test]
fn a_closed_level_waits_for_room_and_the_wait_is_no_lateness() {
    let dir = workplace();
    run(
        &dir,
        &["--sessions", "4", "--repeat", "4", "--in-flight", "1"],
    );
    let run = contents(&dir);
    let mut sent: Vec<_> = run
        .requests
        .iter()
        .map(|record| (record.stamps.sent_us, record.stamps.done_us))
        .collect();
    sent.sort();
    for pair in sent.windows(2) {
        assert!(pair[1].0 >= pair[0].1, "one at a time: {pair:?}");
    }
    let waited: Vec<_> = run
        .requests
        .iter()
        .filter_map(|record| record.stamps.limited_us)
        .collect();
    assert!(waited.len() >= 3, "{waited:?}");
    let load = &loads(&dir)[0];
    assert_eq!(load.limited, waited.len() as u64);
    let longest = waited.iter().max().expect("a wait");
    for record in &run.requests {
        let late = record.stamps.lateness().expect("sent");
        assert!(record.stamps.limited_us.is_none() || late < *longest);
    }
}

#[test]
fn a_server_that_says_when_to_come_back_is_left_alone_until_then() {
    let dir = workplace();
    let (_runtime, server) = served(Options {
        speed: Speed::INSTANT,
        faults: Faults::default().with_written("429:3").expect("a fault"),
        ..Options::default()
    });
    run(
        &dir,
        &[
            "--target",
            &server.url(),
            "--repeat",
            "2",
            "--sessions",
            "2",
        ],
    );
    let run = contents(&dir);
    let refused: Vec<_> = run
        .requests
        .iter()
        .filter(|record| record.outcome == Outcome::Http429)
        .collect();
    assert!(!refused.is_empty());
    let second = 1_000_000;
    for refusal in refused {
        let until = refusal.stamps.done_us.expect("ended").0 + second;
        let retry = run.requests.iter().find(|record| {
            (&record.conversation, record.turn, record.attempt)
                == (&refusal.conversation, refusal.turn, refusal.attempt + 1)
        });
        let retry = retry.expect("it is tried again");
        assert!(retry.stamps.due_us.0 >= until, "not before the server said");
        assert_eq!(retry.stamps.wanted(), refusal.stamps.wanted());
        let waited = retry.stamps.due_us.0 - refusal.stamps.wanted().0;
        assert!(waited >= second, "a person waits for all tries");
        if let Some(first) = retry.stamps.ttft_from_due() {
            assert!(first.0 > waited, "{first} without the {waited} us before");
            assert!(retry.stamps.lateness().expect("sent").0 < waited);
        }
        // Nobody else of this target sends meanwhile, but for who was about to.
        let meanwhile = run.requests.iter().filter(|record| {
            let ready = record.stamps.ready_us.map_or(0, |ready| ready.0);
            ready > until - second + second / 5 && ready < until - 1_000
        });
        assert_eq!(meanwhile.count(), 0);
    }
    assert!(
        run.requests
            .iter()
            .any(|record| record.outcome == Outcome::Ok)
    );
}

/// Waits until a record of the run holds this; not for ever.
async fn recorded(dir: &tempfile::TempDir, what: &str) {
    let path = dir.path().join("run/requests.jsonl");
    for _ in 0..3_000 {
        let text = fs::read_to_string(&path).unwrap_or_default();
        if text.contains(what) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nothing has {what}");
}

#[test]
fn a_server_that_is_away_for_a_moment_costs_what_was_sent_meanwhile_and_no_cell() {
    let dir = workplace();
    let options = || Options {
        speed: Speed::INSTANT,
        ..Options::default()
    };
    let (runtime, server) = served(options());
    let (url, addr) = (server.url(), server.address());
    let load = [
        "--load",
        "open=20/s,constant",
        "--repeat",
        "60",
        "--retries",
        "0",
    ];
    let running = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&dir, &[&["--target", &*url], &load[..]].concat()));
        runtime.block_on(recorded(&dir, "\"outcome\":\"ok\""));
        runtime.block_on(server.shutdown());
        runtime.block_on(recorded(&dir, "\"outcome\":\"connect\""));
        let again = Options { addr, ..options() };
        let again = runtime.block_on(Server::start(again)).expect("a server");
        let told = running.join();
        runtime.block_on(again.shutdown());
        told
    });
    running.expect("a run");
    assert_eq!(loads(&dir)[0].ended, None, "no cell was given up");
    let run = contents(&dir);
    assert_eq!(run.manifest.ending, Some(Ending::Complete));
    assert_eq!(arrivals(&run).len(), 60, "the schedule waits for nobody");
    let with = |outcome| {
        let of = run
            .requests
            .iter()
            .filter(move |record| record.outcome == outcome);
        of.map(|record| record.stamps.due_us).collect::<Vec<_>>()
    };
    let (failed, answered) = (with(Outcome::Connect), with(Outcome::Ok));
    assert!(!failed.is_empty(), "what was sent meanwhile failed");
    assert!(
        answered.iter().max() > failed.iter().max(),
        "and then it went on"
    );
}

#[test]
fn an_outage_ends_no_cell_that_has_rounds_left() {
    let dir = workplace();
    let options = || Options {
        speed: Speed::INSTANT,
        ..Options::default()
    };
    let (runtime, server) = served(options());
    let (url, addr) = (server.url(), server.address());
    let rounds = ["--order", "shuffled", "--repeat", "30", "--retries", "0"];
    let think = ["--think", "50ms", "--target", &*url];
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&dir, &[&rounds[..], &think].concat()));
        runtime.block_on(recorded(&dir, "\"outcome\":\"ok\""));
        runtime.block_on(server.shutdown());
        runtime.block_on(recorded(&dir, "\"outcome\":\"connect\""));
        let again = Options { addr, ..options() };
        let again = runtime.block_on(Server::start(again)).expect("a server");
        running.join().expect("a run");
        runtime.block_on(again.shutdown());
    });
    assert_eq!(loads(&dir)[0].ended, None, "it was not given up");
    let run = contents(&dir);
    assert_eq!(run.manifest.ending, Some(Ending::Complete));
    assert_eq!(arrivals(&run).len(), 30, "every round");
}

#[test]
fn a_trace_is_replayed_in_its_order() {
    let dir = workplace();
    fs::write(
        dir.path().join("arrivals.csv"),
        "who,at_ms\na,1000\nb,1040\nc,1040\nd,1200\n",
    )
    .expect("trace");
    run(&dir, &["--load", "trace=arrivals.csv,speed=2"]);
    let run = contents(&dir);
    let arrivals = arrivals(&run);
    assert_eq!(offsets(&arrivals), [0, 20_000, 20_000, 100_000]);
    let repeats: Vec<u32> = arrivals.iter().map(|record| record.repeat).collect();
    assert_eq!(repeats, [1, 2, 3, 4]);
    assert_eq!(&*arrivals[0].load, "trace=arrivals.csv,speed=2");
}

/// What the ledger says last of each cell's time, in milliseconds.
fn passed(run: &RunContents) -> BTreeMap<String, u64> {
    let times = run.ledger.iter().filter_map(|line| match &line.fact {
        Fact::Time(time) => Some((time.cell.to_string(), time.passed_us.0 / 1_000)),
        _ => None,
    });
    times.collect()
}

#[test]
fn cells_that_end_by_time_are_interleaved_by_slices_of_it() {
    let dir = workplace();
    let order = ["--order", "shuffled", "--duration", "500ms"];
    run(
        &dir,
        &[&["--config", "inline", "--sessions", "2"], &order[..]].concat(),
    );
    let run = contents(&dir);
    assert_eq!(run.manifest.ending, Some(Ending::Complete));
    let expected = ["chat/dev", "chat/inline"].map(|cell| (cell.to_owned(), 500));
    assert_eq!(passed(&run), BTreeMap::from(expected));
    let slices = run.manifest.settings["schedule"].value.clone();
    assert_eq!(slices.as_array().map(Vec::len), Some(20));
    assert!(slices.to_string().contains("chat/inline until 450ms"));
    let mut begun: Vec<&RequestRecord> = run.requests.iter().collect();
    begun.sort_by_key(|record| record.stamps.due_us);
    let changes = begun
        .windows(2)
        .filter(|pair| pair[0].configuration != pair[1].configuration);
    assert!(changes.count() > 5, "the cells take turns");
    for cell in ["dev", "inline"] {
        let of_cell = |record: &&&RequestRecord| &*record.configuration == cell;
        let repeats: BTreeSet<u32> = begun.iter().filter(of_cell).map(|r| r.repeat).collect();
        let last = u32::try_from(repeats.len()).expect("not so many");
        assert!(repeats.into_iter().eq(1..=last), "each number once");
    }
}

#[test]
fn rounds_share_the_time_of_their_cell() {
    let dir = workplace();
    // A conversation pauses for 60 ms, so that time ends the cell long before.
    let flags = [
        "--order",
        "shuffled",
        "--duration",
        "300ms",
        "--repeat",
        "40",
    ];
    run(&dir, &[&flags[..], &["--think", "60ms"]].concat());
    let run = contents(&dir);
    let conversations = arrivals(&run).len();
    assert!((1..=6).contains(&conversations), "{conversations}");
    assert_eq!(run.manifest.ending, Some(Ending::Complete));
}

#[test]
fn a_sweep_that_had_ended_is_not_gone_on_with() {
    let dir = workplace();
    let rule = [
        "--sweep",
        "sessions=1..8,x2",
        "--until",
        "ttft_p50<=0.001ms",
    ];
    run(&dir, &[&rule[..], &["--repeat", "8"]].concat());
    let before = contents(&dir).requests.len();
    assert_eq!(before, 8 * 2, "the first level breaks the rule");
    let manifest = dir.path().join("run/manifest.json");
    let text = fs::read_to_string(&manifest).expect("manifest");
    let mut killed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let fields = killed.as_object_mut().expect("a map");
    for end in ["ending", "ended"] {
        assert!(fields.remove(end).is_some(), "{end}");
    }
    fs::write(&manifest, killed.to_string()).expect("manifest");
    harness(&dir)
        .args(["run", "--resume", "run", "--no-report"])
        .assert()
        .success();
    let run = contents(&dir);
    assert_eq!(run.manifest.ending, Some(Ending::Complete));
    assert_eq!(run.requests.len(), before, "no further level");
    let loads = loads(&dir);
    assert_eq!(loads.len(), 4, "a line a cell, over both sessions");
    assert_eq!((loads[0].attempts, loads[1].attempts), (16, 0));
    assert!(
        loads[1]
            .ended
            .as_deref()
            .is_some_and(|why| why.contains("broke a rule"))
    );
}

#[test]
fn a_sweep_ends_at_the_level_that_breaks_its_rule() {
    let levels = |until: &str| {
        let dir = workplace();
        let sweep = [
            "--sweep",
            "sessions=1..4,x2",
            "--repeat",
            "4",
            "--until",
            until,
        ];
        let told = run(&dir, &sweep);
        let run = contents(&dir);
        let mut loads: Vec<String> = run.requests.iter().map(|r| r.load.to_string()).collect();
        loads.dedup();
        assert_eq!(run.manifest.ending, Some(Ending::Complete));
        (loads.join(" "), told, self::loads(&dir))
    };
    let (all, told, _) = levels("failed<=50%");
    assert_eq!(all, "sessions=1 sessions=2 sessions=4");
    assert!(!told.contains("the sweep ends here"), "{told}");
    let (first, told, loads) = levels("ttft_p50<=0.001ms");
    assert_eq!(first, "sessions=1");
    assert!(
        told.contains("the sweep ends here: `ttft_p50<=0.001ms`, and it was "),
        "{told}"
    );
    let ended: Vec<bool> = loads.iter().map(|load| load.ended.is_some()).collect();
    assert_eq!(ended, [false, true, true]);
}

#[test]
fn a_sweep_ends_at_a_level_at_which_nothing_is_answered() {
    let dir = workplace();
    let turns = "steps:".to_owned() + &"\n  - user: {text: One.}".repeat(6);
    let chat = format!("scenario: chat\nsystem: {{generate: {{tokens: 100, seed: 1}}}}\n{turns}\n");
    fs::write(dir.path().join("chat.yaml"), chat).expect("scenario");
    let (_runtime, server) = served(Options {
        speed: Speed::INSTANT,
        faults: Faults::default().with_written("500:1").expect("a fault"),
        ..Options::default()
    });
    let sweep = ["--sweep", "sessions=1..4,x2", "--until", "failed<=1%"];
    let url = server.url();
    harness(&dir)
        .args(["run", "chat.yaml", "--config", "dev", "--out", "run"])
        .args(["--no-report", "--retries", "0", "--repeat", "4"])
        .args(sweep)
        .args(["--target", &url])
        .assert()
        .code(4);
    let levels: BTreeSet<_> = contents(&dir)
        .requests
        .into_iter()
        .map(|r| r.load)
        .collect();
    assert_eq!(levels.len(), 1, "{levels:?}");
}

#[test]
fn a_run_to_which_nothing_came_says_so() {
    let dir = workplace();
    let ended = harness(&dir)
        .args(["run", "chat.yaml", "--config", "dev", "--out", "run"])
        .args(["--load", "open=1/h", "--duration", "50ms"])
        .assert()
        .code(4);
    let told = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    assert!(told.contains("no conversation was due"), "{told}");
}

#[test]
fn money_is_not_limited_where_nobody_knows_what_is_charged() {
    let dir = workplace();
    let (_runtime, server) = served(Options::default());
    let url = server.url();
    let ended = harness(&dir)
        .args(["run", "chat.yaml", "--config", "dev", "--out", "run"])
        .args(["--max-usd", "1", "--target", &url])
        .assert()
        .code(2);
    let told = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("its cost is limited, and what `http://127.0.0.1"),
        "{told}"
    );
    assert!(!dir.path().join("run").exists());
}

#[test]
fn a_run_ends_before_its_money_is_spent_and_says_so() {
    let dir = workplace();
    // The embedded server takes any model, and this one has a price.
    let model = ["--model", "gpt-6.1-sol", "--repeat", "50"];
    let told = run(&dir, &[&model[..], &["--max-usd", "0.01"]].concat());
    assert!(told.contains("the next request may cost"), "{told}");
    let run = contents(&dir);
    assert!(matches!(run.manifest.ending, Some(Ending::Limited(_))));
    let cost: i128 = run
        .bounds
        .iter()
        .filter_map(|bound| bound.cost)
        .map(|cost| cost.0)
        .sum();
    let limit = 10_000_000_000;
    assert!(cost > limit / 2 && cost <= limit, "{cost} of {limit}");
    assert!(
        run.requests
            .iter()
            .all(|record| record.outcome == Outcome::Ok)
    );
}

#[test]
fn nothing_is_spent_above_the_stated_sum_unless_somebody_says_yes() {
    let dir = workplace();
    let (_runtime, server) = served(Options {
        speed: Speed::INSTANT,
        model: "gpt-6.1-sol".to_owned(),
        ..Options::default()
    });
    let url = server.url();
    let target = [
        "run",
        "chat.yaml",
        "--config",
        "dev",
        "--target",
        &url,
        "--model",
        "gpt-6.1-sol",
    ];
    let refused = harness(&dir)
        .args(target)
        .args(["--out", "run", "--ask-above", "0.000001"])
        .assert()
        .code(2)
        .stdout("");
    let told = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(
        told.contains("the run may cost up to 0.00") && told.contains("--yes"),
        "{told}"
    );
    assert!(!dir.path().join("run").exists());
    harness(&dir)
        .args(target)
        .args([
            "--out",
            "run",
            "--ask-above",
            "0.000001",
            "--yes",
            "--no-report",
        ])
        .assert()
        .success();
    assert_eq!(contents(&dir).requests.len(), 2);
}

#[test]
fn conversations_begin_for_a_duration_and_then_end_in_peace() {
    let dir = workplace();
    run(
        &dir,
        &["--sessions", "2", "--duration", "200ms", "--think", "20ms"],
    );
    let run = contents(&dir);
    assert_eq!(run.manifest.ending, Some(Ending::Complete));
    assert!(!run.manifest.settings.contains_key("repeat"));
    let begun = arrivals(&run).len();
    assert!(begun >= 2, "{begun}");
    assert_eq!(
        run.requests.len(),
        2 * begun,
        "those that began came to their end"
    );
    let first = run
        .requests
        .iter()
        .map(|record| record.stamps.due_us.0)
        .min();
    let first = first.expect("a request");
    let last = arrivals(&run)
        .iter()
        .map(|record| record.stamps.due_us.0)
        .max();
    assert!(last.expect("an arrival") - first < 1_000_000);
}

#[test]
fn ramps_and_steps_of_conversations_at_once_end_when_they_say() {
    for (level, opened) in [("ramp=1..3,over=1s", 2), ("steps=1@500ms,3@500ms", 3)] {
        let dir = workplace();
        run(&dir, &["--load", level]);
        let run = contents(&dir);
        let begun = arrivals(&run).len();
        assert!(begun >= opened, "{level}: {begun}");
        assert!(run.requests.iter().all(|record| &*record.load == level));
    }
}

#[test]
fn a_cell_that_is_skipped_leaves_a_run_that_is_complete_in_part() {
    let dir = workplace();
    fs::write(dir.path().join("builder.sh"), "exit 7\n").expect("builder");
    let ended = harness(&dir)
        .args([
            "run",
            "chat.yaml",
            "--config",
            "external,dev",
            "--out",
            "run",
            "--no-report",
        ])
        .args(["--builder", "/bin/sh builder.sh"])
        .assert()
        .success();
    let told = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    assert!(told.contains("chat/external"), "{told}");
    let run = contents(&dir);
    let Some(Ending::Partial(why)) = &run.manifest.ending else {
        panic!("{:?}", run.manifest.ending);
    };
    assert!(why.contains("exit status: 7"), "{why}");
    assert!(loads(&dir)[0].ended.is_some());
}

#[test]
fn a_dry_run_says_how_many_conversations_an_interval_needs() {
    let dir = workplace();
    let dry = |more: &[&str]| {
        let ended = harness(&dir)
            .args([
                "run",
                "chat.yaml",
                "--config",
                "dev",
                "--dry-run",
                "--width",
                "10",
            ])
            .args(more)
            .assert()
            .success();
        String::from_utf8_lossy(&ended.get_output().stdout).into_owned()
    };
    let said = dry(&[
        "--load",
        "open=2/s,constant",
        "--repeat",
        "11",
        "--think",
        "1s",
    ]);
    // 32.5 % achievable: (1.96 * 0.325 / 0.1)^2.
    assert!(said.contains("at most 41"), "{said}");
    assert!(said.contains("open=2/s,constant,think=1s"), "{said}");
    // Eleven arrivals take five seconds, and one more is thought.
    assert!(said.contains("Time: about 6."), "{said}");
    run(&dir, &["--repeat", "3"]);
    let said = dry(&["--pilot", "run"]);
    assert!(!said.contains("at most 41"), "{said}");
}

#[test]
fn plain_lines_go_to_a_pipe_and_quiet_says_nothing_of_progress() {
    let dir = workplace();
    let told = run(&dir, &["--repeat", "2"]);
    let line = told.lines().next().unwrap_or_default();
    assert!(line.starts_with("chat/dev: 4 requests, "), "{told}");
    for part in [" cached", "first token ", "client late p99 ", "cell 1 of 1"] {
        assert!(line.contains(part), "{part}: {told}");
    }
    assert!(!told.contains('\u{1b}'), "no escape sequences: {told:?}");
    fs::remove_dir_all(dir.path().join("run")).expect("removed");
    let told = run(&dir, &["--repeat", "2", "--quiet"]);
    assert!(!told.contains("requests"), "{told}");
}

#[test]
fn what_does_not_go_together_is_refused_with_the_way_out() {
    let dir = workplace();
    fs::write(dir.path().join("late.csv"), "at_s\n2\n1\n").expect("trace");
    let cases: &[(&[&str], &str)] = &[
        (&["--load", "closed=8"], "is no load model"),
        (&["--load", "open=2"], "no unit of time"),
        (
            &["--load", "open=2/s", "--sessions", "2"],
            "both say how conversations begin",
        ),
        (
            &["--load", "open=2/s", "--load", "open=2/s,poisson"],
            "is named twice",
        ),
        (&["--load", "trace=none.csv"], "cannot read `none.csv`"),
        (&["--load", "trace=late.csv"], "line 3 is earlier"),
        (
            &["--until", "failed<=1%"],
            "ends a sweep, and there is none",
        ),
        (
            &["--sweep", "sessions=1..4,x2", "--order", "shuffled"],
            "from low to high",
        ),
        (&["--think", "2"], "has no unit"),
        (&["--duration", "0s"], "must be above 0"),
        (&["--repeat", "0"], "must be at least 1"),
        (&["--sessions", "0"], "must be above 0"),
        (&["--in-flight", "0"], "--in-flight"),
        (&["--max-usd=-1"], "it is no amount of dollars"),
        (&["--width", "5"], "--dry-run"),
        (&["--dry-run", "--width", "0"], "is no width"),
    ];
    for (arguments, said) in cases {
        let ended = harness(&dir)
            .args(["run", "chat.yaml", "--config", "dev", "--out", "run"])
            .args(*arguments)
            .assert()
            .code(2)
            .stdout("");
        let told = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(said), "{arguments:?}: {told}");
        assert!(!dir.path().join("run").exists());
    }
}

#[test]
fn a_plan_names_its_load_as_flags_do_and_a_flag_goes_before_it() {
    let dir = workplace();
    fs::create_dir(dir.path().join("plans")).expect("folder");
    fs::write(
        dir.path().join("plans/arrivals.jsonl"),
        "{\"timestamp\":0}\n{\"timestamp\":9}\n",
    )
    .expect("trace");
    let plan = "plan: paced\nscenarios: [../chat.yaml]\nconfig: [dev]\n\
                load: [trace=arrivals.jsonl, sessions=2]\nthink: 1ms\n\
                limits: {in_flight: 8, usd: 1.5, longest_wait: 2m}\n";
    fs::write(dir.path().join("plans/paced.yaml"), plan).expect("plan");
    let loads = |more: &[&str]| {
        let _gone = fs::remove_dir_all(dir.path().join("run"));
        harness(&dir)
            .args(["run", "plans/paced.yaml", "--out", "run", "--no-report"])
            .args(more)
            .assert()
            .success();
        let run = contents(&dir);
        let mut loads: Vec<String> = run.requests.iter().map(|r| r.load.to_string()).collect();
        loads.sort();
        loads.dedup();
        (loads.join(" "), run.manifest.settings)
    };
    let (all, settings) = loads(&[]);
    assert_eq!(all, "sessions=2,think=1ms trace=arrivals.jsonl,think=1ms");
    assert_eq!(settings["max-usd"].value, "1.5");
    assert_eq!(settings["longest-wait"].value, "2m");
    let (flag, _) = loads(&["--sessions", "3", "--think", "2ms"]);
    assert_eq!(flag, "sessions=3,think=2ms");
}

#[test]
fn a_flag_goes_before_a_sweep_and_its_rules_of_a_plan() {
    let dir = workplace();
    let plan = "plan: swept\nscenarios: [chat.yaml]\nconfig: [dev]\n\
                sweep: sessions=1..4,x2\nuntil: failed<=1%\n";
    fs::write(dir.path().join("plan.yaml"), plan).expect("plan");
    harness(&dir)
        .args(["run", "--plan", "plan.yaml", "--out", "run", "--no-report"])
        .args(["--load", "open=50/s", "--repeat", "3"])
        .assert()
        .success();
    let requests = contents(&dir).requests;
    assert!(
        requests
            .iter()
            .all(|request| &*request.load == "open=50/s,poisson")
    );
}
