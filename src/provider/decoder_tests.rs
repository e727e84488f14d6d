//! Answers in the forms that vendors document and the captures do not hold.

use super::{Answer, AnswerCall, CUT, Decoded, decode, find};
use crate::chat::{ChatEvent, FinishReason};

fn read(dialect: &str, body: &str) -> Decoded {
    decode(find(dialect).expect("dialect"), body.as_bytes())
}

fn answer(dialect: &str, body: &str) -> Answer {
    let (mut events, mut answer) = (Vec::new(), Answer::default());
    find(dialect)
        .expect("dialect")
        .decoder()
        .whole(200, body.as_bytes(), &mut events);
    answer.extend(events);
    answer
}

fn counts(decoded: &Decoded) -> Option<(Option<u64>, Option<u64>)> {
    let usage = decoded.usage.as_ref()?;
    Some((usage.total.map(|t| t.0), usage.read.map(|t| t.0)))
}

#[test]
fn the_usage_of_a_kimi_stream_stands_in_its_choice() {
    let stream = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\",\"usage\":",
        "{\"prompt_tokens\":9,\"completion_tokens\":1,\"cached_tokens\":4}}]}\n\ndata: [DONE]\n\n"
    );
    assert_eq!(
        counts(&read("openai-chat", stream)),
        Some((Some(9), Some(4)))
    );
}

#[test]
fn the_last_of_several_usage_objects_counts_and_timings_never_replace_it() {
    let stream = concat!(
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":0}}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":",
        "{\"prompt_tokens\":9,\"completion_tokens\":2,\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\n",
        "data: {\"choices\":[],\"usage\":null,\"timings\":{\"cache_n\":1,\"prompt_n\":1}}\n\n",
    );
    assert_eq!(
        counts(&read("openai-chat", stream)),
        Some((Some(9), Some(8)))
    );
}

#[test]
fn a_finish_without_an_end_marker_is_whole_and_an_end_marker_without_a_finish_is_not() {
    let finish =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n";
    let whole = read("openai-chat", finish);
    assert_eq!(
        (whole.error, whole.finish_reason.as_deref()),
        (None, Some("length"))
    );
    let marker = read("openai-chat", "data: {\"choices\":[]}\n\ndata: [DONE]\n\n");
    assert_eq!(marker.error.as_deref(), Some(CUT));
}

#[test]
fn an_error_event_keeps_the_text_before_it() {
    let stream = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n",
        "data: {\"error\":{\"message\":\"engine died\",\"type\":\"server_error\",\"code\":500}}\n\n",
    );
    let decoded = read("openai-chat", stream);
    assert_eq!(decoded.text.as_deref(), Some("half"));
    assert_eq!(decoded.error.as_deref(), Some("engine died"));

    let stream = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    assert_eq!(
        read("anthropic", stream).error.as_deref(),
        Some("Overloaded")
    );
    let stream = "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"boom\"}\n\n";
    assert_eq!(
        read("openai-responses", stream).error.as_deref(),
        Some("boom")
    );
}

#[test]
fn data_that_is_no_json_is_an_error_and_a_comment_in_disguise_is_not() {
    let finish = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(
        read("openai-chat", &format!("data: : ping\n\n{finish}")).error,
        None
    );
    let broken = read("openai-chat", &format!("data: {{oops\n\n{finish}"));
    assert_eq!(broken.error.as_deref(), Some("an event is not JSON: {oops"));
    let html = read("anthropic", "<html><title>Gone</title></html>");
    assert_eq!(
        html.error.as_deref(),
        Some("the body is not JSON: an HTML page, `Gone`")
    );
    assert!(
        read("anthropic", "{\"choices\":[]}").error.is_some(),
        "another dialect's body"
    );
}

