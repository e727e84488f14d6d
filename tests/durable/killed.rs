//! `kill -9`, a full disk, and what is left to do then.

use crate::folder::{Ended, Folder, Served, kill, wait_until};
use prefixbench::record::{Ending, Fact, LedgerLine, RequestRecord, RunContents};
use prefixbench::server::{Options, Speed};
use std::collections::{BTreeMap, BTreeSet};

/// What a record says that does not depend on when it was said.
type Said = (String, Option<u64>, Option<u64>, Option<u64>, Vec<String>);

/// By conversation and turn; every turn exactly once.
#[track_caller]
fn said(run: &RunContents) -> BTreeMap<(String, u32), Said> {
    let mut said = BTreeMap::new();
    for record in &run.requests {
        let bound = run
            .bounds
            .iter()
            .filter(|bound| bound.key() == record.key());
        let bound: Vec<_> = bound.collect();
        assert_eq!(bound.len(), 1, "{}", record.conversation);
        let usage = &record.usage;
        let what = (
            record.outcome.as_str().to_owned(),
            usage.total.map(|tokens| tokens.0),
            usage.read.map(|tokens| tokens.0),
            bound[0].bound.map(|tokens| tokens.0),
            bound[0].flags.iter().map(ToString::to_string).collect(),
        );
        let place = (record.conversation.to_string(), record.turn);
        let twice = said.insert(place, what);
        assert!(
            twice.is_none(),
            "{} turn {}",
            record.conversation,
            record.turn
        );
    }
    said
}

fn last_stamp(record: &RequestRecord) -> u64 {
    record.stamps.done_us.unwrap_or_default().0
}

/// Kills `arguments` each time that so many records more are there, and goes on.
fn killed(folder: &Folder, arguments: &[&str], moments: &[usize]) -> RunContents {
    let mut call = [arguments, &["--out", "run"]].concat();
    for (kills, more) in moments.iter().enumerate() {
        let enough = folder.lines("run/requests.jsonl") + more;
        let mut child = folder.start(&call);
        wait_until(&mut child, || {
            let manifest = folder.path().join("run/manifest.json").exists();
            let resumed = || folder.contents("run").manifest.resumed.len() == kills;
            manifest && folder.lines("run/requests.jsonl") >= enough && (kills == 0 || resumed())
        });
        kill(&mut child);
        call = vec!["run", "--resume", "run", "--no-report", "--quiet"];
    }
    folder.run(&call).ended_with(0, &["records: run"]);
    folder.contents("run")
}

#[test]
fn a_run_that_is_killed_at_any_moment_ends_as_if_it_had_not_been() {
    let server = Served::slow();
    let ways: [&[&str]; 4] = [
        &["--target", &server.url, "--isolate-by", "nonce"],
        &["--target", &server.url, "--sessions", "2"],
        &["--target", &server.url, "--isolate", "cell"],
        &[],
    ];
    for way in ways {
        let folder = Folder::new();
        let fixed = [
            "run",
            "chat.yaml",
            "--config",
            "dev,append-only",
            "--repeat",
            "3",
        ];
        let arguments = [&fixed[..], &["--no-report", "--quiet"], way].concat();
        let whole = [&arguments[..], &["--out", "whole"]].concat();
        folder.run(&whole).ended_with(0, &[]);
        let moments: &[usize] = if way.is_empty() {
            &[0, 2]
        } else {
            &[0, 1, 5, 2]
        };
        let run = killed(&folder, &arguments, moments);
        assert_eq!(said(&run), said(&folder.contents("whole")), "{way:?}");
        assert_eq!(run.manifest.ending, Some(Ending::Complete));
        assert_eq!(run.manifest.resumed.len(), moments.len());
        // No two sessions send under one nonce or salt, and the clock only goes on.
        let kept: BTreeSet<_> = run.requests.iter().map(|r| (&r.salt, &r.nonce)).collect();
        let mut aside = run
            .aside
            .iter()
            .filter(|r| r.flags.iter().any(|f| &**f == "superseded"));
        let isolated_alone = !way.contains(&"cell");
        if isolated_alone && !way.is_empty() {
            assert!(
                aside.all(|r| !kept.contains(&(&r.salt, &r.nonce))),
                "{way:?}"
            );
        }
        for resumption in &run.manifest.resumed {
            let before = run
                .requests
                .iter()
                .filter(|r| r.stamps.due_us < resumption.from_us);
            assert!(
                before
                    .map(last_stamp)
                    .all(|done| done < resumption.from_us.0),
                "{way:?}"
            );
        }
    }
}

