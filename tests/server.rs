//! Drives the embedded server over real loopback HTTP.
#![expect(
    clippy::expect_used,
    reason = "a request that cannot be sent or read is a failed test"
)]

use prefixbench::cache::{Cache, Query};
use prefixbench::server::{
    FAULTS, FINGERPRINT, Fault, Faults, Handle, Options, PROFILES, SIMULATED, Server, Speed,
    Template, find_profile,
};
use prefixbench::tokens::{TemplateMessage, embedded};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn client() -> Client {
    let client = Client::builder().no_proxy();
    client.build().expect("a client")
}

fn options(profile: &str) -> Options {
    Options {
        profile: find_profile(profile).expect(profile),
        speed: Speed::INSTANT,
        ..Options::default()
    }
}

async fn start(options: Options) -> Handle {
    Server::start(options).await.expect("a free loopback port")
}

fn post(server: &Handle, path: &str, body: &Value) -> RequestBuilder {
    let url = format!("{}{path}", server.origin());
    client()
        .post(url)
        .header("content-type", "application/json")
        .body(body.to_string())
}

async fn sent(request: RequestBuilder) -> Response {
    let response = request.send().await.expect("an answer");
    assert_eq!(response.headers()[SIMULATED], "1");
    response
}

async fn whole(server: &Handle, path: &str, body: &Value) -> (u16, Value) {
    let response = sent(post(server, path, body)).await;
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    (status, serde_json::from_str(&text).expect(&text))
}

async fn chat(server: &Handle, body: &Value) -> Value {
    let (status, body) = whole(server, "/v1/chat/completions", body).await;
    assert_eq!(status, 200, "{body}");
    body
}

/// Data of each event of a stream that ends cleanly.
async fn events(server: &Handle, path: &str, body: &Value) -> Vec<String> {
    let response = sent(post(server, path, body)).await;
    assert_eq!(response.status(), 200);
    let text = response.text().await.expect("a whole stream");
    data(&text)
}

fn data(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    lines.map(|data| data.trim().to_owned()).collect()
}

fn parsed(data: &str) -> Value {
    serde_json::from_str(data).expect(data)
}

/// A text of about `tokens` tokens that no other `seed` gives.
fn text(seed: usize, tokens: usize) -> String {
    let words = (0..tokens / 2).map(|word| format!("{} w", seed * 100_000 + word));
    words.collect::<Vec<_>>().join(" ")
}

fn ids(messages: &[(&str, &str)]) -> Vec<u32> {
    let messages: Vec<_> = messages
        .iter()
        .map(|&(role, text)| TemplateMessage::text(role, text))
        .collect();
    embedded().prompt(&messages)
}

#[tokio::test]
async fn a_growing_chat_is_counted_as_the_cache_model_counts_it() {
    for (profile, model) in [("vllm", "blocks:16"), ("vllm-1600", "blocks:1600,drop=1")] {
        let server = start(options(profile)).await;
        let mut cache = Cache::new(&model.parse().expect("a model"), None);
        let system = text(1, 4_000);
        let mut history = vec![("system".to_owned(), system)];
        for turn in 0..5 {
            history.push(("user".to_owned(), text(10 + turn, 200)));
            let messages: Vec<_> = history
                .iter()
                .map(|(role, text)| json!({"role": role, "content": text}))
                .collect();
            let body = json!({"model": "m", "messages": messages, "max_tokens": 40});
            let answer = chat(&server, &body).await;

            let said: Vec<_> = history
                .iter()
                .map(|(role, text)| (role.as_str(), text.as_str()))
                .collect();
            let ids = ids(&said);
            let query = Query {
                ids: &ids,
                ..Query::default()
            };
            let expected = cache.admit(&query);
            let reply = answer["choices"][0]["message"]["content"].as_str();
            let reply = reply.expect("text").to_owned();
            cache.finish(expected.handle, &embedded().output(&reply));
            let usage = &answer["usage"];
            assert_eq!(usage["prompt_tokens"], ids.len());
            let details = &usage["prompt_tokens_details"];
            assert_eq!(details["cached_tokens"], expected.bound, "{profile} {turn}");
            assert_eq!(details["created_cache_tokens"], json!(expected.created));
            assert_eq!(usage["completion_tokens"], 40);
            if turn > 0 {
                assert!(expected.bound > 1_000, "{profile} {turn}");
            }
            history.push(("assistant".to_owned(), reply));
        }
        server.shutdown().await;
    }
}

