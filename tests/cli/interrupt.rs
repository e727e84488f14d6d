//! Ctrl-C.
#![cfg(unix)]

use crate::folder::{Ended, Folder};
use crate::servers::{Embedded, instant};
use prefixbench::server::{Options, Speed};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server that takes a while over each answer.
fn slow() -> Embedded {
    Embedded::start(Options {
        speed: Speed {
            decode_per_s: 20.0,
            ..Speed::INSTANT
        },
        ..instant()
    })
}

fn interrupt(child: &Child) {
    let kill = format!("kill -INT {}", child.id());
    let sent = Command::new("/bin/sh").args(["-c", &kill]).status();
    assert!(sent.expect("a shell").success());
}

/// Waits until `ready`, as long as the program runs.
fn wait_until(child: &mut Child, ready: impl Fn() -> bool) {
    while !ready() {
        let ended = child.try_wait().expect("a process");
        assert!(
            ended.is_none(),
            "ended before it was interrupted: {ended:?}"
        );
        #[expect(clippy::disallowed_methods, reason = "waits for another process")]
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let mut program = folder.program();
    program.args(arguments);
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    program.spawn().expect("the program starts")
}

#[test]
fn what_was_measured_before_is_kept_and_reported() {
    for more in [&[][..], &["--quiet"]] {
        let folder = Folder::with_small();
        let server = slow();
        let run = ["run", "small.yaml", "--target", &server.url, "--out", "run"];
        let mut child = start(&folder, &[&run[..], more].concat());
        let first = folder.path().join("run/requests.jsonl");
        wait_until(&mut child, || {
            std::fs::metadata(&first).is_ok_and(|file| file.len() > 0)
        });
        interrupt(&child);
        let ended = Ended::of(child.wait_with_output());
        ended.ended_with(130, &["interrupted", "records: run"]);
        assert!(ended.out.contains("inline"), "a table:\n{}", ended.out);
        let outcomes = folder.outcomes("run");
        assert_eq!(outcomes[0], "ok");
        let aborted = outcomes.iter().filter(|outcome| *outcome == "aborted");
        assert!(aborted.count() <= 1 && outcomes.len() < 15, "{outcomes:?}");
        assert_eq!(folder.manifest("run")["ending"], "interrupted");
        folder.run(&["report", "run"]).ended_with(0, &[]);
    }
}

#[test]
fn one_before_the_first_request_ends_it_too() {
    let folder = Folder::with_small();
    // Accepts and never answers: the program asks it for its models.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/v1", silent.local_addr().expect("an address"));
    let child = start(
        &folder,
        &["run", "small.yaml", "--target", &url, "--out", "run"],
    );
    let _asked = silent.accept().expect("a connection");
    interrupt(&child);
    let ended = Ended::of(child.wait_with_output());
    ended.ended_with(130, &["interrupted before the first request"]);
    assert_eq!(folder.files().len(), 1, "nothing was written");
}

#[test]
fn a_second_one_leaves_though_a_builder_still_hangs() {
    let folder = Folder::with_small();
    // Says that it was asked, and then reads for as long as there is somebody to write.
    folder.write(
        "hang.sh",
        "read line; echo > asked; exec cat 3>&1 > /dev/null\n",
    );
    let small = folder.read(".", "small.yaml");
    let own = "configurations: {mine: {base: external, external: {command: [/bin/sh, hang.sh], timeout_s: 600}}}\n";
    folder.write("small.yaml", &format!("{small}{own}"));
    let run = ["run", "small.yaml", "--config", "mine", "--out", "run"];
    let mut child = start(&folder, &run);
    let asked = folder.path().join("asked");
    wait_until(&mut child, || asked.exists());
    interrupt(&child);
    let mut told = BufReader::new(child.stderr.take().expect("stderr"));
    let mut line = String::new();
    while !line.contains("once more to leave at once") {
        line.clear();
        let read = told.read_line(&mut line).expect("a line");
        assert_ne!(read, 0, "it ended without saying how to leave");
    }
    interrupt(&child);
    let mut rest = String::new();
    told.read_to_string(&mut rest).expect("text");
    let ended = child.wait().expect("an end");
    assert_eq!(ended.code(), Some(130), "{rest}");
    // What was there is still a run that can be read.
    folder.run(&["report", "run"]).ended_with(0, &[]);
}
