//! Replays what real servers answered and compares with an independent reading.
//!
//! The folder comes from `CAPTURES`; without it `../shared/captures` is taken,
//! and where that does not exist the copy in `tests/data/captures`. Any folder of
//! the same form (an `index.jsonl` with one line a file) will do.

#![expect(clippy::expect_used, reason = "a test that cannot be set up must fail")]

use prefixbench::chat::Digest;
use prefixbench::provider::sse::{SseEvent, SseLimits, SseParser};
use prefixbench::provider::{self, Decoded, Dialect};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("CAPTURES") {
        return PathBuf::from(folder);
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = here.join("../shared/captures");
    if shared.is_dir() {
        shared
    } else {
        here.join("tests/data/captures")
    }
}

struct Capture {
    name: String,
    entry: Value,
    bytes: Vec<u8>,
}

impl Capture {
    fn is_stream(&self) -> bool {
        Path::new(&self.name)
            .extension()
            .is_some_and(|end| end == "sse")
    }
}

fn captures(folder: &Path) -> Vec<Capture> {
    let index = fs::read_to_string(folder.join("index.jsonl")).expect("index.jsonl");
    let lines = index.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let entry: Value = serde_json::from_str(line).expect("a line of the index");
            let name = entry["file"].as_str().expect("file").to_owned();
            let bytes = fs::read(folder.join(&name)).expect("a file of the index");
            Capture { name, entry, bytes }
        })
        .collect()
}

/// The dialect of a file; an error body has none of its own and must read as one in all.
fn dialects(entry: &Value) -> Vec<&'static dyn Dialect> {
    match entry["dialect"].as_str() {
        Some(name) => vec![provider::find(name).expect("a known dialect")],
        None => provider::DIALECTS.to_vec(),
    }
}

/// What the index says of a file, as far as the decoder says it too.
fn expected(entry: &Value) -> Value {
    json!({
        "error": entry["error"],
        "text_chars": entry["text_chars"],
        "text_sha256": entry["text_sha256"],
        "first_text_event": entry["first_text_event"],
        "usage": entry["usage"],
    })
}

fn found(decoded: &Decoded) -> Value {
    let usage = decoded.usage.as_ref().map(|usage| {
        json!({"total": usage.total, "read": usage.read, "write": usage.write, "output": usage.output})
    });
    let text = decoded.text.as_deref();
    json!({
        "error": decoded.error.is_some(),
        "text_chars": text.map(|text| text.chars().count()),
        "text_sha256": text.map(|text| Digest::of(text.as_bytes())),
        "first_text_event": decoded.first_text_event,
        "usage": usage,
    })
}

#[test]
fn every_capture_is_read_as_an_independent_reader_read_it() {
    let folder = folder();
    let captures = captures(&folder);
    assert!(!captures.is_empty(), "no captures in {}", folder.display());
    let mut wrong = Vec::new();
    for capture in &captures {
        for dialect in dialects(&capture.entry) {
            let found = found(&provider::decode(dialect, &capture.bytes));
            let expected = expected(&capture.entry);
            if found != expected {
                let (file, dialect) = (&capture.name, dialect.name());
                wrong.push(format!(
                    "{file} ({dialect})\n  expected {expected}\n  found    {found}"
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} files are read wrong:\n{}",
        wrong.len(),
        captures.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_end_marker_is_seen_exactly_where_the_index_says_so() {
    for capture in captures(&folder()) {
        let Some(done) = capture.entry["done"].as_bool() else {
            continue;
        };
        let data = events(&capture.bytes, &[capture.bytes.len().max(1)]);
        let seen = data.iter().any(|event| event.data.trim() == "[DONE]");
        assert_eq!(seen, done, "{}", capture.name);
    }
}

#[test]
fn a_decoded_answer_prints_the_promised_fields() {
    let dialect = provider::find("openai-chat").expect("dialect");
    let body = br#"{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":5,"completion_tokens":1}}"#;
    let printed = serde_json::to_value(provider::decode(dialect, body)).expect("JSON");
    assert_eq!(
        printed,
        json!({
            "dialect": "openai-chat", "text": "Hi", "finish_reason": "stop", "error": null,
            "first_text_event": null,
            "usage": {"total": 5, "read": null, "write": null, "output": 1,
                "raw": {"prompt_tokens": 5, "completion_tokens": 1}},
        })
    );
}

/// The data events of a stream that arrives in pieces of these sizes, over and over.
fn events(bytes: &[u8], sizes: &[usize]) -> Vec<SseEvent> {
    let mut parser = SseParser::new(SseLimits::default());
    let (mut out, mut rest) = (Vec::new(), bytes);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (head, tail) = rest.split_at((*size).min(rest.len()));
        parser.push(head, &mut out).expect("within the limits");
        rest = tail;
    }
    parser.finish(&mut out);
    out
}

#[test]
fn a_stream_cut_in_two_at_any_byte_gives_the_same_events() {
    // The repository's own small streams: every place is tried.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    let mut tried = 0;
    for capture in captures(&folder) {
        if !capture.is_stream() || capture.bytes.len() > 4_500 {
            continue;
        }
        tried += 1;
        // Decoders see nothing but these, so equal ones decode equally.
        let whole = events(&capture.bytes, &[capture.bytes.len()]);
        for at in 1..capture.bytes.len() {
            let data = events(&capture.bytes, &[at, capture.bytes.len()]);
            assert_eq!(data, whole, "{} cut at {at}", capture.name);
        }
    }
    assert!(tried >= 3, "only {tried} streams are small enough");
}

#[test]
fn a_stream_that_ends_early_is_an_error_and_keeps_what_came() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    for capture in captures(&folder) {
        if !capture.is_stream() {
            continue;
        }
        let half = &capture.bytes[..capture.bytes.len() / 2];
        for dialect in dialects(&capture.entry) {
            let decoded = provider::decode(dialect, half);
            assert_eq!(
                decoded.error.as_deref(),
                Some(provider::CUT),
                "{}",
                capture.name
            );
        }
    }
}

static OWN: OnceLock<Vec<Capture>> = OnceLock::new();

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_pieces_of_a_stream_give_the_same_events(
        sizes in proptest::collection::vec(1usize..40, 1..30),
    ) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
        for name in ["llama-96_cold_messages_stream.sse", "llama-103_sse_ping.sse"] {
            let bytes = fs::read(folder.join(name)).expect("capture");
            prop_assert_eq!(events(&bytes, &sizes), events(&bytes, &[bytes.len()]));
        }
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(
        noise in proptest::collection::vec(any::<u8>(), 0..300),
        pick in 0usize..1_000,
        from in 0.0f64..1.0,
    ) {
        let files = OWN.get_or_init(|| {
            captures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures"))
        });
        let mut spoilt = files[pick % files.len()].bytes.clone();
        spoilt.truncate(20_000);
        let at = (from * spoilt.len() as f64).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the length")]
        let at = at as usize;
        let end = (at + noise.len()).min(spoilt.len());
        spoilt.splice(at..end, noise.iter().copied());
        for dialect in provider::DIALECTS {
            for bytes in [&noise, &spoilt] {
                let decoded = provider::decode(*dialect, bytes);
                prop_assert_eq!(decoded.dialect, dialect.name());
                let _described = provider::failure(500, bytes);
            }
        }
    }
}