#[tokio::test]
async fn a_chat_stream_has_the_events_of_vllm() {
    let server = start(options("vllm")).await;
    let body = json!({"model": "m", "stream": true, "max_tokens": 3,
        "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": text(1, 300)}]});
    let events = events(&server, "/v1/chat/completions", &body).await;
    assert_eq!(events.len(), 7, "role, three words, finish, usage, end");
    assert_eq!(events[6], "[DONE]");
    let chunks: Vec<Value> = events[..6].iter().map(|data| parsed(data)).collect();
    let delta = |index: usize| &chunks[index]["choices"][0]["delta"];
    assert_eq!(delta(0), &json!({"role": "assistant", "content": ""}));
    let words: Vec<_> = (1..4)
        .map(|index| delta(index)["content"].as_str())
        .collect();
    assert!(
        words
            .iter()
            .all(|word| word.is_some_and(|word| word.starts_with(' ')))
    );
    assert_eq!(chunks[4]["choices"][0]["finish_reason"], "length");
    assert_eq!(chunks[5]["choices"], json!([]));
    assert!(chunks[..5].iter().all(|chunk| chunk.get("usage").is_none()));
    let usage = &chunks[5]["usage"];
    let total = usage["prompt_tokens"].as_u64().expect("a count");
    let full = total / 16 * 16;
    assert_eq!(
        usage["prompt_tokens_details"],
        json!({"cached_tokens": 0, "created_cache_tokens": full})
    );
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["system_fingerprint"] == FINGERPRINT)
    );

    let mut silent = body.clone();
    silent["stream_options"] = json!({});
    let events = self::events(&server, "/v1/chat/completions", &silent).await;
    assert!(events.iter().all(|data| !data.contains("usage")));
}

