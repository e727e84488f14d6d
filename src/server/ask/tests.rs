use super::*;

fn said(dialect: Dialect, body: &str) -> Vec<(&'static str, String, Vec<usize>)> {
    let ask = Ask::read(dialect, body.as_bytes()).expect(body);
    let said = ask.said.into_iter();
    said.map(|said| (said.role.as_str(), said.text, said.marks))
        .collect()
}

fn plain(role: &'static str, text: &str) -> (&'static str, String, Vec<usize>) {
    (role, text.to_owned(), Vec::new())
}

#[test]
fn a_chat_body_becomes_messages() {
    let body = r#"{"model":"m","unknown":1,
        "tools":[{"type":"function","function":{"name":"find","description":"Finds.","parameters":{"b":1,"a":[2]}}}],
        "messages":[
            {"role":"developer","content":"Be\nbrief."},
            {"role":"user","content":[{"type":"text","text":"One "},{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"two"}]},
            {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"find","arguments":"{\"q\":1}"}}]},
            {"role":"tool","tool_call_id":"1","content":"found"}]}"#;
    assert_eq!(
        said(Dialect::Chat, body),
        [
            plain("tools", r#"findFinds.{"b":1,"a":[2]}"#),
            plain("system", "Be\nbrief."),
            plain("user", "One two"),
            plain("assistant", r#"find{"q":1}"#),
            plain("tool", "found"),
        ]
    );
}

#[test]
fn a_messages_body_becomes_the_same_messages() {
    let body = r#"{"model":"m","max_tokens":5,
        "tools":[{"name":"find","description":"Finds.","input_schema":{"b":1,"a":[2]},"cache_control":{"type":"ephemeral"}}],
        "system":[{"type":"text","text":"Be\n"},{"type":"text","text":"brief.","cache_control":{"type":"ephemeral"}}],
        "messages":[
            {"role":"user","content":[{"type":"text","text":"One ","cache_control":{"type":"ephemeral"}},{"type":"text","text":"two"}]},
            {"role":"assistant","content":[{"type":"text","text":"Let me."},{"type":"tool_use","id":"1","name":"find","input":{"q":1}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"found"}]},
                {"type":"tool_result","tool_use_id":"2","content":"more","cache_control":{"type":"ephemeral"}},
                {"type":"text","text":"So?"}]}]}"#;
    assert_eq!(
        said(Dialect::Messages, body),
        [
            ("tools", r#"findFinds.{"b":1,"a":[2]}"#.to_owned(), vec![25]),
            ("system", "Be\nbrief.".to_owned(), vec![9]),
            ("user", "One two".to_owned(), vec![4]),
            plain("assistant", r#"Let me.find{"q":1}"#),
            plain("tool", "found"),
            ("tool", "more".to_owned(), vec![4]),
            plain("user", "So?"),
        ]
    );
}

#[test]
fn a_responses_body_becomes_messages() {
    let body = r#"{"model":"m","instructions":"Be brief.","input":[
        {"role":"user","content":[{"type":"input_text","text":"One"}]},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me."}]},
        {"type":"function_call","call_id":"1","name":"find","arguments":"{}"},
        {"type":"function_call_output","call_id":"1","output":"found"}]}"#;
    assert_eq!(
        said(Dialect::Responses, body),
        [
            plain("system", "Be brief."),
            plain("user", "One"),
            plain("assistant", "Let me.find{}"),
            plain("tool", "found"),
        ]
    );
    let body = r#"{"input":"Hi"}"#;
    assert_eq!(said(Dialect::Responses, body), [plain("user", "Hi")]);
}

#[test]
fn a_gemini_body_becomes_messages() {
    let body = r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]},
        "tools":[{"functionDeclarations":[{"name":"find","description":"Finds.","parameters":{"b":1}}]}],
        "contents":[{"role":"user","parts":[{"text":"One "},{"text":"two"}]},
            {"role":"model","parts":[{"text":"Let me."},{"functionCall":{"name":"find","args":{"q":1}}}]},
            {"role":"user","parts":[{"functionResponse":{"name":"find","response":{"result":"found"}}}]}]}"#;
    assert_eq!(
        said(Dialect::Gemini, body),
        [
            plain("tools", r#"findFinds.{"b":1}"#),
            plain("system", "Be brief."),
            plain("user", "One two"),
            plain("assistant", r#"Let me.find{"q":1}"#),
            plain("tool", "found"),
        ]
    );
}

#[test]
fn a_converse_body_becomes_the_same_messages() {
    let body = r#"{"system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "find", "description": "Finds.",
            "inputSchema": {"json": {"type": "object"}}}}, {"cachePoint": {"type": "default"}}]},
        "messages": [
            {"role": "user", "content": [{"text": "One"}, {"text": "."}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "find", "input": {"a": 1}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "here"}]}},
                {"text": "Two."}, {"cachePoint": {"type": "default"}}]}]}"#;
    let find = "findFinds.{\"type\": \"object\"}";
    let expected = [
        ("tools", find.to_owned(), vec![find.len()]),
        ("system", "Be brief.".to_owned(), vec![9]),
        plain("user", "One."),
        plain("assistant", "find{\"a\": 1}"),
        plain("tool", "here"),
        ("user", "Two.".to_owned(), vec![4]),
    ];
    assert_eq!(said(Dialect::Bedrock, body), expected);
}

#[test]
fn a_marker_at_the_top_stands_behind_the_last_block() {
    let body = r#"{"max_tokens":1,"cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":"Hi"}]}"#;
    let marked = ("user", "Hi".to_owned(), vec![2]);
    assert_eq!(said(Dialect::Messages, body), [marked]);
}

#[test]
fn what_is_wrong_with_a_body_is_said() {
    let read = |dialect, body: &str| Ask::read(dialect, body.as_bytes()).expect_err(body);
    let missing = |field| Refusal::Missing { field };
    assert_eq!(read(Dialect::Chat, "{}"), missing("messages"));
    assert_eq!(read(Dialect::Responses, "{}"), missing("input"));
    let body = r#"{"messages":[]}"#;
    assert_eq!(read(Dialect::Messages, body), missing("max_tokens"));
    let body = r#"{"messages":[],"cache_salt":""}"#;
    assert_eq!(read(Dialect::Chat, body), Refusal::Salt);
    for body in [
        "{\n \"messages\":,",
        "[7]",
        "",
        r#"{"messages":[{"role":"user","content":7}]}"#,
    ] {
        let refusal = read(Dialect::Chat, body);
        assert!(
            matches!(refusal, Refusal::Body { .. }),
            "{body}: {refusal:?}"
        );
    }
    let refusal = read(Dialect::Chat, "{\n \"messages\":,");
    assert!(
        matches!(refusal, Refusal::Body { at: 14, .. }),
        "{refusal:?}"
    );
}
