use super::*;
use crate::chat::{Content, Family};
use crate::context::view::{Link, Purpose, UserTurn};
use crate::context::view::{Memory, Moment, NodeId};
use crate::context::{Options, Phrases};
use jiff::{Timestamp, tz::TimeZone};
use std::sync::{Arc, Mutex};

/// Answers from a list, and keeps what it was asked.
struct Script {
    answers: Vec<Result<String, String>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Builder for Script {
    fn ask(&mut self, line: &str) -> Result<String, String> {
        self.asked.lock().unwrap().push(line.to_owned());
        self.answers.remove(0)
    }
}

const READY: &str = r#"{"type": "ready", "protocol": 1}"#;

fn start(answers: &[&str]) -> (Result<External, ContextError>, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let builder = Script {
        answers: answers
            .iter()
            .map(|answer| Ok((*answer).to_owned()))
            .collect(),
        asked: Arc::clone(&asked),
    };
    let setup = Setup {
        options: Options::default(),
        phrases: Arc::new(Phrases::default()),
        builder: Some(Box::new(builder)),
        bodies: Arc::new([]),
    };
    (External::new(setup), asked)
}

fn sample() -> Sample {
    let now = Moment {
        at: Timestamp::UNIX_EPOCH,
        zone: TimeZone::UTC,
    };
    Sample {
        at: now.clone(),
        started: now,
        system: "Be brief.".into(),
        tools: Arc::new([]),
        model: None,
        project: None,
        artifacts: None,
        memory_guard: None,
        skills: Vec::new(),
        web_search: None,
        memory: Memory {
            on: true,
            entries: Vec::new(),
        },
        timestamps: false,
        other: Vec::new(),
    }
}

fn render(external: &mut External, texts: &[&str]) -> Result<Prompt, ContextError> {
    let live = sample();
    let sampled = Arc::new(sample());
    let links: Vec<Link> = (0..)
        .zip(texts)
        .map(|(id, text)| {
            Link::User(Arc::new(UserTurn {
                id: NodeId(id),
                text: (*text).into(),
                sent: live.at.clone(),
                sample: Arc::clone(&sampled),
                attachments: Vec::new(),
                retrieved: None,
                queued_files: Vec::new(),
                tool_outputs: Vec::new(),
                rounds: Vec::new(),
                chain: None,
                stored: None,
            }))
        })
        .collect();
    external.render(&Chain {
        links: &links,
        live: &live,
        vault: &std::collections::BTreeMap::new(),
        anchor: None,
        purpose: &Purpose::Send,
        rounds: 0,
        rebuilt: 0,
        reloaded: 0,
        wire: Family::Compatible.wire(),
    })
}

#[test]
fn a_builder_gets_the_conversation_and_its_prompt_goes_out() {
    let answer = r#"{"type": "prompt", "warnings": ["no memory"],
        "system": [{"type": "text", "text": "S", "origin": "head", "class": "static"}],
        "messages": [{"role": "user", "content": [{"type": "text", "spans": [
            {"text": "a", "origin": "memory", "class": "turn"}, {"text": "b"}]}]}]}"#;
    let (external, asked) = start(&[READY, r#"{"type": "ok"}"#, answer]);
    let mut external = external.unwrap();
    external.observe("artifacts on", &sample()).unwrap();
    let prompt = render(&mut external, &["one", "two"]).unwrap();

    assert_eq!(prompt.warnings, ["no memory"]);
    let Content::Text(spans) = &prompt.messages[0].blocks[0].content else {
        panic!("no text");
    };
    let found: Vec<(&str, &str)> = spans
        .iter()
        .map(|span| (span.origin.as_str(), span.text.as_str()))
        .collect();
    assert_eq!(found, [("memory", "a"), ("user", "b")]);

    let asked = asked.lock().unwrap();
    assert_eq!(asked[0], r#"{"type":"hello","protocol":1}"#);
    let step: Value = serde_json::from_str(&asked[1]).unwrap();
    assert_eq!(step["label"], "artifacts on");
    let request: Value = serde_json::from_str(&asked[2]).unwrap();
    assert_eq!(request["conversation"][0]["changes"]["system"], "Be brief.");
    assert_eq!(request["conversation"][1]["changes"], json!({}));
    assert!(asked.iter().all(|line| !line.contains('\n')));
}

#[test]
fn nonsense_at_the_start_is_said_clearly() {
    for (answer, expected) in [
        (
            "hi",
            "external builder did not answer in JSON (expected value at line 1 column 1): `hi`",
        ),
        ("[]", "external builder did not answer with an object: `[]`"),
        (
            r#"{"type":"ok"}"#,
            r#"external builder should have answered with type `ready`: `{"type":"ok"}`"#,
        ),
        (
            r#"{"type":"ready"}"#,
            "external builder did not say which `protocol` it speaks",
        ),
        (
            r#"{"type":"ready","protocol":2}"#,
            "external builder speaks protocol 2; this version speaks 1",
        ),
        (
            r#"{"type":"error","message":"no key"}"#,
            "external builder reported: no key",
        ),
    ] {
        let error = start(&[answer]).0.err().unwrap();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_prompt_that_is_none_is_said_to_be_wrong_where_it_is() {
    for (answer, expected) in [
        (r#"{"type":"prompt"}"#, "`messages`: missing"),
        (
            r#"{"type":"prompt","messages":3}"#,
            "`messages`: not a list",
        ),
        (
            r#"{"type":"prompt","messages":[{"role":"user","content":3}]}"#,
            "`messages[0].content`: neither a string nor a list",
        ),
        (
            r#"{"type":"prompt","messages":[{"role":"user","content":[{"type":"x"}]}]}"#,
            "`messages[0].content[0]`: unknown block `x`",
        ),
        (
            r#"{"type":"prompt","messages":[],"warnings":[1]}"#,
            "`warnings`: not a list of strings",
        ),
    ] {
        let (external, _) = start(&[READY, answer]);
        let error = render(&mut external.unwrap(), &["one"]).unwrap_err();
        let expected = format!("external builder built a prompt that is not one: {expected}");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn what_happened_to_the_process_is_passed_on() {
    let (external, _) = start(&[READY]);
    let mut external = external.unwrap();
    external.builder = Box::new(Script {
        answers: vec![Err("died with exit code 3: no such file".to_owned())],
        asked: Arc::default(),
    });
    let error = render(&mut external, &["one"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "external builder died with exit code 3: no such file"
    );
}