#[tokio::test]
async fn both_interfaces_share_one_cache_and_count_in_their_own_way() {
    let server = start(options("vllm")).await;
    let (system, user) = (text(1, 500), text(2, 100));
    let body = json!({"model": "m", "max_tokens": 1, "messages": [
        {"role": "system", "content": system}, {"role": "user", "content": user}]});
    let total = chat(&server, &body).await["usage"]["prompt_tokens"].clone();
    let total = total.as_u64().expect("a count");
    let body = json!({"model": "m", "max_tokens": 1, "system": [{"type": "text", "text": system}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": user}]}]});
    let (_, answer) = whole(&server, "/v1/messages", &body).await;
    let read = (total - 1) / 16 * 16;
    let created = total / 16 * 16 - read;
    assert_eq!(
        answer["usage"],
        json!({"input_tokens": total % 16, "output_tokens": 1,
            "cache_creation_input_tokens": created, "cache_read_input_tokens": read})
    );
    assert_eq!(answer["stop_reason"], "max_tokens");

    let mut streamed = body.clone();
    streamed["stream"] = json!(true);
    let events = events(&server, "/v1/messages", &streamed).await;
    let kinds: Vec<_> = events
        .iter()
        .map(|data| parsed(data)["type"].clone())
        .collect();
    assert_eq!(
        json!(kinds),
        json!([
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ])
    );
    let opening = &parsed(&events[0])["message"]["usage"];
    assert_eq!(opening, &json!({"input_tokens": total, "output_tokens": 0}));
    assert_eq!(parsed(&events[4])["usage"], answer["usage"]);

    let body = json!({"model": "m", "instructions": system, "input": user, "max_output_tokens": 1});
    let (_, answer) = whole(&server, "/v1/responses", &body).await;
    assert_eq!(
        answer["usage"]["input_tokens_details"],
        json!({"cached_tokens": read, "cache_write_tokens": created})
    );
}

#[tokio::test]
async fn a_salt_is_a_world_of_its_own_on_both_interfaces() {
    let server = start(options("vllm")).await;
    let content = text(1, 400);
    let read = async |salt: &str| {
        let body = json!({"cache_salt": salt, "max_tokens": 1,
            "messages": [{"role": "user", "content": content}]});
        let answer = chat(&server, &body).await;
        let chat = answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64();
        let (_, answer) = whole(&server, "/v1/messages", &body).await;
        (chat, answer["usage"]["cache_read_input_tokens"].as_u64())
    };
    let (cold, warm) = read("a").await;
    assert_eq!(cold, Some(0));
    assert!(warm > Some(300));
    assert_eq!(read("b").await, (cold, warm));
    assert_eq!(read("a").await, (warm, warm));
}

#[tokio::test]
async fn counters_agree_with_usage() {
    let server = start(options("vllm")).await;
    let (mut prompt, mut cached) = (0, 0);
    for turn in [1, 2, 1, 1, 3] {
        let body =
            json!({"max_tokens": 2, "messages": [{"role": "user", "content": text(turn, 300)}]});
        let usage = chat(&server, &body).await["usage"].clone();
        prompt += usage["prompt_tokens"].as_u64().expect("a count");
        cached += usage["prompt_tokens_details"]["cached_tokens"]
            .as_u64()
            .expect("a count");
    }
    assert!(cached > 0);
    let stats = server.stats();
    assert_eq!((stats.prompt_tokens, stats.cached_tokens), (prompt, cached));
    assert_eq!(
        (stats.requests, stats.running, stats.output_tokens),
        (5, 0, 10)
    );
    let url = format!("{}/metrics", server.origin());
    let text = sent(client().get(url)).await.text().await.expect("text");
    let value = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .expect(name);
        line.rsplit(' ')
            .next()
            .and_then(|value| value.parse::<f64>().ok())
    };
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let expected = |tokens: u64| Some(tokens as f64);
    assert_eq!(value("vllm:prompt_tokens_total"), expected(prompt));
    assert_eq!(value("vllm:prompt_tokens_cached_total"), expected(cached));
    assert_eq!(value("vllm:prefix_cache_queries_total"), expected(prompt));
    assert_eq!(value("vllm:prefix_cache_hits_total"), expected(cached));
    assert!(text.contains(&format!("source=\"local_compute\"}} {}.0", prompt - cached)));
    assert!(text.contains("vllm:cache_config_info{block_size=\"16\""));
}

#[tokio::test]
async fn tokens_are_those_of_the_embedded_template() {
    let server = start(options("vllm")).await;
    let body = json!({"model": "m",
        "tools": [{"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": {"z": 1}}}],
        "messages": [{"role": "user", "content": "Hi"}]});
    let (_, answer) = whole(&server, "/tokenize", &body).await;
    let expected = ids(&[("tools", "findFinds.{\"z\":1}"), ("user", "Hi")]);
    assert_eq!(answer["tokens"], json!(expected));
    assert_eq!(answer["count"], expected.len());
    let (_, answer) = whole(&server, "/tokenize", &json!({"prompt": "Hi there"})).await;
    assert_eq!(answer["tokens"], json!(embedded().output("Hi there")));
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    let (_, answer) = whole(&server, "/v1/messages/count_tokens", &body).await;
    assert_eq!(answer["input_tokens"], ids(&[("user", "Hi")]).len());
}

#[tokio::test]
async fn the_same_seed_gives_the_same_answer() {
    let body = json!({"messages": [{"role": "user", "content": "Hi"}]});
    let mut answers = Vec::new();
    for seed in [1, 1, 2] {
        let server = start(Options {
            seed,
            reply_tokens: 21,
            ..options("vllm")
        })
        .await;
        let answer = chat(&server, &body).await;
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
        assert_eq!(
            answer["usage"]["completion_tokens"], 21,
            "with the stop token"
        );
        let text = answer["choices"][0]["message"]["content"].as_str();
        let text = text.expect("text").to_owned();
        assert_eq!(embedded().output(&text).len(), 20);
        answers.push(text);
    }
    assert_eq!(answers[0], answers[1]);
    assert_ne!(answers[0], answers[2]);
}

/// Path, body, key, status, place in the answer, what stands there.
type RefusalCase = (
    &'static str,
    Value,
    &'static str,
    u16,
    &'static str,
    &'static str,
);

fn refusals() -> Vec<RefusalCase> {
    let hi = json!([{"role": "user", "content": "Hi"}]);
    let long = json!([{"role": "user", "content": text(1, 3_000)}]);
    let chat = "/v1/chat/completions";
    vec![
        (
            chat,
            json!({"messages": hi}),
            "",
            401,
            "/error",
            "Unauthorized",
        ),
        (
            chat,
            json!({"messages": hi, "model": "nope"}),
            "secret",
            404,
            "/error/type",
            "NotFoundError",
        ),
        (
            chat,
            json!({"messages": long}),
            "secret",
            400,
            "/error/param",
            "input_tokens",
        ),
        (
            chat,
            json!({"messages": hi, "max_tokens": 2_000}),
            "secret",
            400,
            "/error/param",
            "max_tokens",
        ),
        (
            chat,
            json!({"messages": hi, "cache_salt": ""}),
            "secret",
            400,
            "/error/type",
            "BadRequestError",
        ),
        (
            chat,
            json!({"stream": true}),
            "secret",
            400,
            "/error/param",
            "body.messages",
        ),
        (chat, json!([]), "secret", 400, "/error/type", "Bad Request"),
        (
            "/v1/messages",
            json!({"messages": long, "max_tokens": 1}),
            "secret",
            400,
            "/error/type",
            "BadRequestError",
        ),
        (
            "/v1/messages",
            json!({"messages": hi}),
            "secret",
            400,
            "/error/param",
            "body.max_tokens",
        ),
        (
            "/v1/nothing",
            json!({}),
            "secret",
            404,
            "/detail",
            "Not Found",
        ),
    ]
}

#[tokio::test]
async fn a_refusal_has_its_status_and_shape() {
    let server = start(Options {
        api_key: Some("secret".to_owned()),
        strict_model: true,
        context: Some(1_000),
        ..options("vllm")
    })
    .await;
    let hi = json!([{"role": "user", "content": "Hi"}]);
    let chat = "/v1/chat/completions";
    let cases = refusals();
    for (path, body, key, status, pointer, expected) in cases {
        let response = sent(post(&server, path, &body).bearer_auth(key)).await;
        assert_eq!(response.status(), status, "{path} {body}");
        let text = response.text().await.expect("a body");
        assert_eq!(
            parsed(&text).pointer(pointer),
            Some(&json!(expected)),
            "{text}"
        );
    }
    let response = post(&server, chat, &json!({"messages": hi})).header("x-api-key", "secret");
    assert_eq!(
        sent(response).await.status(),
        401,
        "vLLM takes a bearer only"
    );
    assert_eq!(server.stats().requests, 0);
}

#[tokio::test]
async fn more_requests_than_a_minute_takes_are_told_when_to_come_back() {
    let server = start(Options {
        requests_per_minute: Some(2),
        ..options("openai")
    })
    .await;
    let status = async || {
        let response = sent(post(&server, "/v1/chat/completions", &streamed())).await;
        let wait = response.headers().get("retry-after").cloned();
        let wait = wait.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        (response.status().as_u16(), wait)
    };
    assert_eq!(status().await, (200, None));
    assert_eq!(status().await, (200, None));
    let (refused, wait) = status().await;
    assert_eq!(refused, 429);
    assert!((1..=60).contains(&wait.expect("seconds")), "{wait:?}");
    server.advance(Duration::from_mins(1));
    assert_eq!(status().await, (200, None));
}

async fn faulty(fault: Fault) -> Handle {
    let faults = Faults::default().with(fault, 1);
    start(Options {
        faults,
        ..options("vllm")
    })
    .await
}

fn streamed() -> Value {
    json!({"model": "m", "stream": true, "max_tokens": 8, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "Hi"}]})
}

