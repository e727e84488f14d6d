use super::*;
use crate::chat::Ttl;

/// `role: text` for each block, with its marker.
fn shown(prompt: &Prompt) -> Vec<String> {
    let system = prompt.system.iter().map(|block| ("system", block));
    let messages = prompt.messages.iter().flat_map(|message| {
        let blocks = message.blocks.iter();
        blocks.map(|block| (message.role.as_str(), block))
    });
    let all = system.chain(messages).map(|(role, block)| {
        let text = match &block.content {
            Content::Text(spans) => spans.iter().map(|span| &*span.text).collect(),
            Content::Reasoning(spans) => format!("thinks {}", spans[0].text),
            Content::Call(call) => format!("calls {} {}", call.name.text, call.arguments.text),
            Content::Image(image) => format!("{} {}", image.media_type, image.data.text),
        };
        let marker = match block.marker {
            None => "",
            Some(marker) if marker.ttl == Ttl::Hour => " (1h)",
            Some(_) => " (5m)",
        };
        format!("{role}: {text}{marker}")
    });
    all.collect()
}

#[test]
fn a_body_of_the_openai_form_is_read() {
    let body = r#"{"model": "m", "temperature": 0, "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look."},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "find", "arguments": "{\"a\":1}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "found"},
        {"role": "system", "content": "Later."}],
        "tools": [{"type": "function", "function":
            {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}}],
        "prompt_cache_key": "k"}"#;
    let prompt = read(body).unwrap();
    let expected = [
        "system: Be brief.",
        "user: Look.",
        "user: image/png AAAA",
        "assistant: calls find {\"a\":1}",
        "tool: found",
        "system: Later.",
    ];
    assert_eq!(shown(&prompt), expected);
    assert_eq!(prompt.messages[2].tool_call_id.as_deref(), Some("1"));
    assert_eq!(&*prompt.tools[0].name, "find");
    assert_eq!(
        prompt.tools[0].parameters.text.as_str(),
        r#"{"type":"object"}"#
    );
    assert_eq!(prompt.hints.prompt_cache_key.as_deref(), Some("k"));
}

#[test]
fn a_body_of_the_anthropic_form_is_read_with_its_markers() {
    let body = r#"{"system": [{"type": "text", "text": "Be brief.",
            "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "tools": [{"name": "find", "input_schema": {}, "cache_control": {"type": "ephemeral"}}],
        "messages": [
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"},
            {"type": "tool_use", "id": "1", "name": "find", "input": {"b": 1, "a": 2}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": "found",
             "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "Go on."}]}]}"#;
    let prompt = read(body).unwrap();
    let expected = [
        "system: Be brief. (1h)",
        "assistant: thinks hm",
        "assistant: calls find {\"b\":1,\"a\":2}",
        "tool: found (5m)",
        "user: Go on.",
    ];
    assert_eq!(shown(&prompt), expected);
    assert!(prompt.tools[0].marker.is_some());
}

#[test]
fn what_is_not_understood_is_named_with_its_place() {
    for (body, expected) in [
        ("[]", "not a JSON object"),
        ("{}", "`messages`: missing"),
        (
            r#"{"input": []}"#,
            "`messages`: missing (of the finished forms, OpenAI chat and Anthropic are read)",
        ),
        (r#"{"messages": [3]}"#, "`messages[0]`: not an object"),
        (
            r#"{"messages": [{"content": ""}]}"#,
            "`messages[0]`: no string `role`",
        ),
        (
            r#"{"messages": [{"role": "user", "content": [{"type": "audio"}]}]}"#,
            "`messages[0].content[0]`: unknown block `audio`",
        ),
        (
            r#"{"messages": [{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]}]}"#,
            "`messages[0].content[0]`: a picture that is not given as base64",
        ),
        (
            r#"{"messages": [{"role": "user", "content": [
                {"type": "text", "text": "a", "class": "often"}]}]}"#,
            "`messages[0].content[0]`: `class` is not static, conversation or turn",
        ),
        (
            r#"{"tools": [{"type": "function"}], "messages": []}"#,
            "`tools[0]`: no string `name`",
        ),
        (
            r#"{"system": [{"type": "tool_result", "tool_use_id": "1"}], "messages": []}"#,
            "`system`: no place for a tool result",
        ),
    ] {
        assert_eq!(read(body).unwrap_err(), expected, "{body}");
    }
}
