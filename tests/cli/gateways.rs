//! Gateways that do something of their own, and servers that want to be left alone.

use crate::folder::{Ended, Folder};
use crate::servers::canned;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A stream with these counts, behind further lines of its head.
fn stream(head: &str, usage: &Value) -> String {
    let piece = json!({"choices": [{"index": 0, "delta": {"content": "Yes."}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let counts = json!({"choices": [], "usage": usage});
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n{head}\r\n\
         data: {piece}\n\ndata: {end}\n\ndata: {counts}\n\ndata: [DONE]\n\n"
    )
}

fn counts(prompt: u64, read: u64) -> Value {
    json!({"prompt_tokens": prompt, "completion_tokens": 3, "total_tokens": prompt + 3,
        "prompt_tokens_details": {"cached_tokens": read}})
}

/// Runs three turns against a server that answers its n-th request with `answer(n)`.
fn run(folder: &Folder, answer: impl Fn(usize) -> String + Send + 'static, more: &[&str]) -> Ended {
    let asked = AtomicUsize::new(0);
    let url = canned(move |head| {
        if head.starts_with("GET") {
            return "HTTP/1.1 404 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned();
        }
        answer(asked.fetch_add(1, Ordering::SeqCst))
    });
    let fixed = [
        "run",
        "small.yaml",
        "--config",
        "append-only",
        "--out",
        "run",
    ];
    folder.run(&[&fixed[..], &["--target", &url, "--model", "m"], more].concat())
}

/// Without the ends of lines.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_a_gateway_did_of_its_own_is_flagged_set_apart_and_told() {
    let cases = [
        (
            "x-litellm-cache-key: k1\r\nx-litellm-attempted-retries: 0\r\n",
            json!({"x-litellm-cache-key": "k1"}),
            json!(["answer_cache"]),
            "from its own cache of whole answers",
        ),
        (
            "x-litellm-attempted-retries: 2\r\nx-litellm-attempted-fallbacks: 1\r\n",
            json!({"x-litellm-attempted-fallbacks": "1", "x-litellm-attempted-retries": "2"}),
            json!(["gateway_retried", "gateway_fallback"]),
            "had sent again before it answered",
        ),
    ];
    for (head, kept, flags, note) in cases {
        let folder = Folder::with_small();
        let answer = move |n: usize| match n {
            1 => stream(head, &counts(1_000, 990)),
            n => stream("", &counts(900 + n as u64, 50 * n as u64)),
        };
        run(&folder, answer, &[]).ended_with(0, &[]);
        let records = folder.records("run");
        assert_eq!(records[1]["flags"], flags);
        assert_eq!(records[1]["headers"], kept);
        assert_eq!(records[1]["usage"]["raw"], counts(1_000, 990), "kept raw");
        assert_eq!(records[0]["flags"], json!([]));
        assert_eq!(records[0].get("headers"), None);
        let summary: Value =
            serde_json::from_str(&folder.read("run", "summary.json")).expect("JSON");
        let figures = &summary["totals"][0]["figures"];
        assert_eq!(figures["total"], 900 + 902);
        assert_eq!(
            (&figures["set_apart"], &figures["counted"]),
            (&json!(1), &json!(2))
        );
        assert_eq!(figures["gateway"]["requests"], 1);
        let report = folder.read("run", "report.md");
        assert!(report.contains(note), "{report}");
    }
}

#[test]
fn an_answer_of_no_tokens_out_of_a_cache_of_answers_is_no_count() {
    let folder = Folder::with_small();
    let zero = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": 0}});
    let answer = move |n: usize| match n {
        0 => stream("", &counts(900, 0)),
        _ => stream("X-OpenRouter-Cache-Status: HIT\r\n", &zero),
    };
    run(&folder, answer, &[]).ended_with(0, &[]);
    let records = folder.records("run");
    assert_eq!(records[1]["usage"]["origin"], "contradictory");
    assert_eq!(records[1]["flags"], json!(["answer_cache"]));
}

#[test]
fn an_answer_without_a_token_is_contradictory_also_where_no_header_says_why() {
    let folder = Folder::with_small();
    let ended = run(&folder, |_| stream("", &counts(0, 0)), &[]);
    ended.ended_with(0, &[]);
    let said = "the server reported no usable count of cached tokens in 3 answers";
    assert!(flat(&ended.out).contains(said), "{}", ended.out);
    for record in folder.records("run") {
        assert_eq!(record["usage"]["origin"], "contradictory");
    }
}

#[test]
fn counts_that_the_request_cannot_have_are_contradictory() {
    let folder = Folder::with_small();
    let answer = |n: usize| match n {
        0 => stream("", &counts(100_000_000, 10_000_000)),
        1 => stream(
            "",
            &json!({"prompt_tokens": 900, "completion_tokens": 900_000_000,
                "prompt_tokens_details": {"cached_tokens": 0}}),
        ),
        _ => stream(
            "",
            &json!({"prompt_tokens": "900", "completion_tokens": "3"}),
        ),
    };
    run(&folder, answer, &[]).ended_with(0, &[]);
    for record in folder.records("run") {
        assert_eq!(record["usage"]["origin"], "contradictory", "{record}");
        assert!(record["usage"]["raw"].is_object(), "{record}");
    }
}

#[test]
fn a_connection_that_breaks_behind_its_headers_is_tried_again() {
    let folder = Folder::with_small();
    let answer = |n: usize| match n {
        0 => "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 500\r\n\r\n"
            .to_owned(),
        _ => stream("", &counts(900, 0)),
    };
    run(&folder, answer, &[]).ended_with(0, &[]);
    assert_eq!(folder.outcomes("run"), ["reset", "ok", "ok", "ok"]);
    let records = folder.records("run");
    assert_eq!(records[0]["flags"], json!(["tried_again"]));
    assert_eq!(records[1]["attempt"], 2);
}

#[test]
fn a_wait_that_is_too_long_is_told_and_not_waited_for() {
    let folder = Folder::with_small();
    let answer = |n: usize| match n {
        0 => {
            "HTTP/1.1 429 No\r\nretry-after: 3600\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                .to_owned()
        }
        _ => stream("", &counts(900, 0)),
    };
    let ended = run(&folder, answer, &["--longest-wait", "100ms"]);
    let told = [
        "asks to be left alone for 1h",
        "longer than the longest wait (100ms)",
        "nothing is sent to it for 100ms",
    ];
    ended.ended_with(0, &told);
    let records = folder.records("run");
    assert_eq!(records[0]["flags"], json!(["long_wait"]));
    assert_eq!(records[1]["attempt"], 1);
    let report = folder.read("run", "report.md");
    assert!(
        report.contains("not sent again, since the server asked"),
        "{report}"
    );
}