#[tokio::test]
async fn a_fault_that_refuses_comes_at_every_nth_request() {
    let faults = Faults::default()
        .with(Fault::RateLimited, 3)
        .with(Fault::Internal, 4);
    let server = start(Options {
        faults,
        ..options("vllm")
    })
    .await;
    let mut statuses = Vec::new();
    for _ in 0..6 {
        let response = sent(post(&server, "/v1/chat/completions", &streamed())).await;
        let wait = response.headers().get("retry-after").is_some();
        assert_eq!(wait, response.status() == 429);
        statuses.push(response.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 429, 500, 200, 429]);
    assert_eq!(server.stats().requests, 3);
}

#[tokio::test]
async fn a_fault_inside_a_stream_does_what_it_says() {
    let raw = async |fault: Fault| {
        let server = faulty(fault).await;
        let response = sent(post(&server, "/v1/chat/completions", &streamed())).await;
        response.text().await
    };
    let good = raw(Fault::Split).await.expect("whole");
    assert_eq!(data(&good).len(), 12);

    let crlf = raw(Fault::Crlf).await.expect("whole");
    assert_eq!(crlf.replace("\r\n", "\n"), good);
    assert_ne!(crlf, good);
    let comments = raw(Fault::Comments).await.expect("whole");
    assert_eq!(comments.matches(": ping\n\n").count(), 12);
    assert_eq!(data(&comments), data(&good));
    let tight = raw(Fault::NoSpace).await.expect("whole");
    assert!(!tight.contains("data: "));
    assert_eq!(data(&tight), data(&good));
    let open = raw(Fault::NoDone).await.expect("whole");
    assert_eq!(data(&open)[..], data(&good)[..11]);
    let silent = raw(Fault::NoUsage).await.expect("whole");
    assert!(!silent.contains("usage"));
    let bare = raw(Fault::NoDetails).await.expect("whole");
    assert!(bare.contains("prompt_tokens") && !bare.contains("details"));
    let over = raw(Fault::OverReport).await.expect("whole");
    let usage = parsed(&data(&over)[10])["usage"].clone();
    let read = usage["prompt_tokens_details"]["cached_tokens"].as_u64();
    assert_eq!(
        read,
        usage["prompt_tokens"].as_u64().map(|total| total + 10)
    );
    let early = raw(Fault::UsageOnFinish).await.expect("whole");
    let finish = parsed(&data(&early)[9]);
    assert_eq!(finish["choices"][0]["finish_reason"], "length");
    assert!(finish["usage"].is_object());
    let thought = raw(Fault::Reasoning).await.expect("whole");
    assert_eq!(thought.matches("reasoning_content").count(), 4);
    assert_eq!(thought.replace("reasoning_content", "content"), good);
    let garbage = raw(Fault::Garbage).await.expect("whole");
    let broken = data(&garbage)
        .into_iter()
        .filter(|data| data != "[DONE]" && serde_json::from_str::<Value>(data).is_err());
    assert_eq!(broken.count(), 1);
    let long = raw(Fault::LongLine).await.expect("whole");
    assert!(long.lines().any(|line| line.len() > 64 << 20));
    let failed = raw(Fault::StreamError).await.expect("ends cleanly");
    let last = data(&failed).pop().expect("an event");
    assert!(parsed(&last)["error"]["message"].is_string());
    raw(Fault::Cut).await.expect_err("the connection breaks");
    let server = faulty(Fault::Cut).await;
    let mut body = streamed();
    body["stream"] = json!(false);
    let response = sent(post(&server, "/v1/chat/completions", &body)).await;
    response.text().await.expect_err("half a body");
}

