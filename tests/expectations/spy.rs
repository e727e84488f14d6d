//! A strategy that hands out what it is shown: every fact that the sources state
//! when a request is due, one message a fact.

use prefixbench::chat::{Block, Class, Content, Message, Prompt, Role, Span};
use prefixbench::context::view::{Attachment, Link, Note, Purpose, Sample, UserTurn};
use prefixbench::context::{Chain, ContextError, Strategy, StrategyKind};
use std::collections::BTreeMap;

/// Beginning of the origins of what must not be in a request.
pub(super) const WITHHELD: &str = "withheld/";

/// Beginning of the origins of what was on at an earlier message and is off: its text,
/// and the ways of saying that it is.
pub(super) const GONE: &str = "gone/";

/// Stands between forms of a fact of which one is enough.
pub(super) const OR: char = '\u{1}';

/// Not in the registry: only this test starts it.
pub(super) static SPY: StrategyKind = StrategyKind {
    name: "spy",
    about: "hands out the facts of a conversation",
    options: &[],
    compacts: false,
    tells: None,
    start: |_| Ok(Box::new(Spy)),
};

struct Spy;

/// Facts by the key of their source; several of one source under one key.
#[derive(Default)]
struct Facts(Vec<(String, String)>);

impl Facts {
    fn add(&mut self, key: &str, text: &str) {
        if !text.trim().is_empty() {
            self.0.push((key.to_owned(), text.to_owned()));
        }
    }
}

impl Strategy for Spy {
    fn render(&mut self, chain: &Chain<'_>) -> Result<Prompt, ContextError> {
        let mut facts = Facts::default();
        match chain.purpose {
            Purpose::Send | Purpose::Regenerate | Purpose::Resume => {
                sources(&mut facts, chain);
                said(&mut facts, chain);
                if *chain.purpose == Purpose::Send {
                    gone(&mut facts, chain);
                }
            }
            Purpose::Subagent(helper) => {
                facts.add("user", &helper.task);
                for (_, text) in &helper.skills {
                    facts.add("always_apply_skill", text);
                }
                if let Some(text) = &helper.retrieved {
                    facts.add("retrieved_context", text);
                }
            }
            Purpose::Summarise => {}
        }
        Ok(Prompt {
            messages: facts
                .0
                .into_iter()
                .map(|(key, text)| {
                    Message::text(Role::User, vec![Span::new(key, Class::Turn, text)])
                })
                .collect(),
            ..Prompt::default()
        })
    }
}

/// What is on. A regenerated or resumed turn shows what its message was sent
/// with: there only what was on then and still is counts.
fn sources(facts: &mut Facts, chain: &Chain<'_>) {
    let Some(newest) = chain.newest() else {
        return;
    };
    let now = stated(&newest.sample);
    let live = stated(chain.live);
    for (key, text) in &now {
        if live.contains(&(key.clone(), text.clone())) || *chain.purpose == Purpose::Send {
            facts.add(key, text);
        }
    }
    if !newest.sample.memory.on && !chain.live.memory.on {
        for entry in &newest.sample.memory.entries {
            facts.add(&format!("{WITHHELD}memory"), &entry.value);
        }
    }
}

/// What an earlier message of the chain was sent with and the newest one is not, unless
/// the same is said in the conversation itself.
fn gone(facts: &mut Facts, chain: &Chain<'_>) {
    let Some(newest) = chain.newest() else {
        return;
    };
    let texts: Vec<&str> = facts.0.iter().map(|(_, text)| text.as_str()).collect();
    let said = texts.join("\n");
    let now = &newest.sample;
    let mut found = BTreeMap::new();
    for turn in chain.users().filter(|turn| turn.id != newest.id) {
        let before = &turn.sample;
        let sources = [
            ("project", "project", &before.project, &now.project),
            ("artifacts", "artifacts", &before.artifacts, &now.artifacts),
            (
                "memory_guard",
                "memory_guard",
                &before.memory_guard,
                &now.memory_guard,
            ),
            (
                "tool_context.web_search",
                "web_search",
                &before.web_search,
                &now.web_search,
            ),
        ];
        for (key, name, before, now) in sources {
            if let (Some(text), None) = (before, now) {
                let ways = format!("[{key}] off{OR}<ctx {name} off/>");
                found.insert(text.to_string(), (key.to_owned(), ways));
            }
        }
        for (key, text) in &before.other {
            if now.other.iter().all(|(other, _)| other != key) {
                let ways = format!("[{key}] off{OR}<ctx {key} off/>");
                found.insert(text.to_string(), (key.to_string(), ways));
            }
        }
        if now.memory.on && before.memory.on {
            for entry in &before.memory.entries {
                let (key, value) = (&entry.key, &entry.value);
                if now.memory.entries.iter().all(|other| other.key != *key) {
                    let ways = format!("removed: {value}{OR}removed {key}{OR}- {key}");
                    found.insert(value.to_string(), ("memory".to_owned(), ways));
                }
            }
        }
    }
    for (text, (key, ways)) in found {
        if !text.trim().is_empty() && !said.contains(&text) {
            facts.add(&format!("{GONE}{key}"), &format!("{text}{OR}{ways}"));
        }
    }
}

