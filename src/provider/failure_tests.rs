//! Error bodies of every shape.

use super::*;

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn every_shape_of_error_body_gives_one_clear_message_and_its_class() {
    let cases: &[(u16, &str, Outcome, &str)] = &[
        (
            401,
            r#"{"error":"Unauthorized"}"#,
            Outcome::Auth,
            "Unauthorized",
        ),
        (
            404,
            r#"{"detail":"Not Found"}"#,
            Outcome::NotFound,
            "Not Found",
        ),
        (
            422,
            r#"{"detail":[{"loc":["body","model"],"msg":"Field required","type":"missing"}]}"#,
            Outcome::Http4xx,
            "Field required",
        ),
        (
            500,
            "Internal Server Error",
            Outcome::Http5xx,
            "Internal Server Error",
        ),
        (
            502,
            "<html><head><title>502 Bad\n Gateway</title></head></html>",
            Outcome::Http5xx,
            "an HTML page, `502 Bad Gateway`",
        ),
        (503, "", Outcome::Http5xx, "an empty body"),
        (
            500,
            r#"{"error":{"message":"","type":"server_error"}}"#,
            Outcome::Http5xx,
            "server_error",
        ),
        (
            400,
            "event: error\ndata: {\"error\":{\"message\":\"in a stream\"}}\n\n",
            Outcome::Http4xx,
            "in a stream",
        ),
        (
            429,
            r#"{"error":{"message":"slow down"}}"#,
            Outcome::Http429,
            "slow down",
        ),
        (
            400,
            r#"{"error":{"message":"No connected db.","type":"no_db_connection","code":"400"}}"#,
            Outcome::Auth,
            "No connected db.",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"too big","type":"exceed_context_size_error"}}"#,
            Outcome::Overflow,
            "too big",
        ),
        (
            400,
            r#"{"error":{"message":"x","type":"BadRequestError","param":"input_tokens"}}"#,
            Outcome::Overflow,
            "x",
        ),
        (
            400,
            r#"{"error":{"message":"x","type":"BadRequestError","param":"max_tokens"}}"#,
            Outcome::Http4xx,
            "x",
        ),
        (
            400,
            r#"{"error":{"message":"litellm.ContextWindowExceededError: y","code":"400"}}"#,
            Outcome::Overflow,
            "litellm.ContextWindowExceededError: y",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
            Outcome::Overflow,
            "prompt is too long: 9 > 8",
        ),
        (
            400,
            r#"{"error":{"message":"Invalid model name passed in model=nope.","code":"400"}}"#,
            Outcome::NotFound,
            "Invalid model name passed in model=nope.",
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"bad key","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
            Outcome::Auth,
            "bad key",
        ),
        (
            200,
            r#"{"error":{"message":"no money","code":402}}"#,
            Outcome::Http4xx,
            "no money",
        ),
        (
            200,
            r#"{"error":{"message":"odd"}}"#,
            Outcome::StreamError,
            "odd",
        ),
        (307, "", Outcome::NotFound, "an empty body"),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Outcome::Http5xx,
            "Overloaded",
        ),
        (
            400,
            r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#,
            Outcome::Http4xx,
            "m",
        ),
    ];
    for (status, body, outcome, message) in cases {
        let failure = failure(*status, body.as_bytes());
        assert_eq!(
            (failure.outcome, failure.message.as_str()),
            (*outcome, *message),
            "{body}"
        );
    }
}

#[test]
fn a_message_is_one_line_of_bounded_length() {
    let failure = failure(500, "a\n\n b ".repeat(100_000).as_bytes());
    assert!(failure.message.starts_with("a b a b"));
    assert!(failure.message.chars().count() <= MESSAGE_CHARS + 1);
}

#[test]
fn bytes_that_are_no_text_are_counted_and_not_shown() {
    let packed = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff, 0xab, 0x56, 0xca];
    let failure = failure(502, &packed);
    let expected = "13 bytes that are no text, `1f 8b 08 00 00 00 00 00 …`";
    assert_eq!(failure.message, expected);
    let mut said = Vec::new();
    crate::provider::find("openai-chat")
        .expect("a dialect")
        .decoder()
        .whole(200, &packed, &mut said);
    let [ChatEvent::Error { message, .. }] = said.as_slice() else {
        panic!("{said:?}");
    };
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn a_message_cannot_act_on_a_terminal() {
    for body in [
        "this server has had to stop \u{1b}[2J\u{7}now",
        r#"{"error":{"message":"this server has had to stop \u001b[2J\u0007now"}}"#,
    ] {
        let message = failure(500, body.as_bytes()).message;
        assert_eq!(message, "this server has had to stop \\u{1b}[2J\\u{7}now");
    }
}

#[test]
fn an_error_that_is_null_is_none() {
    assert_eq!(event(&serde_json::json!({"error": null, "id": "x"})), None);
    assert_eq!(event(&serde_json::json!({"error": "", "id": "x"})), None);
    assert_eq!(event(&serde_json::json!({"choices": []})), None);
}
