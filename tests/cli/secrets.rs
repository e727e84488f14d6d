//! A key is planted and looked for in everything that the program leaves.

use crate::folder::{Ended, Folder};
use crate::servers::{Embedded, canned, closed_port, http, instant};
use prefixbench::server::Options;

const KEY: &str = "sk-planted-7f3a9c";

/// Runs `small.yaml` with the key in the environment.
fn run(folder: &Folder, target: &str, more: &[&str]) -> Ended {
    let fixed = [
        "run",
        "small.yaml",
        "--config",
        "append-only,dev",
        "--out",
        "run",
    ];
    let mut program = folder.program();
    program.args(fixed).args(["--target", target]).args(more);
    Ended::of(program.env("PREFIXBENCH_API_KEY", KEY).output())
}

/// Neither what was printed nor any file holds the key.
#[track_caller]
fn nowhere(folder: &Folder, ended: &Ended) {
    assert!(!ended.out.contains(KEY), "stdout:\n{}", ended.out);
    assert!(!ended.err.contains(KEY), "stderr:\n{}", ended.err);
    for (path, bytes) in folder.files() {
        let found = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
        assert!(!found, "{}", path.display());
    }
}

#[test]
fn a_key_that_is_accepted_is_stored_nowhere() {
    let folder = Folder::with_small();
    let server = Embedded::start(Options {
        api_key: Some(KEY.to_owned()),
        ..instant()
    });
    let ended = run(&folder, &server.url, &[]);
    ended.ended_with(0, &[]);
    assert!(folder.outcomes("run").iter().all(|outcome| outcome == "ok"));
    nowhere(&folder, &ended);
    let ended = folder.run(&["report", "run"]);
    nowhere(&folder, &ended);
    let ended = folder.run(&["explain", "run"]);
    nowhere(&folder, &ended);
}