#[test]
fn calls_are_put_together_from_their_pieces() {
    let openai = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",",
        "\"function\":{\"name\":\"find\",\"arguments\":\"\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":",
        "{\"arguments\":\"{\\\"q\\\":\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":",
        "{\"arguments\":\"1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
    );
    let anthropic = concat!(
        "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",",
        "\"id\":\"c1\",\"name\":\"find\",\"input\":{}}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",",
        "\"partial_json\":\"{\\\"q\\\":1}\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
    );
    let responses = concat!(
        "data: {\"type\":\"response.output_item.added\",\"output_index\":2,\"item\":",
        "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"find\",\"arguments\":\"\"}}\n\n",
        "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":2,\"delta\":",
        "\"{\\\"q\\\":1}\"}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":",
        "[{},{},{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"find\",\"arguments\":\"{\\\"q\\\":1}\"}]}}\n\n",
    );
    let gemini = concat!(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"c1\",\"name\":",
        "\"find\",\"args\":{\"q\":1}}}]},\"finishReason\":\"STOP\"}]}\n\n",
    );
    let cases = [
        ("openai-chat", openai),
        ("anthropic", anthropic),
        ("openai-responses", responses),
        ("gemini", gemini),
    ];
    for (dialect, stream) in cases {
        let answer = answer(dialect, stream);
        let expected = AnswerCall {
            id: "c1".to_owned(),
            name: "find".to_owned(),
            arguments: "{\"q\":1}".to_owned(),
        };
        assert_eq!(answer.tool_calls, [expected], "{dialect}");
        assert_eq!(answer.finish, Some(FinishReason::ToolCalls), "{dialect}");
        assert!(
            read(dialect, stream).first_text_event.is_some(),
            "{dialect}"
        );
    }
}

#[test]
fn calls_without_a_place_of_their_own_stay_apart() {
    let stream = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[",
        "{\"index\":null,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},",
        "{\"id\":\"c2\",\"function\":{\"name\":\"g\",\"arguments\":\"[]\"}}]},",
        "\"finish_reason\":\"tool_calls\"}]}\n\n",
    );
    let answer = answer("openai-chat", stream);
    let calls = answer.tool_calls.iter();
    let calls: Vec<_> = calls
        .map(|call| (&*call.id, &*call.name, &*call.arguments))
        .collect();
    assert_eq!(calls, [("c1", "f", "{}"), ("c2", "g", "[]")]);
}

#[test]
fn half_a_character_costs_no_more_than_itself() {
    let stream = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\\ud83d\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ude00b\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n",
    );
    let answer = answer("openai-chat", stream);
    assert_eq!(answer.text.as_deref(), Some("a\u{fffd}\u{fffd}b"));
    assert_eq!(answer.finish, Some(FinishReason::Stop));
    assert_eq!(
        answer.usage.and_then(|usage| usage.total),
        Some(crate::units::Tokens(7))
    );
}

#[test]
fn reasoning_is_kept_apart_from_the_answer() {
    let openai = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}\n\n",
    );
    let gemini = concat!(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]}}]}\n\n",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true}]}}]}\n\n",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"yes\"}]},\"finishReason\":\"STOP\"}],",
        "\"usageMetadata\":{\"promptTokenCount\":7,\"cachedContentTokenCount\":3}}\n\n",
    );
    for (dialect, stream) in [("openai-chat", openai), ("gemini", gemini)] {
        let answer = answer(dialect, stream);
        assert_eq!(
            (answer.text.as_deref(), answer.reasoning.as_str()),
            (Some("yes"), "hm")
        );
        assert_eq!(read(dialect, stream).first_text_event, Some(1), "{dialect}");
    }
    assert_eq!(counts(&read("gemini", gemini)), Some((Some(7), Some(3))));
}

