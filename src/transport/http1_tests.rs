//! What bytes mean, however they come.

use super::*;
use proptest::prelude::*;

/// What an answer turned out to be: status, content, whether the connection stays, and
/// the bytes behind it.
type Read = Result<Option<(u16, Vec<u8>, bool, Vec<u8>)>, NoHttp>;

/// Reads an answer that came in these pieces and then ended, or not (`ends`).
fn read(pieces: &[&[u8]], ends: bool) -> Read {
    let (mut unread, mut content) = (BytesMut::new(), Vec::new());
    let mut known: Option<(u16, Body, bool)> = None;
    for piece in pieces {
        unread.extend_from_slice(piece);
        while known.is_none_or(|(status, ..)| status < 200) {
            let Some(head) = head(&unread)? else { break };
            known = Some((head.status, head.body, head.keep));
            let length = head.length;
            unread.advance(length);
        }
        if let Some((status, body, _)) = &mut known
            && *status >= 200
        {
            body.take(&mut unread, &mut content)?;
        }
    }
    Ok(known.and_then(|(status, body, keep)| {
        let whole = body.is_whole() || (ends && body == Body::UntilClosed);
        whole.then(|| (status, content, keep, unread.to_vec()))
    }))
}

/// Each byte in a piece of its own.
fn bytes(answer: &[u8]) -> Vec<&[u8]> {
    answer.chunks(1).collect()
}

fn whole(answer: &str) -> Read {
    read(&[answer.as_bytes()], true)
}

#[test]
fn a_head_says_how_its_body_is_packed_wherever_it_says_it() {
    let cases = [
        ("content-encoding: GZIP", Some("Content-Encoding: gzip")),
        (
            "content-encoding: identity\r\ncontent-encoding: br",
            Some("Content-Encoding: br"),
        ),
        (
            "transfer-encoding: gzip, chunked",
            Some("Transfer-Encoding: gzip"),
        ),
        ("transfer-encoding: gzip", Some("Transfer-Encoding: gzip")),
        ("transfer-encoding: chunked", None),
        ("content-encoding: identity,", None),
        ("x: gzip", None),
    ];
    for (header, expected) in cases {
        let answer = format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\n");
        let head = head(answer.as_bytes()).expect("a head").expect("whole");
        assert_eq!(head.coding().as_deref(), expected, "{header}");
    }
}

#[test]
fn a_value_over_several_lines_is_one_line() {
    let head = head(b"HTTP/1.1 200 OK\r\nx-a: one,\r\n  two\r\n\tthree\r\nx-b: c\r\n\r\n");
    let head = head.expect("a head").expect("whole");
    assert_eq!(head.header("X-A"), Some("one, two three"));
    assert_eq!(head.header("x-b"), Some("c"));
}

#[test]
fn a_body_ends_where_its_head_says() {
    let cases = [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabc",
            Some((200, "ab", true, "c")),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nab",
            Some((200, "ab", true, "")),
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na", None),
        ("HTTP/1.1 200 OK\r\n\r\nab", Some((200, "ab", false, ""))),
        (
            "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na",
            Some((200, "a", false, "")),
        ),
        (
            "HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 1\r\n\r\na",
            Some((200, "a", true, "")),
        ),
        (
            "HTTP/1.1 200 OK\r\nconnection: x, Close\r\ncontent-length: 1\r\n\r\na",
            Some((200, "a", false, "")),
        ),
        (
            "HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\n",
            Some((204, "", true, "")),
        ),
        ("HTTP/1.1 304 No\r\n\r\n", Some((304, "", true, ""))),
        (
            "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Hint\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na",
            Some((200, "a", true, "")),
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;x=\"y\"\r\na\r\nA \r\n0123456789\r\n0\r\nsum: 1\r\n\r\nz",
            Some((200, "a0123456789", true, "z")),
        ),
        // A length beside it is a mistake or worse: what comes behind is not trusted.
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            Some((200, "a", false, "")),
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nab",
            Some((200, "ab", false, "")),
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n",
            None,
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n",
            None,
        ),
        // Parts of a list may be empty, and a value may go over several lines.
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked,\r\n\r\n1\r\na\r\n0\r\n\r\n",
            Some((200, "a", true, "")),
        ),
        (
            "HTTP/1.1 200 OK\r\nconnection: x,\r\n\tclose\r\ncontent-length:\r\n 1\r\n\r\na",
            Some((200, "a", false, "")),
        ),
        // What knows no pieces may have handed them on.
        (
            "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            Some((200, "a", false, "")),
        ),
        ("HTTP/1.1 2", None),
    ];
    for (answer, expected) in cases {
        let expected = expected.map(|(status, content, keep, behind): (u16, &str, bool, &str)| {
            (status, content.into(), keep, behind.into())
        });
        assert_eq!(whole(answer), Ok(expected), "{answer}");
    }
}

