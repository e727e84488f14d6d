//! Caches that are emptied between units, and servers that do not do it.

use crate::folder::{Folder, Served};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use prefixbench::record::Fact;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn each_conversation_begins_on_a_cache_that_was_emptied_before() {
    let server = Served::instant();
    let folder = Folder::new();
    for (isolate, resets) in [("conversation", 4), ("cell", 2), ("run", 1)] {
        let fixed = [
            "run",
            "chat.yaml",
            "--config",
            "dev,inline",
            "--repeat",
            "2",
        ];
        let how = [
            "--isolate-by",
            "reset",
            "--isolate",
            isolate,
            "--out",
            isolate,
        ];
        let ended = folder.run(&[&fixed[..], &how, &["--target", &server.url]].concat());
        ended.ended_with(0, &[]);
        let run = folder.contents(isolate);
        let facts = run.ledger.iter().filter_map(|line| match &line.fact {
            Fact::Reset(fact) => Some(fact),
            _ => None,
        });
        let facts: Vec<_> = facts.collect();
        assert_eq!(facts.len(), resets, "{isolate}");
        assert!(
            facts
                .iter()
                .all(|fact| fact.status == 200 && fact.answer.contains("true"))
        );
        for record in &run.requests {
            assert_eq!(record.salt, None);
            assert_eq!(&*record.nonce, "0 0 0 0 0 0 0 0");
            let bound = run.bounds.iter().find(|bound| bound.key() == record.key());
            let bound = bound.and_then(|bound| bound.bound);
            assert_eq!(
                record.usage.read, bound,
                "{isolate} {}",
                record.conversation
            );
        }
        let epochs: std::collections::BTreeSet<u32> =
            run.requests.iter().map(|record| record.epoch).collect();
        assert_eq!(epochs.len(), resets, "{isolate}");
    }
}

#[test]
fn what_would_empty_it_under_another_conversation_is_refused() {
    let server = Served::instant();
    let folder = Folder::new();
    for (more, expected) in [
        (&["--sessions", "2"][..], "conversations at once"),
        (&["--isolate", "none"], "leaves the cache as it is"),
        (&["--isolate", "cell", "--order", "shuffled"], "interleaved"),
        (
            &["--shard", "1/2", "--nonce-from", "a job"],
            "each other's cache",
        ),
    ] {
        let fixed = [
            "run",
            "chat.yaml",
            "--isolate-by",
            "reset",
            "--target",
            &server.url,
        ];
        let ended = folder.run(&[&fixed[..], more].concat());
        ended.ended_with(2, &[expected]);
    }
}

/// A server that lists a model of `owner` and answers the way to empty its cache so.
fn answering(owner: &'static str, status: StatusCode, said: &'static str) -> String {
    let models = format!(r#"{{"data":[{{"id":"m","owned_by":"{owner}"}}]}}"#);
    let answer = move || async move { (status, said) };
    serving(move |_asked| {
        Router::new()
            .route("/v1/models", get(move || async move { models.clone() }))
            .route("/reset_prefix_cache", post(answer))
            .route("/slots/{slot}", post(answer))
    })
}

/// Serves what `router` makes, until the tests end.
fn serving(router: impl FnOnce(Arc<AtomicU32>) -> Router + Send + 'static) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let router = router(Arc::default());
        runtime.expect("a runtime").block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            axum::serve(listener, router).await.expect("a server");
        });
    });
    format!("http://{address}/v1")
}

#[test]
fn a_server_that_is_away_for_a_moment_is_asked_again() {
    let url = serving(|asked| {
        let resets = Router::new().route(
            "/reset_prefix_cache",
            post(move || async move {
                // The first call is that before anything is measured.
                match asked.fetch_add(1, Ordering::Relaxed) {
                    1 => (StatusCode::BAD_GATEWAY, "Bad Gateway"),
                    _ => (StatusCode::OK, r#"{"success":true}"#),
                }
            }),
        );
        let models = r#"{"data":[{"id":"m","owned_by":"vllm"}]}"#;
        resets
            .route("/v1/models", get(move || async move { models }))
            .route("/v1/chat/completions", post(|| async { STREAM }))
    });
    let folder = Folder::new();
    let fixed = ["run", "chat.yaml", "--config", "inline", "--repeat", "2"];
    let how = ["--isolate-by", "reset", "--out", "run", "--target", &url];
    folder.run(&[fixed, how].concat()).ended_with(0, &[]);
    let run = folder.contents("run");
    let facts = run
        .ledger
        .iter()
        .filter(|line| matches!(line.fact, Fact::Reset(_)));
    assert_eq!(facts.count(), 2, "one for each conversation");
    assert!(run.requests.iter().all(|record| record.epoch > 0));
}

/// An answer of one token.
const STREAM: &str = r#"data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}

data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[],"usage":{"prompt_tokens":40,"completion_tokens":1,"total_tokens":41,"prompt_tokens_details":{"cached_tokens":0}}}

data: [DONE]

"#;

#[test]
fn a_server_that_does_not_empty_its_cache_is_told_with_the_way_out() {
    let cases = [
        ("vllm", StatusCode::NOT_FOUND, "", "VLLM_SERVER_DEV_MODE=1"),
        (
            "vllm",
            StatusCode::OK,
            r#"{"success":false}"#,
            "did not empty its cache",
        ),
        (
            "llamacpp",
            StatusCode::NOT_IMPLEMENTED,
            "",
            "--slot-save-path",
        ),
        ("somebody", StatusCode::NOT_FOUND, "", "--isolate-by nonce"),
    ];
    for (owner, status, said, expected) in cases {
        let url = answering(owner, status, said);
        let folder = Folder::new();
        let fixed = ["run", "chat.yaml", "--isolate-by", "reset", "--out", "run"];
        let ended = folder.run(&[&fixed[..], &["--target", &url]].concat());
        ended.ended_with(2, &[expected]);
        assert!(!folder.path().join("run").exists(), "nothing was begun");
    }
}
