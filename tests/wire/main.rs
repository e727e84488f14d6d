//! The transport against a server that does everything wrong, and right.
//!
//! No test waits for more than some tens of milliseconds, and none asserts how
//! long something took: only the order of stamps, and what was read.

#![expect(clippy::expect_used, reason = "a test that cannot be set up must fail")]

mod connections;
mod server;
mod tls;

use bytes::Bytes;
use prefixbench::provider;
use prefixbench::record::Outcome;
use prefixbench::transport::{Client, Exchange, Header, Outgoing, ProxyUrl, Settings};
use prefixbench::units::Micros;
use server::{Act, Server};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const KEY: &str = "sk-planted-0123456789";

fn settings() -> Settings {
    Settings {
        connect: Duration::from_secs(5),
        headers: Duration::from_secs(5),
        first_byte: Duration::from_secs(5),
        idle: Duration::from_secs(5),
        total: Duration::from_secs(20),
        ..Settings::default()
    }
}

fn outgoing(server: &Server) -> Outgoing {
    Outgoing {
        url: server.url("/v1/chat/completions"),
        headers: vec![Header::secret("authorization", format!("Bearer {KEY}"))],
        body: Bytes::from_static(b"{\"model\":\"m\",\"stream\":true}"),
        dialect: provider::find("openai-chat").expect("dialect"),
        stream: true,
        due: Micros(7),
    }
}

async fn sent(client: &Client, request: Outgoing) -> Exchange {
    client.send(request, &CancellationToken::new()).await
}

async fn exchange_with(script: Vec<Act>, settings: &Settings) -> Exchange {
    let server = Server::start(vec![script]).await;
    let client = Client::new(settings, Instant::now()).expect("client");
    sent(&client, outgoing(&server)).await
}

async fn exchange(script: Vec<Act>) -> Exchange {
    exchange_with(script, &settings()).await
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut out = format!("{:x}\r\n", bytes.len()).into_bytes();
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
    out
}

fn head() -> Act {
    Act::Send(HEAD.as_bytes().to_vec())
}

fn send(text: &str) -> Act {
    Act::Send(chunk(text.as_bytes()))
}

fn end() -> Act {
    Act::Send(b"0\r\n\r\n".to_vec())
}

fn event(json: &str) -> String {
    format!("data: {json}\n\n")
}

fn delta(json: &str) -> String {
    event(&format!(
        r#"{{"choices":[{{"index":0,"delta":{json},"finish_reason":null}}]}}"#
    ))
}

