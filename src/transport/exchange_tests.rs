//! Stamps and outcomes, without a server and without waiting.

use super::*;
use crate::transport::Header;
use bytes::Bytes;
use proptest::prelude::*;

fn outgoing() -> Outgoing {
    Outgoing {
        url: "http://127.0.0.1:1/v1/chat/completions".to_owned(),
        headers: vec![Header::secret("authorization", "Bearer k")],
        body: Bytes::new(),
        dialect: provider::find("openai-chat").expect("dialect"),
        stream: true,
        due: Micros(3),
    }
}

/// A success whose body came in these pieces, a second apart, the first a
/// second behind the headers.
fn received(pieces: &[&str], start: Instant) -> Received {
    let mut received = Received {
        status: Some(200),
        headers_at: Some(start),
        ..Received::default()
    };
    for (at, piece) in (1..).zip(pieces) {
        received.bytes.extend_from_slice(piece.as_bytes());
        let end = received.bytes.len();
        received.reads.push((end, start + Duration::from_secs(at)));
    }
    received
}

fn understood(pieces: &[&str], fault: Option<Fault>) -> Exchange {
    let epoch = Instant::now();
    let start = epoch + Duration::from_secs(1);
    let ended = epoch + Duration::from_secs(100);
    let limits = SseLimits::default();
    understand(
        received(pieces, start),
        fault,
        ended,
        &outgoing(),
        epoch,
        limits,
    )
}

fn seconds(at: Option<Micros>) -> Option<u64> {
    at.map(|at| at.0 / 1_000_000)
}

#[test]
fn each_stamp_is_that_of_the_read_that_completed_its_event() {
    let exchange = understood(
        &[
            ": ping\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"h\"}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"cont",
            "ent\":\"y\"},\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n",
        ],
        None,
    );
    assert_eq!(exchange.outcome, Outcome::Ok);
    let stamps = exchange.stamps;
    assert_eq!(stamps.due_us, Micros(3));
    assert_eq!(seconds(stamps.headers_us), Some(1));
    assert_eq!(
        seconds(stamps.first_event_us),
        Some(3),
        "a comment is no event"
    );
    assert_eq!(
        seconds(stamps.first_text_us),
        Some(4),
        "an empty delta is no text"
    );
    assert_eq!(
        seconds(stamps.first_answer_us),
        Some(6),
        "reasoning is no answer"
    );
    assert_eq!(
        seconds(stamps.done_us),
        Some(7),
        "the last read, not the end of waiting"
    );
    assert_eq!(exchange.events, 4);
}

#[test]
fn an_answer_with_its_finish_is_whole_whatever_happens_then() {
    let finish = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    for outcome in [
        Outcome::Timeout,
        Outcome::Reset,
        Outcome::Cut,
        Outcome::Aborted,
    ] {
        let fault = || {
            let message = "m".to_owned();
            Some(Fault { outcome, message })
        };
        assert_eq!(understood(&[finish], fault()).outcome, Outcome::Ok);
        let half = understood(&[], fault());
        assert_eq!((half.outcome, half.error.as_deref()), (outcome, Some("m")));
        assert_eq!(
            seconds(half.stamps.done_us),
            Some(100),
            "when it was given up"
        );
    }
}

#[test]
fn a_wait_is_read_in_seconds_in_milliseconds_and_as_a_date() {
    type Headers = &'static [(&'static str, &'static str)];
    let cases: &[(Headers, Option<u64>)] = &[
        (&[("retry-after", "3")], Some(3_000)),
        (&[("retry-after", "0")], Some(0)),
        (
            &[("retry-after", "3"), ("retry-after-ms", "250")],
            Some(250),
        ),
        (
            &[
                ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"),
                ("date", "Wed, 21 Oct 2026 07:27:58 GMT"),
            ],
            Some(2_000),
        ),
        (
            &[
                ("retry-after", "Wednesday, 21-Oct-26 07:28:00 GMT"),
                ("date", "Wed Oct 21 07:27:00 2026"),
            ],
            Some(60_000),
        ),
        (
            &[
                ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"),
                ("date", "Wed, 21 Oct 2026 07:28:09 GMT"),
            ],
            Some(0),
        ),
        // Without the server's date this machine's counts: long over.
        (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(0)),
        (&[("retry-after", "tomorrow")], None),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "inf")], None),
        (&[], None),
    ];
    for (headers, expected) in cases {
        let mut exchange = understood(&[], None);
        let owned = headers
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        exchange.headers = owned.collect();
        let wait = exchange.retry_after().map(|wait| wait.as_millis());
        assert_eq!(wait, expected.map(u128::from), "{headers:?}");
    }
}

/// Streams of events that are much alike, whole and spoilt.
fn stream() -> impl Strategy<Value = String> {
    let text = prop_oneof!["[a-z ]{0,6}", r#"[a-z\\"\n\u{e9}]{0,4}"#];
    let chunk = text.prop_map(|text| {
        format!("data: {{\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}")
    });
    let other = prop_oneof![
        Just("event: x".to_owned()),
        Just(": ping".to_owned()),
        Just("data: {\"object\":\"chat.completion.chunk\",".to_owned()),
        Just("data: \"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}]}".to_owned()),
        Just("data: [DONE]".to_owned()),
    ];
    let line = prop_oneof![4 => chunk, 1 => other];
    let end =
        prop_oneof![6 => Just("\n\n"), 1 => Just("\r\n\r\n"), 1 => Just("\n"), 1 => Just("\r")];
    proptest::collection::vec((line, end), 0..12).prop_map(|lines| {
        let lines = lines.into_iter().map(|(line, end)| line + end);
        lines.collect()
    })
}

proptest! {
    #[test]
    fn a_stream_is_read_as_its_events_are_one_by_one(
        stream in stream(),
        sizes in proptest::collection::vec(1_usize..300, 1..8),
    ) {
        let mut events = Vec::new();
        provider::sse::parse(stream.as_bytes(), SseLimits::default(), &mut events).expect("within the limits");
        let (mut decoder, mut answer, mut means) = (outgoing().dialect.decoder(), Answer::default(), Vec::new());
        for event in &events {
            decoder.event(&event.name, &event.data, &mut means);
            answer.extend(means.drain(..));
        }
        let start = Instant::now();
        let mut received = received(&[], start);
        received.says_stream = true;
        received.bytes = stream.into_bytes();
        let mut end = 0;
        for size in sizes.iter().cycle() {
            if end == received.bytes.len() {
                break;
            }
            end = (end + size).min(received.bytes.len());
            received.reads.push((end, start));
        }
        let found = understand(received, None, start, &outgoing(), start, SseLimits::default());
        prop_assert_eq!((found.events, found.answer), (events.len(), answer));
    }
}