#[test]
fn what_is_no_http_is_told_apart() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let cases = [
        (
            "SSH-2.0-x\r\n".to_owned(),
            NoHttp::Head(httparse::Error::Version),
        ),
        (
            "HTTP/2 200\r\n\r\n".to_owned(),
            NoHttp::Head(httparse::Error::Version),
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 1, 2\r\n\r\n".to_owned(),
            NoHttp::Length,
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\n".to_owned(),
            NoHttp::Length,
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: \r\n\r\n".to_owned(),
            NoHttp::Length,
        ),
        (
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}0\r\n\r\n", u64::MAX),
            NoHttp::Length,
        ),
        ("HTTP/1.1 101 Other\r\n\r\n".to_owned(), NoHttp::Switched),
        (format!("{chunked}\r\n"), NoHttp::ChunkSize),
        (format!("{chunked}g\r\n"), NoHttp::ChunkSize),
        (format!("{chunked}11111111111111111\r\n"), NoHttp::ChunkSize),
        (format!("{chunked}1\r\nab\r\n"), NoHttp::ChunkEnd),
        (
            format!("{chunked}1;{}", "x".repeat(LONGEST)),
            NoHttp::ChunkSize,
        ),
        (
            format!("{chunked}0\r\na: {}", "x".repeat(LONGEST)),
            NoHttp::TooLong,
        ),
        (
            format!("HTTP/1.1 200 OK\r\na: {}", "x".repeat(LONGEST)),
            NoHttp::TooLong,
        ),
        (
            format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(MOST + 1)),
            NoHttp::Head(httparse::Error::TooManyHeaders),
        ),
    ];
    for (answer, expected) in cases {
        let answer: &str = &answer;
        let shown: String = answer.chars().take(80).collect();
        assert_eq!(whole(answer), Err(expected), "{shown}");
    }
}

/// An answer in pieces of any length, with what is in it.
fn answers() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let chunks = prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6);
    (chunks, any::<bool>()).prop_map(|(chunks, sized)| {
        let content = chunks.concat();
        let mut answer = if sized {
            format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n",
                content.len()
            )
            .into_bytes()
        } else {
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec()
        };
        if sized {
            answer.extend_from_slice(&content);
        } else {
            for chunk in &chunks {
                answer.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                answer.extend_from_slice(chunk);
                answer.extend_from_slice(b"\r\n");
            }
            answer.extend_from_slice(b"0\r\n\r\n");
        }
        (answer, content)
    })
}

proptest! {
    #[test]
    fn an_answer_reads_the_same_at_every_cut((answer, content) in answers()) {
        let expected = Ok(Some((200, content, true, Vec::new())));
        prop_assert_eq!(&read(&[answer.as_slice()], false), &expected);
        prop_assert_eq!(&read(&bytes(&answer), false), &expected);
        for cut in 0..answer.len() {
            let (first, second) = answer.split_at(cut);
            prop_assert_eq!(&read(&[first, second], false), &expected);
            prop_assert_eq!(&read(&[first], false), &Ok(None), "cut at {}", cut);
        }
    }

    #[test]
    fn no_bytes_make_it_stumble(noise in prop::collection::vec(any::<u8>(), 0..200), start in 0..3_usize) {
        let starts = ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"];
        let answer = [starts[start].as_bytes(), &noise].concat();
        // Refused or not, it ends, and in the same way however it is cut.
        let (at_once, in_bytes) = (read(&[answer.as_slice()], true), read(&bytes(&answer), true));
        prop_assert_eq!(at_once.is_err(), in_bytes.is_err());
    }
}