#[test]
fn plan_files_variables_and_load_levels_are_gone_on_with() {
    let server = Served::slow();
    let folder = Folder::new();
    folder.write(
        "plan.yaml",
        "plan: levels\nscenarios: [chat.yaml]\nconfig: [dev]\nsessions: [1, 2]\norder: shuffled\n",
    );
    let arguments = [
        "run",
        "plan.yaml",
        "--target",
        &server.url,
        "--out",
        "run",
        "-q",
    ];
    let mut begun = folder.program(&arguments);
    let begun = begun.env("PREFIXBENCH_REPEAT", "4");
    let mut child = begun
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    wait_until(&mut child, || folder.lines("run/requests.jsonl") >= 4);
    kill(&mut child);
    // From elsewhere, and without the variable.
    let elsewhere = Folder::new();
    let run = folder.path().join("run");
    let run = run.to_str().expect("text");
    let ended = elsewhere.run(&["run", "--resume", run]);
    ended.ended_with(0, &[]);
    assert!(ended.out.contains("sessions=2"), "{}", ended.out);
    let contents = folder.contents("run");
    assert_eq!(contents.requests.len(), 2 * 4 * 3);
    assert_eq!(said(&contents).len(), 2 * 4 * 3);
    let ended = folder.run(&["run", "--resume", "run"]);
    ended.ended_with(0, &["the run in `run` is finished"]);
}

/// How much of its time each line of the ledger says that the cell has had.
fn times(run: &RunContents, cell: &str) -> Vec<u64> {
    let times = run.ledger.iter().filter_map(|line| match &line.fact {
        Fact::Time(time) if &*time.cell == cell => Some(time.passed_us.0),
        _ => None,
    });
    times.collect()
}

fn conversations(run: &RunContents, cell: &str) -> BTreeMap<String, u64> {
    let of_cell = run.requests.iter().filter(|record| {
        let name = record.conversation.rsplit_once('/');
        record.turn == 1 && name.is_some_and(|(name, _)| name == cell)
    });
    let due = of_cell.map(|record| (record.conversation.to_string(), record.stamps.due_us.0));
    due.collect()
}

#[test]
fn what_time_broke_off_is_run_again_however_often_the_run_is_killed() {
    let server = Served::slow();
    let folder = Folder::new();
    let fixed = ["run", "chat.yaml", "--config", "dev", "--out", "run", "-q"];
    let level = ["--sessions", "3", "--duration", "1s", "--think", "800ms"];
    for isolate in ["conversation", "cell"] {
        let how = ["--target", &server.url, "--isolate", isolate];
        let mut child = folder.start(&[&fixed[..], &level, &how].concat());
        let began = tokio::time::Instant::now();
        // The level's time is over, and no conversation is at its end.
        wait_until(&mut child, || {
            folder.lines("run/requests.jsonl") >= 3 && began.elapsed().as_millis() > 1_200
        });
        kill(&mut child);
        let begun = conversations(&folder.contents("run"), "chat/dev");
        let mut child = folder.start(&["run", "--resume", "run", "-q"]);
        wait_until(&mut child, || {
            folder.read("run/manifest.json").contains("from_us")
        });
        kill(&mut child);
        folder
            .run(&["run", "--resume", "run", "-q"])
            .ended_with(0, &[]);
        let run = folder.contents("run");
        let again = conversations(&run, "chat/dev");
        assert!(
            begun.keys().all(|name| again.contains_key(name)),
            "{again:?}"
        );
        assert_eq!(run.requests.len(), 3 * again.len(), "each to its end");
        std::fs::remove_dir_all(folder.path().join("run")).expect("a folder");
    }
}