#[tokio::test]
async fn every_fault_can_be_asked_for() {
    for (name, fault, _) in FAULTS {
        if matches!(fault, Fault::Hang) {
            continue;
        }
        let server = faulty(*fault).await;
        let response = sent(post(&server, "/v1/chat/completions", &streamed())).await;
        let status = response.status().as_u16();
        let refused = name.parse().unwrap_or(200);
        assert_eq!(status, refused, "{name}");
        server.shutdown().await;
    }
}

#[tokio::test]
async fn a_stream_that_hangs_ends_when_the_server_stops() {
    let server = faulty(Fault::Hang).await;
    let mut response = sent(post(&server, "/v1/chat/completions", &streamed())).await;
    let first = response.chunk().await.expect("a first half");
    assert!(first.is_some());
    let rest = tokio::time::timeout(Duration::from_millis(50), response.chunk()).await;
    assert!(rest.is_err(), "nothing more comes");
    server.shutdown().await;
    let rest = response.text().await.unwrap_or_default();
    assert!(!rest.contains("[DONE]"));
}

#[tokio::test]
async fn a_client_that_hangs_up_leaves_its_prompt_cached() {
    let speed = Speed {
        decode_per_s: 20.0,
        ..Speed::INSTANT
    };
    let server = start(Options {
        speed,
        ..options("vllm")
    })
    .await;
    let mut body = streamed();
    body["messages"][0]["content"] = json!(text(1, 400));
    body["max_tokens"] = json!(200);
    let mut response = sent(post(&server, "/v1/chat/completions", &body)).await;
    response.chunk().await.expect("a first event");
    drop(response);
    for _ in 0..500 {
        if server.stats().running == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let stats = server.stats();
    assert_eq!(stats.running, 0);
    assert!(stats.output_tokens < 200, "{stats:?}");
    body["stream"] = json!(false);
    body["max_tokens"] = json!(1);
    let usage = chat(&server, &body).await["usage"].clone();
    let read = usage["prompt_tokens_details"]["cached_tokens"].as_u64();
    assert!(read > Some(300), "{usage}");
}

#[tokio::test]
async fn requests_sent_at_once_share_what_the_first_computes() {
    let speed = Speed {
        decode_per_s: 100.0,
        ..Speed::INSTANT
    };
    let server = start(Options {
        speed,
        ..options("vllm")
    })
    .await;
    let body = json!({"max_tokens": 10, "messages": [{"role": "user", "content": text(1, 400)}]});
    let (a, b, c) = tokio::join!(
        chat(&server, &body),
        chat(&server, &body),
        chat(&server, &body)
    );
    let mut reads: Vec<_> = [a, b, c]
        .iter()
        .map(|answer| answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64())
        .collect();
    reads.sort_unstable();
    assert_eq!(reads[0], Some(0));
    assert!(reads[1] > Some(300) && reads[1] == reads[2], "{reads:?}");
}

#[tokio::test]
async fn a_warm_prompt_answers_sooner_than_a_cold_one() {
    // 400 ms of prefill against nearly none: far apart on any machine.
    let speed = Speed {
        prefill_per_s: 10_000.0,
        ..Speed::INSTANT
    };
    let server = start(Options {
        speed,
        ..options("vllm")
    })
    .await;
    let body = json!({"max_tokens": 1, "messages": [{"role": "user", "content": text(1, 4_000)}]});
    let mut took = Vec::new();
    for _ in 0..2 {
        let begun = now();
        chat(&server, &body).await;
        took.push(begun.elapsed());
    }
    assert!(took[0] > took[1], "{took:?}");
}

#[expect(
    clippy::disallowed_methods,
    reason = "measures from outside, as a client would"
)]
fn now() -> Instant {
    Instant::now()
}

