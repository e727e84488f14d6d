//! Scenarios for tests, built by hand.

use super::{
    Conversation, ConversationSetup, Next, Nonce, NoncePlace, Pending, Reply, Served, Shipped,
};
use crate::chat::{Block, Content, Digest, Family, Message, Prompt, Span, Text, Tool};
use crate::context::Configuration;
use crate::context::view::{Call, CompactionMode, Memory, Moment, Note, Round};
use crate::scenario::model::{
    Action, CompactStep, MemoryStep, Replies, Scenario, SetStep, Start, Step, UserStep,
};
use jiff::{Timestamp, tz::TimeZone};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A text long enough to be referred to by its code.
pub(super) fn long(name: &str) -> Text {
    Text::from(format!("{name}: {}", "filler ".repeat(40)))
}

pub(super) fn scenario(actions: Vec<Action>) -> Scenario {
    let at: Timestamp = "2026-10-16T09:00:00Z".parse().unwrap();
    let note = |path: &str| Note {
        path: path.into(),
        text: Some(long(path)),
        created: at,
        modified: at,
        tags: vec!["work".into()],
    };
    let notes = ["spec.md", "plans/a.md", "plans/b.md"];
    Scenario {
        name: "test".into(),
        group: "".into(),
        about: "".into(),
        path: "test.yaml".into(),
        digest: Digest::of(b""),
        clock: Moment {
            at,
            zone: TimeZone::UTC,
        },
        start: Start {
            system: "Be brief.".into(),
            tools: Arc::new([tool("find")]),
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
        },
        vault: notes
            .iter()
            .map(|path| ((*path).into(), note(path)))
            .collect(),
        urls: BTreeMap::from([("https://a.example/".into(), long("page"))]),
        tabs: BTreeMap::from([("https://b.example/".into(), long("tab"))]),
        replies: Replies::Scripted,
        steps: steps(actions),
        configurations: BTreeMap::new(),
    }
}

pub(super) fn steps(actions: Vec<Action>) -> Vec<Step> {
    let numbered = actions.into_iter().zip(1..);
    numbered
        .map(|(action, line)| Step {
            label: format!("step {line}").into(),
            action,
            line,
        })
        .collect()
}

pub(super) fn tool(name: &str) -> Tool {
    Tool {
        name: name.into(),
        description: vec![Span::new(
            "tools",
            crate::chat::Class::Static,
            "Finds things.",
        )],
        parameters: Span::new("tools", crate::chat::Class::Static, "{}"),
        marker: None,
    }
}

/// A message whose answer names it.
pub(super) fn said(text: &str) -> UserStep {
    UserStep {
        text: text.into(),
        attach: Vec::new(),
        retrieved: None,
        queued_files: Vec::new(),
        tool_outputs: Vec::new(),
        rounds: Vec::new(),
        reply: format!("re {text}").into(),
        chain: None,
        expect: Vec::new(),
    }
}

pub(super) fn user(text: &str) -> Action {
    Action::User(Box::new(said(text)))
}

pub(super) fn round(id: &str) -> Round {
    Round {
        text: "Let me look.".into(),
        calls: vec![Call {
            id: id.into(),
            name: "find".into(),
            arguments: "{}".into(),
            result: format!("result of {id}").into(),
        }],
    }
}

pub(super) fn set(change: impl FnOnce(&mut SetStep)) -> Action {
    let mut step = SetStep::default();
    change(&mut step);
    Action::Set(Box::new(step))
}

pub(super) fn remember(key: &str, value: &str) -> Action {
    Action::Memory(MemoryStep {
        add: vec![(key.into(), value.into())],
        ..MemoryStep::default()
    })
}

pub(super) fn compact(keep_turns: usize, mode: CompactionMode) -> CompactStep {
    CompactStep {
        keep_turns,
        summary: "What was said.".into(),
        mode,
        call: false,
    }
}

pub(super) fn start_on(scenario: Scenario, configuration: &str, family: Family) -> Conversation {
    let configuration = Configuration::built_in(configuration).unwrap();
    start_with(scenario, configuration, family, Served::Any(None))
}

pub(super) fn start_with(
    scenario: Scenario,
    configuration: Configuration,
    family: Family,
    served: Served,
) -> Conversation {
    let scenario = Arc::new(scenario);
    let setup = ConversationSetup {
        name: "test/1".into(),
        configuration,
        wire: family.wire(),
        served,
        nonce: Nonce::ZERO,
        place: NoncePlace::Nowhere,
        resources: Arc::new(Shipped(Arc::clone(&scenario))),
    };
    Conversation::new(scenario, setup).unwrap()
}

pub(super) fn start(scenario: Scenario, configuration: &str) -> Conversation {
    start_on(scenario, configuration, Family::Compatible)
}

/// All requests of a run whose answers are `answer`.
pub(super) fn run_with(mut conversation: Conversation, answer: &str) -> Vec<Pending> {
    let mut requests = Vec::new();
    while let Some(next) = conversation.next().unwrap() {
        if let Next::Request(pending) = next {
            requests.push(*pending);
            conversation.answer(Reply::text(answer));
        }
    }
    requests
}

pub(super) fn run(actions: Vec<Action>, configuration: &str) -> Vec<Pending> {
    run_with(start(scenario(actions), configuration), "ignored")
}

/// The text of a message's blocks, with calls and pictures named.
pub(super) fn text_of(blocks: &[Block]) -> String {
    let text = |spans: &[Span]| spans.iter().map(|span| &*span.text).collect::<String>();
    let shown = blocks.iter().map(|block| match &block.content {
        Content::Text(spans) => text(spans),
        Content::Reasoning(spans) => format!("(thinks {})", text(spans)),
        Content::Call(call) => format!("(calls {})", call.name.text),
        Content::Image(image) => format!("(picture {})", image.data.text),
    });
    shown.collect()
}

/// `role: text` for each message.
pub(super) fn lines(prompt: &Prompt) -> Vec<String> {
    let line =
        |message: &Message| format!("{}: {}", message.role.as_str(), text_of(&message.blocks));
    prompt.messages.iter().map(line).collect()
}

/// Everything that a provider renders, in its order, without markers.
pub(super) fn rendered(prompt: &Prompt) -> String {
    let tools = prompt
        .tools
        .iter()
        .map(|tool| format!("[tool {}]", tool.name));
    let system = format!("[system]{}", text_of(&prompt.system));
    let messages = lines(prompt).into_iter().map(|line| format!("[{line}"));
    tools.chain([system]).chain(messages).collect()
}
