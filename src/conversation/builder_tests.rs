//! Layouts of the user's own: the shipped example of a builder, run as a process
//! through every kind of step, and finished bodies.

use super::samples::*;
use super::{Conversation, ConversationSetup, Next, Nonce, NoncePlace, Resources};
use crate::chat::Family;
use crate::context::view::CompactionMode;
use crate::context::{Builder, Configuration, ContextError, Phrases, Setup};
use crate::scenario::model::{Action, Attach, SubagentStep, TurnRef, UserStep};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

struct Process {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Builder for Process {
    fn ask(&mut self, line: &str) -> Result<String, String> {
        let mut answer = String::new();
        writeln!(self.stdin, "{line}")
            .and_then(|()| self.stdout.read_line(&mut answer))
            .map_err(|error| error.to_string())?;
        Ok(answer)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

struct Example;

impl Resources for Example {
    fn configuration(&self, name: &str) -> Option<Configuration> {
        Configuration::built_in(name)
    }

    fn setup(&self, configuration: &Configuration, _: &str) -> Result<Setup, ContextError> {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/external/builder.py");
        let mut child = Command::new("python3")
            .arg(example)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Ok(Setup {
            options: configuration.options.clone(),
            phrases: Arc::new(Phrases::default()),
            builder: Some(Box::new(Process {
                child,
                stdin,
                stdout: BufReader::new(stdout),
            })),
            bodies: Arc::new([]),
        })
    }
}

fn has_python() -> bool {
    let asked = Command::new("python3").arg("--version").output();
    asked.is_ok_and(|output| output.status.success())
}

fn everything() -> Vec<Action> {
    let mut called = compact(1, CompactionMode::Coverage);
    called.call = true;
    let rich = UserStep {
        attach: vec![
            Attach::Note {
                path: "spec.md".into(),
                active: true,
            },
            Attach::Tag("work".into()),
            Attach::Url("https://a.example/".into()),
            Attach::Image {
                name: "a.png".into(),
                media_type: "image/png".into(),
                data: "AAAA".into(),
            },
        ],
        retrieved: Some("found".into()),
        queued_files: vec!["a.csv".into()],
        rounds: vec![round("1")],
        ..said("look")
    };
    vec![
        remember("city", "Rome"),
        user("a"),
        Action::User(Box::new(rich)),
        Action::Subagent(Box::new(SubagentStep {
            task: "help".into(),
            skills: Vec::new(),
            retrieved: None,
            reply: "done".into(),
        })),
        Action::Compact(called),
        user("b"),
        Action::Regenerate {
            turn: TurnRef::Last,
            reply: None,
        },
    ]
}

// Where there is no Python there is nothing to run; the protocol itself is
// tested beside the strategy.
#[test]
fn the_example_in_python_builds_every_kind_of_prompt() {
    if !has_python() {
        return;
    }
    let setup = ConversationSetup {
        name: "test/1".into(),
        configuration: Configuration::built_in("external").unwrap(),
        wire: Family::Compatible.wire(),
        served: super::Served::Any(None),
        nonce: Nonce::ZERO,
        place: NoncePlace::Nowhere,
        resources: Arc::new(Example),
    };
    let conversation = Conversation::new(Arc::new(scenario(everything())), setup).unwrap();
    let requests = run_with(conversation, "x");
    let found: Vec<Vec<String>> = requests.iter().map(|p| lines(&p.prompt)).collect();

    assert_eq!(
        text_of(&requests[0].prompt.system),
        "Be brief.\n\nRemembered:\n- city: Rome"
    );
    assert_eq!(&*requests[0].prompt.tools[0].name, "find");
    assert_eq!(found[0], ["user: a"]);
    let rich = &found[1][2];
    for part in [
        "Note spec.md:",
        "https://a.example/:",
        "found\n\n",
        "a.csv",
        "look(picture AAAA)",
    ] {
        assert!(rich.contains(part), "{part}: {rich}");
    }
    assert_eq!(
        found[2][3..],
        ["assistant: Let me look.(calls find)", "tool: result of 1"]
    );
    assert_eq!(found[3], ["user: help"]);
    assert_eq!(
        found[4].last().unwrap(),
        "user: Summarise the conversation so far."
    );
    assert_eq!(found[5][0], "user: What was said.");
    assert!(
        found[5][1].ends_with("look(picture AAAA)"),
        "the last turn is kept"
    );
    assert_eq!(found[5].last().unwrap(), "user: b");
    assert_eq!(found[6], found[5]);
}

struct Bodies;

impl Resources for Bodies {
    fn configuration(&self, name: &str) -> Option<Configuration> {
        Configuration::built_in(name)
    }

    fn setup(&self, configuration: &Configuration, _: &str) -> Result<Setup, ContextError> {
        let body = |text: &str| {
            let messages = serde_json::json!([{"role": "user", "content": text}]);
            serde_json::json!({"messages": messages}).to_string().into()
        };
        let mut options = configuration.options.clone();
        options.raw = Some("bodies.jsonl".into());
        Ok(Setup {
            options,
            phrases: Arc::new(Phrases::default()),
            builder: None,
            bodies: ["one", "two", "three"].into_iter().map(body).collect(),
        })
    }
}

#[test]
fn every_turn_takes_the_next_body_and_a_missing_one_is_an_error() {
    let actions = vec![
        user("a"),
        Action::Regenerate {
            turn: TurnRef::Last,
            reply: None,
        },
        Action::NewChat,
        user("b"),
        user("c"),
    ];
    let setup = ConversationSetup {
        name: "test/1".into(),
        configuration: Configuration::built_in("raw").unwrap(),
        wire: Family::Compatible.wire(),
        served: super::Served::Any(None),
        nonce: Nonce::ZERO,
        place: NoncePlace::Nowhere,
        resources: Arc::new(Bodies),
    };
    let mut conversation = Conversation::new(Arc::new(scenario(actions)), setup).unwrap();
    let mut found = Vec::new();
    let error = loop {
        match conversation.next() {
            Ok(Some(Next::Request(pending))) => found.extend(lines(&pending.prompt)),
            Ok(_) => panic!("the last turn has no body"),
            Err(error) => break error,
        }
    };
    assert_eq!(found, ["user: one", "user: two", "user: three"]);
    let expected = "raw bodies: `bodies.jsonl` has 3 bodies, and turn 4 needs one more";
    assert_eq!(error.to_string(), expected);
}