#[test]
fn a_level_that_ends_by_time_goes_on_with_what_is_left_of_it() {
    const LASTS: u64 = 1_000_000;
    let server = Served::slow();
    for level in [
        &["--sessions", "2", "--duration", "1s"][..],
        &["--load", "ramp=1..3,over=1s"],
    ] {
        let folder = Folder::new();
        let fixed = [
            "run",
            "chat.yaml",
            "--config",
            "dev,inline",
            "--out",
            "run",
            "--max-tokens",
            "4",
            "-q",
        ];
        let mut child = folder.start(&[&fixed[..], level, &["--target", &server.url]].concat());
        let begun = |cell: &str| folder.read("run/requests.jsonl").matches(cell).count();
        wait_until(&mut child, || {
            folder.path().join("run/requests.jsonl").exists() && begun("\"chat/inline/2\"") > 1
        });
        kill(&mut child);
        let before = folder.contents("run");
        folder
            .run(&["run", "--resume", "run", "-q"])
            .ended_with(0, &[]);
        let run = folder.contents("run");
        assert_eq!(said(&run).len(), run.requests.len());
        assert_eq!(
            conversations(&run, "chat/dev"),
            conversations(&before, "chat/dev"),
            "it had ended"
        );
        assert_eq!(times(&run, "chat/dev"), [0, LASTS], "{level:?}");
        // It stood at nothing, was killed, and goes on from where its records end.
        let [0, left, LASTS] = times(&run, "chat/inline")[..] else {
            panic!("{:?}", times(&run, "chat/inline"));
        };
        assert!(0 < left && left < LASTS, "{left}");
        let from = run.manifest.resumed[0].from_us.0;
        let (mut again, mut after) = (0, 0);
        for (name, due) in conversations(&run, "chat/inline") {
            let was_begun = before
                .requests
                .iter()
                .any(|record| *record.conversation == *name);
            again += usize::from(due >= from && was_begun);
            after += usize::from(due >= from && !was_begun);
        }
        assert!(again > 0 && after > 0, "{again} broken off, {after} new");
        let loads = folder.lines("run/load.jsonl");
        assert_eq!(loads, 2, "a line a cell, over both sessions");
        let counters = folder.read("run/counters.json");
        assert!(counters.contains("\"agree\": true"), "{counters}");
    }
}

/// At `address`, where a server was before, or is to be.
fn at(address: std::net::SocketAddr) -> Served {
    Served::start(Options {
        addr: address,
        speed: Speed {
            decode_per_s: 100.0,
            ..Speed::INSTANT
        },
        ..Options::default()
    })
}

fn free_address() -> std::net::SocketAddr {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    free.local_addr().expect("an address")
}

fn superseded(line: &LedgerLine, name: &str) -> bool {
    match &line.fact {
        Fact::Superseded(fact) => fact.conversations.iter().any(|other| &**other == name),
        _ => false,
    }
}

#[test]
fn a_run_whose_server_went_away_goes_on_when_it_is_back() {
    let folder = Folder::new();
    let address = free_address();
    let url = format!("http://{address}/v1");
    let server = at(address);
    let fixed = [
        "run",
        "chat.yaml",
        "--config",
        "dev,inline",
        "--repeat",
        "3",
        "--out",
        "run",
    ];
    let mut child = folder.start(&[&fixed[..], &["--target", &url, "--retries", "0"]].concat());
    wait_until(&mut child, || folder.lines("run/requests.jsonl") >= 5);
    drop(server);
    // It would wait for the server to come back; somebody ends it before.
    assert_eq!(interrupted(child), Some(130));
    let before = folder.contents("run");
    assert_ne!(before.manifest.ending, Some(Ending::Complete));
    let records = folder.read("run/requests.jsonl");
    folder
        .run(&["run", "--resume", "run"])
        .ended_with(4, &["cannot connect"]);
    assert_eq!(
        folder.read("run/requests.jsonl"),
        records,
        "nothing is touched before"
    );
    let _back = at(address);
    folder.run(&["run", "--resume", "run"]).ended_with(0, &[]);
    let run = folder.contents("run");
    assert_eq!(said(&run).len(), 2 * 3 * 3);
    // A conversation that came to its end in spite of a failed turn stays; what was cut
    // short was run again, and is answered this time.
    let again: BTreeSet<_> = run
        .aside
        .iter()
        .map(|record| &record.conversation)
        .collect();
    let again = again.into_iter().filter(|name| {
        let mut lines = run.ledger.iter();
        lines.any(|line| superseded(line, name))
    });
    let again: BTreeSet<_> = again.collect();
    for record in &run.requests {
        if again.contains(&record.conversation) || record.repeat == 3 {
            assert_eq!(record.outcome.as_str(), "ok", "{}", record.conversation);
        }
    }
}