fn role() -> String {
    delta(r#"{"role":"assistant","content":""}"#)
}

fn finish() -> String {
    event(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#)
}

const USAGE: &str = r#"{"prompt_tokens":100,"completion_tokens":4,"total_tokens":104,"prompt_tokens_details":{"cached_tokens":64}}"#;

fn usage() -> String {
    event(&format!(r#"{{"choices":[],"usage":{USAGE}}}"#))
}

fn done() -> String {
    event("[DONE]")
}

/// The stream of a well-behaved server.
fn stream() -> Vec<String> {
    let word = delta(r#"{"content":" test"}"#);
    vec![
        role(),
        word.clone(),
        word.clone(),
        word.clone(),
        word,
        finish(),
        usage(),
        done(),
    ]
}

fn one_write(events: &[String]) -> Vec<Act> {
    vec![head(), send(&events.concat()), end()]
}

fn refused(status: &str, kind: &str, body: &str) -> Vec<Act> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nRetry-After: 3\r\n\r\n"
    );
    vec![Act::Send(format!("{head}{body}").into_bytes())]
}

fn counts(exchange: &Exchange) -> Option<(u64, Option<u64>)> {
    let usage = exchange.answer.usage.as_ref()?;
    Some((usage.total?.0, usage.read.map(|read| read.0)))
}

fn text(exchange: &Exchange) -> &str {
    exchange.answer.text.as_deref().unwrap_or_default()
}

fn assert_whole(case: &str, exchange: &Exchange) {
    assert_eq!(
        exchange.outcome,
        Outcome::Ok,
        "{case}: {:?}",
        exchange.error
    );
    assert_eq!(exchange.error, None, "{case}");
    assert_eq!(text(exchange), " test test test test", "{case}");
    assert_eq!(counts(exchange), Some((100, Some(64))), "{case}");
}

#[tokio::test]
async fn a_stream_reads_the_same_in_every_legal_form() {
    let plain = stream();
    let all = plain.concat();
    let commented = all.replace("data: ", ": ping\n\ndata: ");
    let on_finish = {
        let mut events = plain.clone();
        events.remove(6);
        events[5] = event(&format!(
            r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}],"usage":{USAGE}}}"#
        ));
        events
    };
    let litellm = event(&format!(
        r#"{{"choices":[{{"index":0,"delta":{{}}}}],"usage":{USAGE}}}"#
    ));
    let cases: Vec<(&str, Vec<Act>)> = vec![
        ("all in one write", one_write(&plain)),
        ("a write an event", {
            let mut acts = vec![head()];
            acts.extend(plain.iter().map(|event| send(event)));
            acts.push(end());
            acts
        }),
        ("one-byte writes", {
            let mut acts = vec![head(), Act::Drip(chunk(all.as_bytes()))];
            acts.push(end());
            acts
        }),
        ("one-byte chunks", {
            let mut acts = vec![head()];
            acts.extend(all.bytes().map(|byte| Act::Send(chunk(&[byte]))));
            acts.push(end());
            acts
        }),
        (
            "CRLF",
            vec![head(), send(&all.replace('\n', "\r\n")), end()],
        ),
        (
            "bare CR",
            vec![head(), send(&all.replace('\n', "\r")), end()],
        ),
        ("comments", vec![head(), send(&commented), end()]),
        (
            "no blank",
            vec![head(), send(&all.replace("data: ", "data:")), end()],
        ),
        (
            "byte-order mark",
            vec![head(), send(&format!("\u{feff}{all}")), end()],
        ),
        ("no [DONE]", one_write(&plain[..7])),
        ("usage on the finish chunk", one_write(&on_finish)),
        (
            "usage beside a choice",
            one_write(&{
                let mut events = plain.clone();
                events[6] = litellm;
                events
            }),
        ),
        (
            "no content length, closed",
            vec![
                Act::Send(
                    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{all}")
                        .into_bytes(),
                ),
                Act::Close,
            ],
        ),
    ];
    for (case, script) in cases {
        assert_whole(case, &exchange(script).await);
    }
}

#[tokio::test]
async fn characters_split_across_writes_come_out_whole() {
    let all = stream().concat().replace(" test", " tést😀");
    let bytes = all.as_bytes();
    let mut acts = vec![head()];
    for piece in bytes.chunks(3) {
        acts.push(Act::Send(chunk(piece)));
    }
    acts.push(end());
    let exchange = exchange(acts).await;
    assert_eq!(exchange.outcome, Outcome::Ok);
    assert_eq!(text(&exchange), " tést😀".repeat(4));
}