#[tokio::test]
async fn marked_blocks_live_until_the_clock_has_moved_on() {
    let server = start(options("anthropic")).await;
    let body = json!({"model": "m", "max_tokens": 1,
        "system": [{"type": "text", "text": text(1, 3_000), "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "Hi"}]});
    let usage = async || {
        let (_, answer) = whole(&server, "/v1/messages", &body).await;
        let usage = &answer["usage"];
        let count = |name: &str| usage[name].as_u64().expect(name);
        (
            count("cache_creation_input_tokens"),
            count("cache_read_input_tokens"),
            count("input_tokens"),
        )
    };
    let (written, read, rest) = usage().await;
    assert!(written > 2_000 && rest < 20, "{written} {rest}");
    assert_eq!(read, 0);
    server.advance(Duration::from_mins(4));
    assert_eq!(usage().await, (0, written, rest));
    let (_, done) = whole(&server, "/advance_clock", &json!({"ms": 301_000})).await;
    assert_eq!(done, json!({"success": true}));
    assert_eq!(usage().await, (written, 0, rest));
}

#[tokio::test]
async fn gemini_counts_ride_on_every_chunk_and_a_miss_is_not_told() {
    let server = start(options("gemini")).await;
    let body = json!({"contents": [{"role": "user", "parts": [{"text": text(1, 2_000)}]}],
        "generationConfig": {"maxOutputTokens": 3}});
    let path = "/v1beta/models/m:generateContent";
    let (_, answer) = whole(&server, path, &body).await;
    let usage = &answer["usageMetadata"];
    let total = usage["promptTokenCount"].clone();
    assert!(usage.get("cachedContentTokenCount").is_none(), "{usage}");
    let path = "/v1beta/models/m:streamGenerateContent?alt=sse";
    let events = events(&server, path, &body).await;
    assert_eq!(events.len(), 4, "three words and the end");
    let chunks: Vec<Value> = events.iter().map(|data| parsed(data)).collect();
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["usageMetadata"]["promptTokenCount"] == total)
    );
    assert_eq!(chunks[3]["usageMetadata"]["cachedContentTokenCount"], total);
    assert_eq!(chunks[3]["candidates"][0]["finishReason"], "MAX_TOKENS");
    let (status, _) = whole(&server, "/v1beta/models/m:other", &body).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_reset_empties_the_cache() {
    let server = start(options("vllm")).await;
    let body = json!({"max_tokens": 1, "messages": [{"role": "user", "content": text(1, 400)}]});
    let read = async || {
        let usage = chat(&server, &body).await["usage"].clone();
        usage["prompt_tokens_details"]["cached_tokens"].as_u64()
    };
    assert_eq!(read().await, Some(0));
    assert!(read().await > Some(300));
    let (status, answer) = whole(&server, "/reset_prefix_cache", &json!({})).await;
    assert_eq!((status, answer), (200, json!({"success": true})));
    assert_eq!(read().await, Some(0));
    assert!(server.reset());
    assert_eq!(read().await, Some(0));
}

#[tokio::test]
async fn every_profile_answers_every_dialect_whole_and_streamed() {
    let messages = json!([{"role": "user", "content": text(1, 1_500)}]);
    let body = json!({"model": "m", "max_tokens": 2, "max_output_tokens": 2,
        "stream_options": {"include_usage": true}, "messages": messages, "input": messages});
    for profile in PROFILES {
        let server = start(options(profile.name)).await;
        for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
            let (status, answer) = whole(&server, path, &body).await;
            assert_eq!(status, 200, "{} {path}: {answer}", profile.name);
            assert!(answer["usage"].is_object(), "{} {path}", profile.name);
            let mut streamed = body.clone();
            streamed["stream"] = json!(true);
            let events = events(&server, path, &streamed).await;
            assert!(events.len() > 4, "{} {path}", profile.name);
        }
        let bedrock = json!({"inferenceConfig": {"maxTokens": 2},
            "messages": [{"role": "user", "content": [{"text": text(1, 1_500)}]}]});
        let path = "/model/vendor.name-1:0/converse";
        let (status, answer) = whole(&server, path, &bedrock).await;
        assert_eq!(status, 200, "{} {path}: {answer}", profile.name);
        assert!(answer["usage"]["inputTokens"].is_u64(), "{}", profile.name);
        for path in ["/v1/models", "/props", "/metrics", "/health"] {
            let url = format!("{}{path}", server.origin());
            let response = sent(client().get(url)).await;
            assert_eq!(response.status(), 200, "{} {path}", profile.name);
        }
        server.shutdown().await;
    }
}

/// Read and written of one chat request.
async fn read_and_written(server: &Handle, body: &Value) -> (u64, u64) {
    let usage = chat(server, body).await["usage"].clone();
    let details = &usage["prompt_tokens_details"];
    let count = |name: &str| details[name].as_u64().unwrap_or(0);
    (count("cached_tokens"), count("cache_write_tokens"))
}

#[tokio::test]
async fn a_block_marked_for_an_hour_outlives_the_others_and_is_billed_apart() {
    let server = start(options("anthropic")).await;
    let marked = |seed, ttl: &str| {
        json!({"type": "text", "text": text(seed, 3_000),
        "cache_control": {"type": "ephemeral", "ttl": ttl}})
    };
    let body = json!({"model": "m", "max_tokens": 1, "system": [marked(1, "1h")],
        "messages": [{"role": "user", "content": [marked(2, "5m")]}]});
    let usage = async || whole(&server, "/v1/messages", &body).await.1["usage"].clone();
    let count = |value: &Value| value.as_u64().expect("a count");
    let cold = usage().await;
    let split = &cold["cache_creation"];
    let (long, short) = (
        count(&split["ephemeral_1h_input_tokens"]),
        count(&split["ephemeral_5m_input_tokens"]),
    );
    assert!(long > 2_000 && short > 2_000, "{cold}");
    assert_eq!(long + short, count(&cold["cache_creation_input_tokens"]));
    server.advance(Duration::from_mins(30));
    let later = usage().await;
    assert_eq!(count(&later["cache_read_input_tokens"]), long, "{later}");
    assert_eq!(later["cache_creation"]["ephemeral_1h_input_tokens"], 0);
    assert_eq!(count(&later["cache_creation_input_tokens"]), short);
    server.advance(Duration::from_mins(61));
    assert_eq!(usage().await, cold, "nothing lives for ever");
}

#[tokio::test]
async fn anthropic_refuses_too_many_markers_and_an_hour_behind_five_minutes() {
    let server = start(options("anthropic")).await;
    let block = |ttl: &str| json!({"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "ttl": ttl}});
    let cases = [
        (vec![block("5m"); 5], "A maximum of 4 blocks"),
        (vec![block("5m"), block("1h")], "must not come after"),
    ];
    for (blocks, expected) in cases {
        let body = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": blocks}]});
        let (status, answer) = whole(&server, "/v1/messages", &body).await;
        assert_eq!(status, 400);
        assert!(answer.to_string().contains(expected), "{answer}");
    }
}

#[tokio::test]
async fn openai_reads_and_writes_as_its_cache_options_say() {
    let server = start(options("openai")).await;
    let body = |options: &Value| {
        json!({"model": "m", "max_tokens": 1, "prompt_cache_options": options,
        "messages": [{"role": "user", "content": text(1, 3_000)}]})
    };
    let explicit = body(&json!({"mode": "explicit"}));
    for _ in 0..2 {
        assert_eq!(read_and_written(&server, &explicit).await, (0, 0));
    }
    let long = body(&json!({"ttl": "12h"}));
    let (_, written) = read_and_written(&server, &long).await;
    assert!(written > 2_000);
    server.advance(Duration::from_hours(11));
    assert_eq!(read_and_written(&server, &long).await, (written, 0));
    server.advance(Duration::from_hours(13));
    assert_eq!(read_and_written(&server, &long).await, (0, written));
    let (status, refused) = whole(
        &server,
        "/v1/chat/completions",
        &body(&json!({"ttl": "1y"})),
    )
    .await;
    assert_eq!(status, 400, "{refused}");
}

#[tokio::test]
async fn older_openai_models_keep_entries_for_a_day_and_refuse_the_newer_field() {
    let server = start(options("openai-old")).await;
    let mut body = json!({"model": "m", "max_tokens": 1, "prompt_cache_retention": "24h",
        "messages": [{"role": "user", "content": text(1, 3_000)}]});
    assert_eq!(read_and_written(&server, &body).await.0, 0);
    server.advance(Duration::from_hours(23));
    let kept = read_and_written(&server, &body).await.0;
    body["prompt_cache_options"] = json!({"mode": "explicit"});
    let (status, _) = whole(&server, "/v1/chat/completions", &body).await;
    assert_eq!(status, 400);
    assert!(kept > 2_000, "{kept}");
}

#[tokio::test]
async fn llama_cpp_puts_a_request_into_the_slot_that_it_names() {
    let server = start(options("llama-cpp")).await;
    // Two chats on one system text: by itself the server lets them fight over a slot.
    let body = |chat: usize, slot: i64, cold: bool| {
        json!({"model": "m", "max_tokens": 1, "id_slot": slot,
        "cache_prompt": !cold, "messages": [{"role": "system", "content": text(9, 400)},
            {"role": "user", "content": text(chat, 600)}]})
    };
    let read = async |chat, slot, cold| read_and_written(&server, &body(chat, slot, cold)).await.0;
    assert_eq!(read(1, 0, false).await, 0);
    assert_eq!(read(2, 1, false).await, 0, "an empty slot shares nothing");
    let (first, second) = (read(1, 0, false).await, read(2, 1, false).await);
    assert!(first > 900 && second > 900, "{first} {second}");
    assert_eq!(read(1, 0, true).await, 0, "told to read nothing");
    assert_eq!(read(1, 0, false).await, first, "and filled the slot");
    assert!(read(1, 77, false).await > 900, "no such slot: as without");

    let (status, erased) = whole(&server, "/slots/0?action=erase", &json!({})).await;
    assert_eq!((status, &erased["id_slot"]), (200, &json!(0)));
    assert!(erased["n_erased"].as_u64() > Some(900), "{erased}");
    assert_eq!(read(1, 0, false).await, 0);
    for path in ["/slots/7?action=erase", "/slots/0?action=save"] {
        assert!(whole(&server, path, &json!({})).await.0 >= 400, "{path}");
    }
    let slots = sent(client().get(format!("{}/slots", server.origin()))).await;
    let slots: Value = serde_json::from_str(&slots.text().await.expect("a body")).expect("JSON");
    assert_eq!(slots[0]["is_processing"], false);
    assert!(slots[1]["n_prompt_tokens"].as_u64() > Some(900), "{slots}");
}

#[tokio::test]
async fn a_rendered_prompt_tokenises_to_what_the_conversation_does() {
    for template in [Template::Plain, Template::SystemLast, Template::Dated] {
        let server = start(Options {
            template,
            ..options("llama-cpp")
        })
        .await;
        let messages = json!({"messages": [{"role": "system", "content": "Be brief."},
            {"role": "user", "content": "One, two.\n"}]});
        let (_, shown) = whole(&server, "/apply-template", &messages).await;
        let rendered = shown["prompt"].as_str().expect("a prompt");
        assert!(rendered.ends_with("<|im_start|>assistant\n"), "{rendered}");
        let text = json!({"content": rendered, "add_special": true, "parse_special": true});
        let (_, of_text) = whole(&server, "/tokenize", &text).await;
        let (_, of_messages) = whole(&server, "/tokenize", &messages).await;
        assert_eq!(of_text["tokens"], of_messages["tokens"], "{template:?}");
        let usage = chat(&server, &messages).await["usage"].clone();
        assert_eq!(usage["prompt_tokens"], of_text["count"], "{template:?}");
    }
}