/// Interrupts a program as a person does, and gives its exit code.
fn interrupted(mut child: std::process::Child) -> Option<i32> {
    let kill = format!("kill -INT {}", child.id());
    let sent = std::process::Command::new("/bin/sh")
        .args(["-c", &kill])
        .status();
    assert!(sent.expect("a shell").success());
    child.wait().expect("an end").code()
}

#[test]
fn an_interrupted_run_goes_on() {
    let server = Served::slow();
    let folder = Folder::new();
    let fixed = [
        "run",
        "chat.yaml",
        "--config",
        "dev",
        "--repeat",
        "3",
        "--out",
        "run",
    ];
    let mut child = folder.start(&[&fixed[..], &["--target", &server.url]].concat());
    wait_until(&mut child, || folder.lines("run/requests.jsonl") >= 4);
    assert_eq!(interrupted(child), Some(130));
    folder
        .run(&["run", "--resume", "run", "-q"])
        .ended_with(0, &[]);
    assert_eq!(said(&folder.contents("run")).len(), 3 * 3);
}

#[test]
fn a_full_disk_stops_it_cleanly_and_it_goes_on_when_there_is_space() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_prefixbench");
    let run = "run chat.yaml --config dev,inline --repeat 8 --out run";
    let script = format!("ulimit -f 24; exec '{program}' {run}");
    let mut shell = std::process::Command::new("/bin/sh");
    shell
        .current_dir(folder.path())
        .env_clear()
        .env("NO_COLOR", "1");
    let ended = Ended::of(shell.args(["-c", &script]).output());
    ended.ended_with(5, &["no space left", "--resume"]);
    let lines = folder.read("run/requests.jsonl");
    assert!(lines.is_empty() || lines.ends_with('\n'), "no line is torn");
    assert!(folder.lines("run/requests.jsonl") < 8 * 2 * 3);
    folder.run(&["report", "run"]).ended_with(0, &[]);
    folder.run(&["run", "--resume", "run"]).ended_with(0, &[]);
    assert_eq!(said(&folder.contents("run")).len(), 8 * 2 * 3);
}

#[test]
fn two_runs_never_write_one_folder() {
    let server = Served::slow();
    let folder = Folder::new();
    let arguments = ["run", "chat.yaml", "--target", &server.url, "--out", "run"];
    let mut child = folder.start(&arguments);
    wait_until(&mut child, || folder.lines("run/requests.jsonl") >= 1);
    folder
        .run(&arguments)
        .ended_with(2, &["folder `run` is not empty", "--resume"]);
    let ended = folder.run(&["run", "--resume", "run"]);
    ended.ended_with(2, &["another run is writing to"]);
    kill(&mut child);
    // What the killed one left keeps nobody out.
    folder.run(&["run", "--resume", "run"]).ended_with(0, &[]);
}

#[test]
fn a_run_goes_on_by_paths_that_name_no_folder_of_the_machine() {
    let folder = Folder::new();
    let scenario = folder.path().join("chat.yaml");
    let scenario = scenario.to_str().expect("a path that is text");
    let call = ["run", scenario, "--config", "dev", "--repeat", "40"];
    let run = killed(&folder, &call, &[4]);
    assert_eq!(said(&run).len(), 120);
    let manifest = folder.read("run/manifest.json");
    let place = folder.path().canonicalize().expect("the folder is there");
    for place in [folder.path(), &place] {
        let place = place.to_str().expect("a path that is text");
        assert!(!manifest.contains(place), "{manifest}");
    }
}
