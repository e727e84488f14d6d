//! Bodies of every dialect for one prompt that has everything in it.

use super::{Body, DIALECTS, RequestParams, find};
use crate::chat::{
    Block, CacheMarker, Class, Content, Image, Message, Origin, Part, Prompt, Role, Span, Tool,
    ToolCall, Ttl,
};
use serde_json::{Map, Value};

fn span(origin: &str, text: &str) -> Span {
    Span::new(origin, Class::Static, text)
}

fn params(stream: bool) -> RequestParams {
    RequestParams {
        model: "m".to_owned(),
        max_tokens: 16,
        stream,
        ..RequestParams::default()
    }
}

fn call(id: &str) -> Block {
    Block {
        content: Content::Call(ToolCall {
            id: id.into(),
            name: span(Origin::TOOL_CALL, "find"),
            arguments: span(Origin::TOOL_CALL, r#"{"q":"a\"b"}"#),
        }),
        marker: None,
    }
}

fn result(id: &str, text: &str) -> Message {
    Message {
        role: Role::Tool,
        blocks: vec![Block::text(vec![span(Origin::TOOL_RESULT, text)])],
        tool_call_id: Some(id.into()),
    }
}

/// Tools with a nonce, a marked system prompt in two spans, a picture, reasoning,
/// two calls with their results, and two user messages in a row.
fn everything() -> Prompt {
    let picture = Image {
        media_type: "image/png".into(),
        data: span("image", "QUJD"),
    };
    let marked = Block {
        content: Content::Text(vec![
            span("agent", "Be \"kind\".\n"),
            span("memory", "Ada ✓"),
        ]),
        marker: Some(CacheMarker { ttl: Ttl::Hour }),
    };
    let mut thinking = Message::text(Role::Assistant, vec![span(Origin::REPLY, "Looking.")]);
    thinking.blocks.push(call("c1"));
    thinking.blocks.push(call("c2"));
    thinking.blocks.push(Block {
        content: Content::Reasoning(vec![span("reasoning", "hm")]),
        marker: None,
    });
    let mut first = Message::text(Role::User, vec![span(Origin::USER, "Hi")]);
    first.blocks.push(Block {
        content: Content::Image(picture),
        marker: None,
    });
    Prompt {
        tools: vec![Tool {
            name: "find".into(),
            description: vec![span(Origin::NONCE, "0 1 "), span(Origin::TOOLS, "Finds.")],
            parameters: span(Origin::TOOLS, r#"{"type":"object"}"#),
            marker: None,
        }],
        system: vec![marked, Block::text(vec![span("date", "today")])],
        messages: vec![
            first,
            thinking,
            result("c1", "one"),
            result("c2", "two"),
            Message::text(Role::User, vec![span("tail", "context")]),
            Message::text(Role::User, vec![span(Origin::USER, "And?")]),
        ],
        ..Prompt::default()
    }
}

fn body(dialect: &str, prompt: &Prompt, params: &RequestParams) -> Body {
    find(dialect).expect("dialect").body(prompt, params)
}

fn json(body: &Body) -> Value {
    serde_json::from_str(&body.text).expect("a body is JSON")
}

#[test]
fn every_span_stands_where_the_body_says_in_every_dialect() {
    let prompt = everything();
    for dialect in DIALECTS {
        let body = dialect.body(&prompt, &params(true));
        let mut last = 0;
        for placed in body.messages.iter().flat_map(|message| &message.spans) {
            let name = dialect.name();
            let written = &body.text[placed.start..placed.end];
            let text = serde_json::from_str::<String>(&format!("\"{written}\""))
                .unwrap_or_else(|_| written.to_owned());
            let raw = placed.part == Part::ToolSchema || placed.part == Part::CallArguments;
            assert!(
                text == placed.span.text.as_str() || (raw && written == placed.span.text.as_str()),
                "{name}: {written} is not {}",
                placed.span.text.as_str()
            );
            assert!(placed.start >= last, "{name}: ranges follow one another");
            last = placed.end;
        }
        assert!(json(&body).is_object(), "{}", dialect.name());
    }
}

#[test]
fn messages_are_placed_as_the_provider_renders_them_in_every_dialect() {
    use Role::{Assistant, System, Tool, Tools, User};
    for dialect in DIALECTS {
        let placed = dialect.body(&everything(), &params(true)).messages;
        let roles: Vec<Role> = placed.iter().map(|message| message.role).collect();
        let expected = [Tools, System, User, Assistant, Tool, Tool, User, User];
        assert_eq!(roles, expected, "{}", dialect.name());
        let texts: Vec<&str> = placed[0]
            .spans
            .iter()
            .map(|p| p.span.text.as_str())
            .collect();
        assert_eq!(texts, ["find", "0 1 ", "Finds.", r#"{"type":"object"}"#]);
    }
}

#[test]
fn the_same_prompt_gives_the_same_bytes() {
    for dialect in DIALECTS {
        let once = dialect.body(&everything(), &params(true));
        assert_eq!(
            once,
            dialect.body(&everything(), &params(true)),
            "{}",
            dialect.name()
        );
    }
}

#[test]
fn a_plain_chat_is_as_small_as_it_can_be() {
    let prompt = Prompt {
        system: vec![Block::text(vec![span("agent", "S")])],
        messages: vec![Message::text(Role::User, vec![span(Origin::USER, "U")])],
        ..Prompt::default()
    };
    let cases = [
        (
            "openai-chat",
            r#"{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"U"}],"max_tokens":16,"stream":true,"stream_options":{"include_usage":true}}"#,
        ),
        (
            "anthropic",
            r#"{"model":"m","max_tokens":16,"system":"S","messages":[{"role":"user","content":"U"}],"stream":true}"#,
        ),
        (
            "openai-responses",
            r#"{"model":"m","instructions":"S","input":[{"type":"message","role":"user","content":"U"}],"max_output_tokens":16,"stream":true,"store":false}"#,
        ),
        (
            "gemini",
            r#"{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[{"role":"user","parts":[{"text":"U"}]}],"generationConfig":{"maxOutputTokens":16}}"#,
        ),
        (
            "bedrock",
            r#"{"system":[{"text":"S"}],"messages":[{"role":"user","content":[{"text":"U"}]}],"inferenceConfig":{"maxTokens":16}}"#,
        ),
    ];
    for (dialect, expected) in cases {
        assert_eq!(
            body(dialect, &prompt, &params(true)).text,
            expected,
            "{dialect}"
        );
    }
}

#[test]
fn openai_writes_tools_calls_results_pictures_and_markers() {
    let body = json(&body("openai-chat", &everything(), &params(false)));
    let system = &body["messages"][0]["content"];
    assert_eq!(system[0]["text"], "Be \"kind\".\nAda ✓");
    assert_eq!(
        system[0]["cache_control"],
        serde_json::json!({"type": "ephemeral", "ttl": "1h"})
    );
    assert_eq!(system[1].get("cache_control"), None);
    let url = &body["messages"][1]["content"][1]["image_url"]["url"];
    assert_eq!(url, "data:image/png;base64,QUJD");
    let assistant = &body["messages"][2];
    assert_eq!(assistant["content"], "Looking.");
    assert_eq!(assistant["reasoning_content"], "hm");
    assert_eq!(assistant["tool_calls"][1]["id"], "c2");
    assert_eq!(
        assistant["tool_calls"][0]["function"]["arguments"],
        r#"{"q":"a\"b"}"#
    );
    assert_eq!(body["messages"][4]["tool_call_id"], "c2");
    assert_eq!(body["tools"][0]["function"]["description"], "0 1 Finds.");
    assert_eq!(body["stream"], false);
    assert_eq!(body.get("stream_options"), None);
}

#[test]
fn openai_marks_its_own_way_where_caching_is_explicit() {
    let mut prompt = everything();
    prompt.hints.explicit_cache = true;
    prompt.hints.prompt_cache_key = Some("k".to_owned());
    for (dialect, place) in [
        ("openai-chat", "/messages/0/content/0"),
        ("openai-responses", "/input/0/content/0"),
    ] {
        let body = json(&body(dialect, &prompt, &params(true)));
        assert_eq!(
            body["prompt_cache_options"],
            serde_json::json!({"mode": "explicit", "ttl": "30m"}),
            "{dialect}"
        );
        assert_eq!(body["prompt_cache_key"], "k", "{dialect}");
        let block = body.pointer(place).expect("block");
        assert_eq!(
            block["prompt_cache_breakpoint"]["mode"], "explicit",
            "{dialect}"
        );
        assert_eq!(block.get("cache_control"), None, "{dialect}");
    }
}

#[test]
fn anthropic_joins_results_of_tools_and_nothing_else() {
    let body = json(&body("anthropic", &everything(), &params(true)));
    let messages = body["messages"].as_array().expect("messages");
    let roles: Vec<&str> = messages.iter().filter_map(|m| m["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "user", "user"]);
    let results = messages[2]["content"].as_array().expect("results");
    assert_eq!(
        (&results[0]["tool_use_id"], &results[1]["content"]),
        (&Value::from("c1"), &Value::from("two"))
    );
    assert_eq!(messages[1]["content"][1]["input"]["q"], "a\"b");
    assert_eq!(messages[3]["content"], "context");
    assert_eq!(messages[0]["content"][1]["source"]["data"], "QUJD");
    assert_eq!(body["system"][0]["cache_control"]["ttl"], "1h");
}

#[test]
fn responses_and_gemini_and_bedrock_write_calls_and_results() {
    let prompt = everything();
    let responses = json(&body("openai-responses", &prompt, &params(true)));
    let kinds: Vec<&str> = responses["input"]
        .as_array()
        .expect("input")
        .iter()
        .filter_map(|i| i["type"].as_str())
        .collect();
    let expected = [
        "message",
        "message",
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "message",
        "message",
    ];
    assert_eq!(kinds, expected);

    let gemini = json(&body("gemini", &prompt, &params(true)));
    let answer = &gemini["contents"][2]["parts"][0]["functionResponse"];
    assert_eq!(
        (&answer["name"], &answer["response"]["result"]),
        (&Value::from("find"), &Value::from("one"))
    );
    assert_eq!(gemini["contents"][1]["role"], "model");

    let bedrock = json(&body("bedrock", &prompt, &params(true)));
    let roles: Vec<&str> = bedrock["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter_map(|m| m["role"].as_str())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"], "sides take turns");
    assert_eq!(
        bedrock["messages"][2]["content"].as_array().map(Vec::len),
        Some(4)
    );
    assert_eq!(bedrock["system"][1]["cachePoint"]["ttl"], "1h");
}

#[test]
fn a_salt_is_sent_and_extra_fields_replace_ours() {
    let mut params = params(true);
    params.salt = Some("s".to_owned());
    let extra: Map<String, Value> = [
        ("max_tokens".to_owned(), Value::Null),
        ("max_completion_tokens".to_owned(), Value::from(9)),
        ("temperature".to_owned(), Value::from(0)),
    ]
    .into_iter()
    .collect();
    params.extra = extra;
    for dialect in ["openai-chat", "anthropic", "openai-responses"] {
        let text = body(dialect, &everything(), &params).text;
        assert!(text.contains(r#""cache_salt":"s""#), "{dialect}");
        assert!(
            text.ends_with(r#""max_completion_tokens":9,"temperature":0}"#),
            "{dialect}: {text}"
        );
        assert!(!text.contains(r#""max_tokens""#), "{dialect}");
    }
}

#[test]
fn names_are_unique_and_explained() {
    for (at, dialect) in DIALECTS.iter().enumerate() {
        assert!(!dialect.about().is_empty());
        assert!(dialect.path("m", true).starts_with('/'));
        assert!(
            DIALECTS[..at]
                .iter()
                .all(|earlier| earlier.name() != dialect.name())
        );
        assert_eq!(
            find(dialect.name()).map(super::Dialect::name),
            Some(dialect.name())
        );
    }
    assert!(find("opnai").is_none());
}