#[tokio::test]
async fn what_the_server_did_not_count_is_absent() {
    let mut events = stream();
    events.remove(6);
    let without = exchange(one_write(&events)).await;
    assert_eq!((without.outcome, without.answer.usage), (Outcome::Ok, None));

    let mut events = stream();
    events[6] = event(r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":4}}"#);
    let details = exchange(one_write(&events)).await;
    assert_eq!(counts(&details), Some((100, None)));
}

#[tokio::test]
async fn an_impossible_count_is_kept_and_flagged() {
    let mut events = stream();
    events[6] = usage().replace("\"cached_tokens\":64", "\"cached_tokens\":110");
    let exchange = exchange(one_write(&events)).await;
    let usage = exchange.answer.usage.as_ref().expect("usage");
    assert_eq!(usage.origin, prefixbench::chat::UsageOrigin::Contradictory);
    assert_eq!(counts(&exchange), Some((100, Some(110))));
}

#[tokio::test]
async fn stamps_come_in_the_order_in_which_things_happen() {
    let script = vec![
        head(),
        Act::Wait(5),
        send(&format!(": ping\n\n{}", role())),
        Act::Wait(5),
        send(&delta(r#"{"reasoning_content":"hm"}"#)),
        Act::Wait(5),
        send(&delta(r#"{"content":"yes"}"#)),
        Act::Wait(5),
        send(&(finish() + &usage() + &done())),
        end(),
    ];
    let exchange = exchange(script).await;
    assert_eq!(exchange.outcome, Outcome::Ok);
    let stamps = &exchange.stamps;
    let order = [
        stamps.sent_us,
        stamps.headers_us,
        stamps.first_event_us,
        stamps.first_text_us,
        stamps.first_answer_us,
        stamps.done_us,
    ];
    let order: Vec<u64> = order.into_iter().map(|at| at.expect("stamp").0).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(stamps.due_us, Micros(7));
    assert_eq!(exchange.answer.reasoning, "hm");
    assert_eq!(exchange.events, 6);
}

/// Of things that a server does one after the other, each is stamped when it came and not
/// with what came before or behind it.
#[tokio::test]
async fn what_a_server_waits_between_two_things_lies_between_their_stamps() {
    let mut seen = Vec::new();
    for wait in WAITS {
        let script = vec![
            Act::Wait(wait),
            head(),
            Act::Wait(wait),
            send(&role()),
            Act::Wait(wait),
            send(&delta(r#"{"content":"yes"}"#)),
            Act::Wait(wait),
            send(&(finish() + &usage() + &done())),
            end(),
        ];
        let stamps = exchange(script).await.stamps;
        let order = [
            stamps.sent_us,
            stamps.headers_us,
            stamps.first_event_us,
            stamps.first_text_us,
            stamps.done_us,
        ];
        let order = order.map(|at| at.expect("stamp").0);
        seen = order.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // A client that is itself held up sees two things at once.
        if seen.iter().all(|gap| *gap >= wait * 500) {
            return;
        }
    }
    panic!("{seen:?}");
}

#[tokio::test]
async fn an_answer_in_one_piece_has_no_stamps_of_a_stream() {
    let body = format!(
        r#"{{"choices":[{{"index":0,"message":{{"content":" test test test test"}},"finish_reason":"stop"}}],"usage":{USAGE}}}"#
    );
    let exchange = exchange(refused("200 OK", "application/json", &body)).await;
    assert_whole("whole", &exchange);
    let stamps = &exchange.stamps;
    assert_eq!((stamps.first_event_us, stamps.first_text_us), (None, None));
    assert!(stamps.sent_us <= stamps.headers_us && stamps.headers_us <= stamps.done_us);
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn failures_have_their_own_class_and_one_clear_message() {
    let overflow = r#"{"error":{"code":400,"message":"request (9859 tokens) exceeds the available context size (8192 tokens)","type":"exceed_context_size_error","n_prompt_tokens":9859}}"#;
    let litellm = r#"{"error":{"message":"No connected db.","type":"no_db_connection","param":null,"code":"400"}}"#;
    let html = "<html><head><title>502 Bad Gateway</title></head><body></body></html>";
    let (json, page, plain) = ("application/json", "text/html", "text/plain");
    let cases = [
        (
            "401 Unauthorized",
            json,
            r#"{"error":"Unauthorized"}"#,
            Outcome::Auth,
            "HTTP 401: Unauthorized",
        ),
        (
            "403 Forbidden",
            json,
            r#"{"message":"no"}"#,
            Outcome::Auth,
            "HTTP 403: no",
        ),
        (
            "404 Not Found",
            json,
            r#"{"detail":"Not Found"}"#,
            Outcome::NotFound,
            "HTTP 404: Not Found",
        ),
        (
            "429 Too Many Requests",
            json,
            r#"{"error":{"message":"rate limited"}}"#,
            Outcome::Http429,
            "HTTP 429: rate limited",
        ),
        (
            "500 Internal Server Error",
            plain,
            "Internal Server Error",
            Outcome::Http5xx,
            "HTTP 500: Internal Server Error",
        ),
        (
            "502 Bad Gateway",
            page,
            html,
            Outcome::Http5xx,
            "HTTP 502: an HTML page, `502 Bad Gateway`",
        ),
        (
            "400 Bad Request",
            json,
            overflow,
            Outcome::Overflow,
            "HTTP 400: request (9859 tokens) exceeds the available context size (8192 tokens)",
        ),
        (
            "400 Bad Request",
            json,
            litellm,
            Outcome::Auth,
            "HTTP 400: No connected db.",
        ),
        (
            "422 Unprocessable",
            json,
            r#"{"detail":[{"msg":"Field required"}]}"#,
            Outcome::Http4xx,
            "HTTP 422: Field required",
        ),
        (
            "200 OK",
            json,
            r#"{"error":{"message":"no credit","code":402}}"#,
            Outcome::Http4xx,
            "no credit",
        ),
        (
            "200 OK",
            page,
            html,
            Outcome::Malformed,
            "the body is not JSON: an HTML page, `502 Bad Gateway`",
        ),
        (
            "200 OK",
            json,
            "",
            Outcome::Malformed,
            "the body is not JSON: an empty body",
        ),
        (
            "200 OK",
            "text/event-stream",
            "",
            Outcome::Cut,
            provider::CUT,
        ),
    ];
    for (status, kind, body, outcome, message) in cases {
        let exchange = exchange(refused(status, kind, body)).await;
        let found = (exchange.outcome, exchange.error.as_deref());
        assert_eq!(found, (outcome, Some(message)), "{status} {body}");
        assert_eq!(
            exchange.retry_after(),
            Some(Duration::from_secs(3)),
            "{status}"
        );
        assert_eq!(
            exchange.status.map(|code| code.to_string()),
            status.get(..3).map(str::to_owned)
        );
    }
}

#[tokio::test]
async fn a_stream_that_breaks_keeps_what_came_and_says_how_it_broke() {
    let error = event(r#"{"error":{"message":"engine died","type":"server_error","code":500}}"#);
    let start = stream()[..3].concat();
    let cases = [
        (
            "error event",
            vec![head(), send(&(start.clone() + &error)), end()],
            Outcome::StreamError,
            "engine died",
        ),
        (
            "ends early",
            vec![head(), send(&start), end()],
            Outcome::Cut,
            provider::CUT,
        ),
        (
            "[DONE] without a finish",
            vec![head(), send(&(start.clone() + &done())), end()],
            Outcome::Cut,
            provider::CUT,
        ),
        (
            "closed in a chunk",
            vec![
                head(),
                Act::Send(b"fff\r\n".to_vec()),
                Act::Send(start.clone().into_bytes()),
                Act::Close,
            ],
            Outcome::Cut,
            "the connection ended in the middle of the answer",
        ),
        (
            "no JSON",
            vec![
                head(),
                send(&(start.clone() + "data: {oops\n\n" + &finish())),
                end(),
            ],
            Outcome::Malformed,
            "an event is not JSON: {oops",
        ),
    ];
    for (case, script, outcome, message) in cases {
        let exchange = exchange(script).await;
        assert_eq!(
            (exchange.outcome, exchange.error.as_deref()),
            (outcome, Some(message)),
            "{case}"
        );
        assert_eq!(text(&exchange), " test test", "{case}");
        assert!(exchange.stamps.first_text_us.is_some(), "{case}");
    }
}

/// Waits, in milliseconds, that a script is tried with until a busy machine has
/// read what came before the wait.
const WAITS: [u64; 4] = [10, 40, 160, 640];

#[tokio::test]
async fn a_reset_behind_the_finish_leaves_the_answer_whole() {
    let mut last = None;
    for wait in WAITS {
        let all = stream().concat();
        let exchange = exchange(vec![head(), send(&all), Act::Wait(wait), Act::Reset]).await;
        let came = exchange.answer.done;
        last = Some(exchange);
        if came {
            break;
        }
    }
    assert_whole("reset behind the finish", &last.expect("an exchange"));
}

#[tokio::test]
async fn a_broken_connection_is_classified_by_the_kind_of_its_error() {
    let start = stream()[..3].concat();
    let mut texts = Vec::new();
    for wait in WAITS {
        let script = vec![head(), send(&start), Act::Wait(wait), Act::Reset];
        let reset = exchange(script).await;
        assert_eq!(reset.outcome, Outcome::Reset);
        texts.push(text(&reset).to_owned());
        if !texts.concat().is_empty() {
            break;
        }
    }
    assert_eq!(texts.concat(), " test test");

    for script in [vec![Act::Close], vec![Act::Reset]] {
        let early = exchange(script).await;
        assert_eq!(
            (early.outcome, early.status),
            (Outcome::Reset, None),
            "{:?}",
            early.error
        );
        assert!(early.stamps.headers_us.is_none());
        assert!(early.broke_before_answer());
    }
    let length =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 500\r\n\r\n";
    for promised in [HEAD, length] {
        let behind = exchange(vec![
            Act::Send(promised.as_bytes().to_vec()),
            Act::Wait(20),
            Act::Close,
        ])
        .await;
        assert_eq!(
            (behind.outcome, behind.status),
            (Outcome::Reset, Some(200)),
            "{:?}",
            behind.error
        );
        let told = behind.error.clone().unwrap_or_default();
        assert!(
            told.ends_with("before the first byte of its answer"),
            "{told}"
        );
        assert!(behind.broke_before_answer());
    }

    let noise = exchange(vec![
        Act::Send(b"220 mail ready\r\n\r\n".to_vec()),
        Act::Close,
    ])
    .await;
    assert_eq!(noise.outcome, Outcome::Malformed, "{:?}", noise.error);
}

#[tokio::test]
async fn a_closed_port_and_a_wrong_address_are_no_connection() {
    let server = Server::start(vec![vec![]]).await;
    let mut wrong = outgoing(&server);
    let closed = server.url("/v1?key=hidden");
    drop(server);
    let client = Client::new(&settings(), Instant::now()).expect("client");
    for url in [closed.as_str(), "no address at all", "ftp://127.0.0.1/"] {
        url.clone_into(&mut wrong.url);
        let exchange = sent(&client, wrong.clone()).await;
        assert_eq!(
            exchange.outcome,
            Outcome::Connect,
            "{url}: {:?}",
            exchange.error
        );
        assert_eq!(
            (exchange.status, exchange.stamps.sent_us),
            (None, None),
            "{url}"
        );
        assert!(!exchange.error.expect("message").contains("hidden"));
    }
}

#[tokio::test]
async fn every_phase_has_its_limit() {
    let short = Duration::from_millis(40);
    let start = send(&stream()[..3].concat());
    let mut headers = settings();
    // The limit is the sum; a connection that takes all of it is a timeout as well.
    (headers.connect, headers.headers) = (short / 2, short / 2);
    let mut first_byte = settings();
    first_byte.first_byte = short;
    let mut idle = settings();
    idle.idle = short;
    let mut total = settings();
    total.total = Duration::from_millis(80);
    let drip = Act::Flood(chunk(b": ping\n\n"));
    let cases = [
        (headers, vec![Act::Hang], "no "),
        (
            first_byte,
            vec![head(), Act::Hang],
            "no byte of the answer within 40ms",
        ),
        (
            idle,
            vec![head(), start.clone(), Act::Hang],
            "the answer stopped: nothing more within 40ms",
        ),
        (
            total,
            vec![head(), start, drip],
            "the answer did not end within 80ms",
        ),
    ];
    for (mut limits, script, message) in cases {
        (limits.max_body, limits.max_reads) = (1 << 30, 1 << 30);
        let exchange = exchange_with(script, &limits).await;
        assert_eq!(exchange.outcome, Outcome::Timeout, "{message}");
        let said = exchange.error.unwrap_or_default();
        assert!(said.starts_with(message), "{said}");
    }
}

#[tokio::test]
async fn endless_answers_are_cut_off() {
    let mut small = settings();
    (small.max_body, small.sse.line, small.sse.event) = (100_000, 10_000, 20_000);
    let line = vec![head(), send("data: "), Act::Flood(chunk(&[b'x'; 1_000]))];
    let event = vec![
        head(),
        Act::Flood(chunk(b"data: xxxxxxxxxxxxxxxxxxxxxxxx\n")),
    ];
    let body = vec![head(), Act::Flood(chunk(b": ping\n\n"))];
    let cases = [("line", line), ("event", event), ("body", body)];
    for (case, script) in cases {
        let exchange = exchange_with(script, &small).await;
        assert_eq!(
            exchange.outcome,
            Outcome::TooLarge,
            "{case}: {:?}",
            exchange.error
        );
        assert!(exchange.bytes_received <= small.max_body, "{case}");
    }
    let mut few = settings();
    few.max_reads = 10;
    let all = stream().concat();
    let mut acts = vec![head()];
    for byte in all.bytes() {
        acts.extend([Act::Send(chunk(&[byte])), Act::Wait(1)]);
    }
    assert_eq!(
        exchange_with(acts, &few).await.outcome,
        Outcome::TooLarge,
        "reads"
    );
}

#[tokio::test]
async fn a_cancelled_exchange_keeps_what_came() {
    let server = Server::start(vec![vec![head(), send(&stream()[..3].concat()), Act::Hang]]).await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    let mut texts = Vec::new();
    for wait in WAITS {
        let cancel = CancellationToken::new();
        let sending = client.send(outgoing(&server), &cancel);
        let stop = async {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            cancel.cancel();
        };
        let (exchange, ()) = tokio::join!(sending, stop);
        assert_eq!(exchange.outcome, Outcome::Aborted);
        texts.push(text(&exchange).to_owned());
        if !texts.concat().is_empty() {
            break;
        }
    }
    assert_eq!(texts.concat(), " test test");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_nothing_is_sent_twice() {
    let redirect = "HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere?token=hidden\r\nContent-Length: 0\r\n\r\n";
    let server = Server::start(vec![
        vec![Act::Send(redirect.as_bytes().to_vec())],
        refused("503 Service Unavailable", "application/json", "{}"),
        vec![Act::Close],
    ])
    .await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    let mut outcomes = Vec::new();
    for _ in 0..3 {
        let exchange = sent(&client, outgoing(&server)).await;
        assert!(!format!("{exchange:?}").contains("hidden"));
        outcomes.push(exchange.outcome);
    }
    assert_eq!(
        outcomes,
        [Outcome::NotFound, Outcome::Http5xx, Outcome::Reset]
    );
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_key_that_the_server_repeats_is_hidden() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 401 Unauthorized\r\nX-LiteLLM-Key: {KEY}\r\nSet-Cookie: a=b\r\nContent-Length: {length}\r\n\r\n"
    );
    let server = Server::start(vec![vec![Act::Send(format!("{head}{body}").into_bytes())]]).await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    let request = outgoing(&server);
    let debug = format!("{request:?}");
    let exchange = sent(&client, request).await;
    let shown = format!("{debug} {exchange:?} {client:?}");
    assert!(!shown.contains(KEY), "{shown}");
    assert!(!shown.contains("a=b"), "{shown}");
    let expected = "HTTP 401: Incorrect API key provided: [key]";
    assert_eq!(exchange.error.as_deref(), Some(expected));
    assert_eq!(exchange.header("x-litellm-key"), Some("[key]"));
}

#[tokio::test]
async fn calls_beside_the_measured_ones_give_status_and_body() {
    let server = Server::start(vec![
        refused("200 OK", "text/plain", "vllm:x 1\n"),
        refused("200 OK", "application/json", r#"{"count":3}"#),
        refused("404 Not Found", "application/json", r#"{"detail":"no"}"#),
        vec![Act::Close],
    ])
    .await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    let url = server.url("/metrics");
    let key = [Header::secret("authorization", format!("Bearer {KEY}"))];
    let metrics = client.get(&url, &key).await.expect("reply");
    assert_eq!(
        (metrics.status, metrics.text().as_str()),
        (200, "vllm:x 1\n")
    );
    let ask = serde_json::json!({"prompt": "a"});
    let tokens = client.post_json(&url, &[], &ask).await.expect("reply");
    assert_eq!(tokens.json(), Some(serde_json::json!({"count": 3})));
    let missing = client.get(&url, &[]).await.expect("reply");
    assert_eq!((missing.status, missing.json()), (404, None));
    let broken = client.get(&url, &key).await.expect_err("closed");
    assert_eq!(broken.outcome, Outcome::Reset);
    assert!(server.requests()[1].ends_with("{\"prompt\":\"a\"}"));
}

#[tokio::test]
async fn certificates_and_proxies_that_are_none_are_refused() {
    let mut settings = settings();
    settings.proxy = Some(ProxyUrl("http://user:hidden@ no host".to_owned()));
    let error = Client::new(&settings, Instant::now()).expect_err("proxy");
    assert!(!format!("{error:?} {error} {settings:?}").contains("hidden"));
    settings.proxy = None;
    settings.ca = Some(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec());
    assert!(Client::new(&settings, Instant::now()).is_err());
}

#[tokio::test]
async fn a_proxy_gets_every_request_and_its_password_is_not_shown() {
    let server = Server::start(vec![one_write(&stream())]).await;
    let mut settings = settings();
    let address = server.url("").replace("http://", "http://user:hidden@");
    settings.proxy = Some(ProxyUrl(address));
    let client = Client::new(&settings, Instant::now()).expect("client");
    let mut request = outgoing(&server);
    "http://model.invalid/v1/chat/completions".clone_into(&mut request.url);
    let exchange = sent(&client, request).await;
    assert_whole("through the proxy", &exchange);
    let seen = &server.requests()[0];
    assert!(seen.starts_with("POST http://model.invalid/v1/chat/completions HTTP/1.1\r\n"));
    assert!(!format!("{client:?} {exchange:?}").contains("hidden"));
}

#[tokio::test]
async fn a_proxy_that_cannot_be_reached_is_named_without_its_password() {
    let server = Server::start(vec![vec![Act::Close]]).await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = nobody.local_addr().expect("an address");
    drop(nobody);
    let mut settings = settings();
    settings.proxy = Some(ProxyUrl(format!(
        "http://user:hidden@{address}/?key=hidden"
    )));
    let client = Client::new(&settings, Instant::now()).expect("client");
    let exchange = sent(&client, outgoing(&server)).await;
    let told = exchange.error.clone().unwrap_or_default();
    let named = format!("through the proxy `http://{address}/`: ");
    assert!(
        told.starts_with("cannot connect to `") && told.contains(&named),
        "{told}"
    );
    assert!(!told.contains("hidden") && !told.contains("user"), "{told}");
    assert_eq!(
        (exchange.outcome, server.connections()),
        (Outcome::Connect, 0)
    );
    let called = client.get(&server.url("/metrics"), &[]).await;
    let told = called.expect_err("no proxy").message;
    assert!(told.contains(&named) && !told.contains("hidden"), "{told}");
}

#[tokio::test]
async fn an_answer_that_is_packed_without_being_asked_for_is_told_by_the_packing() {
    let packed = |status: &str| {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\
             Content-Length: 10\r\n\r\n"
        );
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff]);
        vec![Act::Send(bytes)]
    };
    let server = Server::start(vec![packed("200 OK"), packed("502 No"), packed("200 OK")]).await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    for expected in [Outcome::Malformed, Outcome::Http5xx] {
        let exchange = sent(&client, outgoing(&server)).await;
        assert_eq!(exchange.outcome, expected);
        let told = exchange.error.unwrap_or_default();
        assert!(
            told.contains("compressed (`Content-Encoding: gzip`)"),
            "{told}"
        );
        assert!(told.is_ascii(), "{told}");
        assert_eq!(exchange.answer, provider::Answer::default());
    }
    let called = client.get(&server.url("/v1/models"), &[]).await;
    let told = called.expect_err("packed").message;
    assert!(told.contains("`Content-Encoding: gzip`"), "{told}");
    let asked = server.requests()[0].to_ascii_lowercase();
    assert!(
        asked.contains("\r\naccept-encoding: identity\r\n"),
        "{asked}"
    );
}

#[tokio::test]
async fn a_dialect_sends_its_version_unless_the_target_has_its_own() {
    let server = Server::start(vec![refused("500 No", "text/plain", "no")]).await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    let mut request = outgoing(&server);
    request.dialect = provider::find("anthropic").expect("dialect");
    sent(&client, request.clone()).await;
    request
        .headers
        .push(Header::plain("Anthropic-Version", "next"));
    sent(&client, request).await;
    let versions: Vec<Vec<String>> = server
        .requests()
        .iter()
        .map(|request| {
            let lower = request.to_ascii_lowercase();
            let lines = lower
                .lines()
                .filter(|line| line.starts_with("anthropic-version:"));
            lines.map(str::to_owned).collect()
        })
        .collect();
    assert_eq!(
        versions,
        [
            ["anthropic-version: 2023-06-01"],
            ["anthropic-version: next"]
        ]
    );
}