#[test]
fn gemini_without_sse_is_a_list_of_chunks() {
    let list = r#"[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},
        {"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"MAX_TOKENS"}]}]"#;
    let decoded = read("gemini", list);
    assert_eq!(
        (decoded.text.as_deref(), decoded.finish_reason.as_deref()),
        (Some("ab"), Some("length"))
    );
}

#[test]
fn bedrock_reads_a_whole_answer() {
    let body = r#"{"output":{"message":{"role":"assistant","content":[{"text":"a"}]}},
        "stopReason":"end_turn","usage":{"inputTokens":2,"outputTokens":1,"cacheReadInputTokens":3}}"#;
    let decoded = read("bedrock", body);
    assert_eq!(decoded.text.as_deref(), Some("a"));
    assert_eq!(counts(&decoded), Some((Some(5), Some(3))));
}

#[test]
fn who_served_is_told_once() {
    let chunk = "data: {\"provider\":\"Groq\",\"system_fingerprint\":\"fp\",\"choices\":[]}\n\n";
    let mut events = Vec::new();
    let stream = chunk.repeat(3);
    find("openai-chat")
        .expect("dialect")
        .decoder()
        .whole(200, stream.as_bytes(), &mut events);
    let served: Vec<_> = events
        .iter()
        .filter(|e| matches!(e, ChatEvent::ServedBy(_)))
        .collect();
    assert_eq!(served, [&ChatEvent::ServedBy("Groq".to_owned())]);
}

#[test]
fn the_ids_of_what_was_generated_are_read_where_the_server_names_them() {
    // As vLLM 0.32 sends them, by `return_tokens_as_token_ids` and by `return_token_ids`.
    let stream = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},",
        "\"logprobs\":null,\"finish_reason\":null}],\"prompt_token_ids\":null}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"The\"},\"logprobs\":{\"content\":[",
        "{\"token\":\"token_id:1716\",\"logprob\":0.0,\"bytes\":[84,104,101],\"top_logprobs\":[]}]},",
        "\"finish_reason\":null,\"token_ids\":null}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" cache holds\"},\"token_ids\":[1701,7651],",
        "\"finish_reason\":\"length\",\"stop_reason\":null}]}\n\n",
        "data: [DONE]\n\n"
    );
    let read = answer("openai-chat", stream);
    assert_eq!(read.output_ids.as_deref(), Some(&[1716, 1701, 7651][..]));
    assert_eq!(read.text.as_deref(), Some("The cache holds"));
    // Ordinary log probabilities name no ids.
    let words = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"The\"},\"logprobs\":{\"content\":[",
        "{\"token\":\"The\",\"logprob\":0.0}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
    );
    assert_eq!(answer("openai-chat", words).output_ids, None);
}

#[test]
fn zeros_sent_before_anything_was_counted_are_no_counts() {
    let opened = |usage: &str| {
        format!(
            "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"usage\":{usage}}}}}\n\n"
        )
    };
    let closed = |usage: &str| {
        format!(
            "event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}},\"usage\":{usage}}}\n\n"
        )
    };
    let zeros = r#"{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}"#;
    // opening, closing, read, written
    let cases = [
        // LiteLLM's translation: cold, warm, and in front of a server that counts both.
        (
            zeros,
            r#"{"input_tokens":2556,"output_tokens":17}"#,
            None,
            None,
        ),
        (
            zeros,
            r#"{"input_tokens":28,"output_tokens":17,"cache_read_input_tokens":2528}"#,
            Some(2_528),
            None,
        ),
        (
            zeros,
            r#"{"input_tokens":28,"output_tokens":17,"cache_read_input_tokens":0,"cache_creation_input_tokens":2528}"#,
            Some(0),
            Some(2_528),
        ),
        // A server's own: its zeros stand beside a prompt that it counted.
        (
            r#"{"input_tokens":2556,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}"#,
            r#"{"output_tokens":17}"#,
            Some(0),
            Some(0),
        ),
    ];
    for (opening, closing, read, written) in cases {
        let usage = answer("anthropic", &(opened(opening) + &closed(closing))).counted();
        let usage = usage.expect(closing);
        let found = (usage.read.map(|t| t.0), usage.written().map(|t| t.0));
        assert_eq!(found, (read, written), "{closing}");
        assert_eq!(usage.total.map(|t| t.0), Some(2_556), "{closing}");
    }
}