fn stated(sample: &Sample) -> Vec<(String, String)> {
    let mut facts = Facts::default();
    if !sample.system.contains("{{") {
        facts.add("agent_instructions", &sample.system);
    }
    let texts = [
        ("project", &sample.project),
        ("artifacts", &sample.artifacts),
        ("memory_guard", &sample.memory_guard),
        ("tool_context.web_search", &sample.web_search),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            facts.add(key, text);
        }
    }
    for (name, text) in &sample.skills {
        facts.add("skills_catalog", name);
        facts.add("skills_catalog", text);
    }
    for (key, text) in &sample.other {
        facts.add(key, text);
    }
    if sample.memory.on {
        for entry in &sample.memory.entries {
            facts.add("memory", &entry.value);
        }
    }
    if sample.web_search.is_some() || sample.system.contains("{{") {
        // The local date, or the instant from which it follows.
        let iso = sample.at.iso();
        let minute = iso.get(..16).unwrap_or(&iso);
        facts.add("date", &format!("{}{OR}{minute}", sample.at.day()));
    }
    facts.0
}

/// What was said, and what came with it: as long as its message is there, and of
/// a note that was attached again the newest text.
fn said(facts: &mut Facts, chain: &Chain<'_>) {
    let mut attached: BTreeMap<String, (&'static str, String)> = BTreeMap::new();
    if let Some((_, compaction)) = chain.boundary() {
        facts.add("summary", &compaction.summary);
    }
    for link in chain.visible() {
        match link {
            Link::User(turn) => {
                facts.add("user", &turn.text);
                let newest = chain.newest().is_some_and(|newest| newest.id == turn.id);
                let rounds = if newest { chain.rounds } else { usize::MAX };
                brought(facts, turn, rounds);
                for attachment in &turn.attachments {
                    attach(&mut attached, attachment);
                }
            }
            Link::Assistant(turn) => facts.add("reply", &turn.text),
            Link::Compaction(_) => {}
        }
    }
    for (key, text) in attached.values() {
        facts.add(key, text);
    }
}

/// What retrieval, tools and uploads gave for a message.
fn brought(facts: &mut Facts, turn: &UserTurn, rounds: usize) {
    if let Some(text) = &turn.retrieved {
        facts.add("retrieved_context", text);
    }
    for name in &turn.queued_files {
        facts.add("tool_runtime.queued_code_files", name);
    }
    for output in &turn.tool_outputs {
        facts.add("tool_outputs", &output.output);
    }
    for round in turn.rounds.iter().take(rounds) {
        for call in &round.calls {
            facts.add("tool_result", &call.result);
        }
    }
}

fn attach(attached: &mut BTreeMap<String, (&'static str, String)>, attachment: &Attachment) {
    let mut note = |note: &Note| {
        if let Some(text) = &note.text {
            attached.insert(format!("note {}", note.path), ("notes", text.to_string()));
        }
    };
    match attachment {
        Attachment::Note { note: one, .. } => note(one),
        Attachment::Tag { notes, .. } | Attachment::Folder { notes, .. } => {
            notes.iter().for_each(note);
        }
        Attachment::Url { url, text } => {
            attached.insert(format!("url {url}"), ("urls", text.to_string()));
        }
        Attachment::Tab { url, text, .. } => {
            attached.insert(format!("tab {url}"), ("tabs", text.to_string()));
        }
        Attachment::Selection { source, text, .. } => {
            attached.insert(
                format!("selection {source}"),
                ("selections", text.to_string()),
            );
        }
        Attachment::Image { .. } => {}
    }
}

/// The facts in a prompt of the spy, as source and text.
pub(super) fn facts(prompt: &Prompt) -> Vec<(String, String)> {
    let spans = |block: &Block| match &block.content {
        Content::Text(spans) => spans.clone(),
        _ => Vec::new(),
    };
    let all = prompt.messages.iter().flat_map(|message| &message.blocks);
    all.flat_map(spans)
        .map(|span| (span.origin.to_string(), span.text.to_string()))
        .collect()
}
