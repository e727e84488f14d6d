use super::template::Template;
use super::*;
use crate::tokens::ChatForm;
use serde_json::json;

const CHATML: &str = "{% for message in messages %}<|im_start|>{{ message['role'] }}\n\
    {{ message['content'] }}<|im_end|>\n{% endfor %}\
    {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// A word-level tokenizer with ChatML's special tokens.
fn tokenizer() -> serde_json::Value {
    let special = |id: u32, content: &str| {
        json!({"id": id, "content": content, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true})
    };
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [special(0, "<|im_start|>"), special(1, "<|im_end|>")],
        "normalizer": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": null,
        "decoder": null,
        "model": {"type": "WordLevel", "unk_token": "?", "vocab": {
            "<|im_start|>": 0, "<|im_end|>": 1, "?": 2,
            "system": 3, "user": 4, "assistant": 5, "hello": 6, "there": 7,
        }},
    })
}

fn encoder(template: &str) -> HfEncoder {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("tokenizer.json");
    fs::write(&path, tokenizer().to_string()).expect("tokenizer");
    let config = json!({"chat_template": template, "eos_token": {"content": "<|im_end|>"}});
    fs::write(
        folder.path().join("tokenizer_config.json"),
        config.to_string(),
    )
    .expect("config");
    HfEncoder::open(&path).expect("a tokenizer")
}

fn message<'a>(role: &'a str, text: &'a str) -> TemplateMessage<'a> {
    TemplateMessage::text(role, text)
}

#[test]
fn special_tokens_of_the_template_are_parsed() {
    let encoder = encoder(CHATML);
    let messages = [message("system", "hello"), message("user", "there there")];
    let prompt = encoder.encoded(&messages).expect("rendered");
    assert_eq!(prompt.ids, [0, 3, 6, 1, 0, 4, 7, 7, 1, 0, 5]);
    assert_eq!(encoder.message_ends(&messages), [4, 9]);
    assert_eq!(encoder.output("hello zzz"), [6, 2]);
    assert!(encoder.name().starts_with("tokenizer.json "));
}

#[test]
fn what_a_template_refuses_is_told() {
    let strict = "{% if messages[0].role != 'system' %}\
        {{ raise_exception('system first') }}{% endif %}x";
    let encoder = encoder(strict);
    let error = encoder
        .encoded(&[message("user", "hello")])
        .expect_err("refused");
    assert!(error.to_string().contains("system first"), "{error}");
    assert_eq!(encoder.prompt(&[message("user", "hello")]), [0; 0]);
    let picture = TemplateMessage {
        pieces: &[crate::tokens::Piece {
            part: Part::Image,
            end: 4,
        }],
        ..message("user", "iVBO")
    };
    let picture = encoder.encoded(&[picture]).expect_err("no pictures");
    assert!(matches!(picture, EncodeError::Image { .. }));
}

#[test]
fn missing_files_are_named() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("tokenizer.json");
    let error = HfEncoder::open(&path)
        .expect_err("nothing there")
        .to_string();
    assert!(error.starts_with("cannot read `"), "{error}");
    fs::write(&path, "{}").expect("written");
    let error = HfEncoder::open(&path)
        .expect_err("no tokenizer")
        .to_string();
    assert!(error.contains("is no tokenizer"), "{error}");
}

#[test]
fn python_methods_in_templates_do_as_python_does() {
    let cases = [
        ("{{ ' a b '.strip() }}", "a b"),
        ("{{ 'xxay'.lstrip('x') }}|{{ 'a\n'.rstrip() }}", "ay|a"),
        ("{{ 'a</think>b'.split('</think>')[-1] }}", "b"),
        ("{{ 'a.b.c'.split('.', 1) | length }}", "2"),
        ("{{ ' a  b '.split() | join('-') }}", "a-b"),
        (
            "{{ 'abc'.startswith('ab') and 'abc'.endswith('bc') }}",
            "True",
        ),
        ("{{ 'a-b'.replace('-', '+').upper() }}", "A+B"),
        (
            "{{ 'hello wORLD'.title() }} {{ 'hELLO'.capitalize() }}",
            "Hello World Hello",
        ),
        (
            "{% for key, value in {'a': 1}.items() %}{{ key }}{{ value }}{% endfor %}",
            "a1",
        ),
        ("{{ {'a': 1}.get('a') }}{{ {'a': 1}.get('b', 2) }}", "12"),
        (
            "{{ 'aXbX'.count('X') }}{{ 'abc'.find('c') }}{{ 'abc'.find('z') }}",
            "22-1",
        ),
        ("{{ strftime_now('%d %b %Y') }}", "26 Jul 2024"),
        ("{{ bos_token }}{{ eos_token }}", "<s></s>"),
        ("  {%- if true %} x {% endif %}\n", " x "),
    ];
    for (source, expected) in cases {
        let config =
            json!({"chat_template": source, "bos_token": "<s>", "eos_token": {"content": "</s>"}});
        let template = Template::new(&config, None).expect(source);
        assert_eq!(
            template.render(ChatForm::default(), true).as_deref(),
            Ok(expected),
            "{source}"
        );
    }
}

#[test]
fn a_list_of_templates_counts_by_its_default() {
    let config = json!({"chat_template": [
        {"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]});
    let template = Template::new(&config, None).expect("a default");
    assert_eq!(
        template.render(ChatForm::default(), false).as_deref(),
        Ok("d")
    );
    let own = Template::new(&config, Some("own".to_owned())).expect("a file of its own");
    assert_eq!(own.render(ChatForm::default(), false).as_deref(), Ok("own"));
    assert!(Template::new(&json!({}), None).is_err());
}

#[test]
fn tools_calls_and_lists_reach_the_template_as_servers_hand_them_over() {
    let source = "{% if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}\
        {% for m in messages %}[{{ m.role }}|{{ m.content }}\
        {% for call in m.tool_calls or [] %}|{{ call.function.name }}\
        {{ call.function.arguments | tojson }}{% endfor %}]{% endfor %}";
    let template = Template::new(&json!({"chat_template": source}), None).expect("parses");
    let part = |text| json!({"type": "text", "text": text});
    let call =
        json!({"function": {"name": "f", "arguments": "{\"z\":1,\"a\":[true,null,\"é<\"]}"}});
    let form = ChatForm {
        messages: vec![
            json!({"role": "user", "content": [part("a"), part("b")]}),
            json!({"role": "assistant", "content": "", "tool_calls": [call]}),
        ],
        tools: vec![json!({"type": "function", "b": {}, "a": []})],
    };
    let expected = r#"{"type": "function", "b": {}, "a": []}[user|a
b][assistant||f{"z": 1, "a": [true, null, "é<"]}]"#;
    assert_eq!(template.render(form, false).as_deref(), Ok(expected));
}

#[test]
fn a_template_for_lists_gets_them() {
    let source = "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}\
        {% for p in m.content %}{{ p.get('text', '') }}{% endfor %}{% endif %}{% endfor %}";
    let template = Template::new(&json!({"chat_template": source}), None).expect("parses");
    let part = |text| json!({"type": "text", "text": text});
    let form = ChatForm {
        messages: vec![json!({"role": "user", "content": [part("a"), part("b")]})],
        tools: Vec::new(),
    };
    assert_eq!(template.render(form, false).as_deref(), Ok("ab"));
}
