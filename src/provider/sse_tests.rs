//! Every form of the format, and every way to split it.

use super::*;
use proptest::prelude::*;

fn events(body: &[u8]) -> Vec<(String, String)> {
    let mut out = Vec::new();
    parse(body, SseLimits::default(), &mut out).expect("within the limits");
    out.into_iter().map(|e| (e.name, e.data)).collect()
}

#[test]
fn every_legal_form_gives_the_same_events() {
    let expected = vec![
        (String::new(), "a".to_owned()),
        ("x".to_owned(), "b\nc".to_owned()),
    ];
    let cases: &[(&str, &[u8])] = &[
        ("LF", b"data: a\n\nevent: x\ndata: b\ndata: c\n\n"),
        (
            "CRLF",
            b"data: a\r\n\r\nevent: x\r\ndata: b\r\ndata: c\r\n\r\n",
        ),
        ("bare CR", b"data: a\r\revent: x\rdata: b\rdata: c\r\r"),
        ("no blank", b"data:a\n\nevent:x\ndata:b\ndata:c\n\n"),
        (
            "mark",
            b"\xEF\xBB\xBFdata: a\n\nevent: x\ndata: b\ndata: c\n\n",
        ),
        (
            "comments",
            b":\n\n: ping\n\ndata: a\n\nevent: x\n: y\ndata: b\ndata: c\n\n",
        ),
        (
            "no data",
            b"event: ping\n\ndata: a\n\nevent: x\ndata: b\ndata: c\n\n",
        ),
        (
            "other fields",
            b"id: 7\nretry: 1\ndata: a\n\nevent: x\ndata: b\ndata: c\n\n",
        ),
        (
            "last blank line missing",
            b"data: a\n\nevent: x\ndata: b\ndata: c\n",
        ),
    ];
    for (case, body) in cases {
        assert_eq!(events(body), expected, "{case}");
    }
}

#[test]
fn half_an_event_at_the_end_is_dropped_and_a_whole_one_is_not() {
    assert_eq!(
        events(b"data: {\"a\":1}\n\ndata: {\"b\""),
        events(b"data: {\"a\":1}\n\n")
    );
    assert_eq!(events(b"data: {\"b\":2}").len(), 1);
    assert_eq!(
        events(b"data: [DONE]"),
        [(String::new(), "[DONE]".to_owned())]
    );
}

#[test]
fn a_line_and_an_event_have_a_limit() {
    let limits = SseLimits {
        line: 16,
        event: 20,
    };
    let mut out = Vec::new();
    let long = parse(b"data: 0123456789abcdef", limits, &mut out).expect_err("long line");
    assert_eq!(long.what, "line");
    let many = b"data: 012345678\n".repeat(4);
    let large = parse(&many, limits, &mut out).expect_err("large event");
    assert_eq!(large.what, "event");
}

/// Knows data that begin with `known`.
#[derive(Default)]
struct Knows(Vec<(String, String)>);

impl SseSink for Knows {
    fn piece<'b>(&self, bytes: &'b [u8]) -> Option<(&'b str, usize)> {
        bytes.starts_with(b"known").then_some(("a piece", 5))
    }

    fn take_piece(&mut self, text: &str) {
        self.0.push((String::new(), text.to_owned()));
    }

    fn take(&mut self, event: SseBytes<'_>) {
        let (name, data) = (event.name(), event.data());
        self.0.push((name.into_owned(), data.into_owned()));
    }
}

#[test]
fn what_a_sink_knows_is_taken_for_it_only_where_it_is_the_whole_event() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("data: known\n\n", &[("", "a piece")]),
        ("data: known\r\n\r\n", &[("", "a piece")]),
        ("data: known more\n\n", &[("", "known more")]),
        ("data: known\ndata: x\n\n", &[("", "known\nx")]),
        ("data: x\ndata: known\n\n", &[("", "x\nknown")]),
        (
            "event: e\ndata: known\n\ndata: x\n\n",
            &[("", "a piece"), ("", "x")],
        ),
        (
            "event: e\ndata: x\n\ndata: known\n\n",
            &[("e", "x"), ("", "a piece")],
        ),
    ];
    for (body, expected) in cases {
        let (mut parser, mut knows) = (SseParser::new(SseLimits::default()), Knows::default());
        let read = parser.each(body.as_bytes(), &mut knows);
        assert_eq!(read, Ok(()), "{body:?}");
        let found = knows.0.iter().map(|(name, data)| (&**name, &**data));
        assert_eq!(found.collect::<Vec<_>>(), *expected, "{body:?}");
    }
}

#[test]
fn an_event_of_one_line_has_the_limits_too() {
    for (line, event, what) in [(10, 100, "line"), (100, 5, "event")] {
        for body in ["data: known\n\n", "data: other\n\n", "data: other\r\r"] {
            let limits = SseLimits { line, event };
            let read = SseParser::new(limits).each(body.as_bytes(), &mut Knows::default());
            assert_eq!(read.map_err(|large| large.what), Err(what), "{body:?}");
        }
    }
}

#[test]
fn a_stream_is_told_from_a_body() {
    let cases: &[(&[u8], bool)] = &[
        (b"data: {}", true),
        (b":\n\ndata: {}", true),
        (b"\n\nevent: x", true),
        (b"{\"data\": 1}", false),
        (b"Internal Server Error", false),
        (b"<html>", false),
        (b"", false),
    ];
    for (body, expected) in cases {
        assert_eq!(
            is_stream(body),
            *expected,
            "{}",
            String::from_utf8_lossy(body)
        );
    }
}

proptest! {
    #[test]
    fn any_split_of_any_bytes_gives_the_same_events(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just(&b"data: "[..]), Just(&b"event: x"[..]), Just(&b"\n"[..]), Just(&b"\r"[..]),
                Just(&b"\r\n"[..]), Just("h\u{e9}\u{1f600}".as_bytes()), Just(&b":"[..]),
                Just(&b"\xEF\xBB\xBF"[..]), Just(&b"\xFF"[..]), Just(&b"{\"a\":1}"[..]),
            ], 0..40),
        cuts in proptest::collection::vec(1usize..7, 1..20),
    ) {
        let body = pieces.concat();
        let mut parser = SseParser::new(SseLimits::default());
        let (mut split, mut rest, mut turn) = (Vec::new(), body.as_slice(), 0);
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(cuts[turn % cuts.len()].min(rest.len()));
            parser.push(head, &mut split).expect("within the limits");
            (rest, turn) = (tail, turn + 1);
        }
        parser.finish(&mut split);
        let mut whole = Vec::new();
        parse(&body, SseLimits::default(), &mut whole).expect("within the limits");
        prop_assert_eq!(split, whole);
    }
}