/// The value that a request brought as its key.
fn brought(head: &str) -> String {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let key = lines.find(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    key.map_or_else(String::new, |(_, value)| value.to_owned())
}

#[test]
fn a_key_that_the_server_repeats_is_hidden() {
    let refusals: [(&str, fn(&str) -> String); 4] = [
        ("401 Unauthorized", |key| {
            format!(r#"{{"error":{{"message":"Incorrect API key provided: {key}"}}}}"#)
        }),
        ("500 Internal Server Error", |key| {
            format!("panic: bad header {key}")
        }),
        ("307 Temporary Redirect", |key| format!("go away, {key}")),
        ("200 OK", |key| {
            format!("data: {{\"error\":{{\"message\":\"cannot use {key}\",\"code\":500}}}}\n\n")
        }),
    ];
    for (status, said) in refusals {
        let folder = Folder::with_small();
        let url = canned(move |head| {
            let key = brought(head);
            assert!(key.contains(KEY), "the key was sent: {head}");
            let kind = if status.starts_with("200") {
                "text/event-stream"
            } else {
                "application/json"
            };
            http(status, kind, &said(&key))
        });
        let ended = run(&folder, &url, &["--model", "m", "--retries", "0"]);
        ended.ended_with(4, &[]);
        assert!(!folder.records("run").is_empty(), "{status}");
        nowhere(&folder, &ended);
        let ended = folder.run(&["report", "run"]);
        nowhere(&folder, &ended);
    }
}

#[test]
fn a_key_that_comes_back_in_an_answer_is_stored_nowhere() {
    let folder = Folder::with_small();
    let url = canned(|head| {
        let key = brought(head);
        let (start, end) = key.split_at(key.len() / 2);
        let piece = |text: &str| {
            format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
        };
        let last = format!(
            "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":2,\"note\":\"{key}\"}}}}\n\n"
        );
        let stop = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
        let body = [&piece(start), &piece(end), stop, &last, "data: [DONE]\n\n"].concat();
        http("200 OK", "text/event-stream", &body)
    });
    let ended = run(&folder, &url, &["--model", "m"]);
    ended.ended_with(0, &[]);
    let records = folder.lines("run", "requests.jsonl");
    assert_eq!(records[0]["usage"]["raw"]["note"], "[key]");
    nowhere(&folder, &ended);
    let mut probe = folder.program();
    probe.args([
        "probe",
        &url,
        "--model",
        "m",
        "--tokens",
        "100",
        "--out",
        "probe.json",
    ]);
    let probed = Ended::of(probe.env("PREFIXBENCH_API_KEY", KEY).output());
    probed.ended_with(0, &[]);
    nowhere(&folder, &probed);
}

#[test]
fn a_mistake_in_a_targets_file_is_shown_without_its_values() {
    let mistakes = [
        format!("url: http://user:{KEY}@h/v1"),
        format!("url: http://h/v1?key={KEY}"),
        format!("url: http://h/v1\nheaders: {{Authorization: Bearer {KEY}}}"),
        format!("url: http://h/v1\nheaders:\n  x-a: {KEY}\n  bad name: {KEY}"),
        format!("url: http://h/v1\nheaders: {KEY}"),
        format!("url: http://h/v1\nheaders: {{x-a: [{KEY}]}}"),
        format!("url: http://h/v1\nkey_env: {KEY}"),
        format!("url: http://h/v1\nkey: {KEY}"),
        format!("url: http://h/v1\nkey_ttl_s: {KEY}"),
        format!("url: http://h/v1\nkey_command: {KEY}\nkey_env: A"),
        format!("url: http://h/v1\nbody: {KEY}"),
        format!("url: http://h/v1\nlimits: {KEY}"),
        format!("preset: nobody # {KEY}"),
        format!("proxy: http://u:{KEY}@h\nurll: x"),
        format!("headers: {{x: {{env: '{KEY}!'}}}}\nurl: http://h/v1"),
        format!("url: [http://h, {KEY}"),
        format!("{KEY}"),
    ];
    for text in mistakes {
        let folder = Folder::with_small();
        let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
        folder.write("targets.yaml", &format!("targets:\n  mine:\n{indented}"));
        let ended = folder.run(&["list", "targets"]);
        assert!(
            !ended.out.contains(KEY) && !ended.err.contains(KEY),
            "{text}:\n{}",
            ended.err
        );
        assert_eq!(ended.code, Some(2), "{text}:\n{}", ended.err);
    }
}

#[test]
fn a_connection_that_fails_does_not_show_the_key() {
    let folder = Folder::with_small();
    let url = format!("http://{}/v1", closed_port());
    let ended = run(&folder, &url, &["--model", "m", "--retries", "0"]);
    ended.ended_with(4, &["cannot connect"]);
    nowhere(&folder, &ended);
}

#[test]
fn a_url_with_a_key_in_it_is_refused_without_showing_it() {
    let folder = Folder::with_small();
    let urls = [
        format!("http://user:{KEY}@127.0.0.1:1/v1"),
        format!("http://{KEY}@127.0.0.1:1/v1"),
        format!("http://user:{KEY}/more@127.0.0.1:1/v1"),
        format!("user:{KEY}@127.0.0.1:1/v1"),
        format!("http://127.0.0.1:1/v1?key={KEY}"),
        format!("http://127.0.0.1:1?key={KEY}"),
        format!("http://127.0.0.1:1/v1#{KEY}"),
        format!("ftp://user:{KEY}@127.0.0.1:1/v1"),
    ];
    for url in urls {
        for more in [&[][..], &["--model", "m"]] {
            let ended = run(&folder, &url, more);
            ended.ended_with(2, &["target"]);
            nowhere(&folder, &ended);
        }
    }
    assert_eq!(folder.files().len(), 1, "nothing was written");
}

/// A builder that leaves its environment behind, then answers.
const BUILDER: &str = r#"
env > seen.txt
while IFS= read -r line; do
  case "$line" in
    *'"type":"hello"'*) echo '{"type":"ready","protocol":1}' ;;
    *'"type":"request"'*) echo '{"type":"prompt","messages":[{"role":"user","content":"Hello."}]}' ;;
    *) echo '{"type":"ok"}' ;;
  esac
done
"#;

#[test]
fn a_builder_does_not_get_the_keys_of_the_target() {
    let folder = Folder::with_small();
    folder.write("builder.sh", BUILDER);
    let server = Embedded::start(Options {
        api_key: Some(KEY.to_owned()),
        ..instant()
    });
    let url = &server.url;
    folder.write(
        "targets.yaml",
        &format!("targets:\n  mine: {{url: '{url}', key_env: TEAM_KEY, headers: {{x-team: {{env: TEAM_HEADER}}}}}}\n"),
    );
    let mut program = folder.program();
    program.args(["run", "small.yaml", "--config", "external", "--out", "run"]);
    program.args(["--builder", "/bin/sh builder.sh", "--target", "mine"]);
    for name in ["TEAM_KEY", "TEAM_HEADER", "PREFIXBENCH_API_KEY"] {
        program.env(name, KEY);
    }
    let ended = Ended::of(program.env("OWN_SETTING", "kept").output());
    ended.ended_with(0, &[]);
    assert_eq!(folder.outcomes("run"), ["ok", "ok", "ok"]);
    assert!(folder.read(".", "seen.txt").contains("OWN_SETTING=kept"));
    nowhere(&folder, &ended);
}
