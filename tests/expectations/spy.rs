//! A strategy that hands out what it is shown: every fact that the sources state
//! when a request is due, one message a fact.

use prefixbench::chat::{Block, Class, Content, Message, Prompt, Role, Span};
use prefixbench::context::view::{Attachment, Link, Note, Purpose, Sample};
use prefixbench::context::{Chain, ContextError, Strategy, StrategyKind};
use std::collections::BTreeMap;

/// Beginning of the origins of what must not be in a request.
pub(super) const WITHHELD: &str = "withheld/";

/// Not in the registry: only this test starts it.
pub(super) static SPY: StrategyKind = StrategyKind {
    name: "spy",
    about: "hands out the facts of a conversation",
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
        facts.add("date", &sample.at.day().to_string());
    }
    facts.0
}

/// What was said, and what came with it. What retrieval, tools and uploads gave
/// belongs to its own message; the newest text of a note counts.
fn said(facts: &mut Facts, chain: &Chain<'_>) {
    let mut attached: BTreeMap<String, (&'static str, String)> = BTreeMap::new();
    if let Some((_, compaction)) = chain.boundary() {
        facts.add("summary", &compaction.summary);
    }
    for link in chain.visible() {
        match link {
            Link::User(turn) => {
                facts.add("user", &turn.text);
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
    let Some(newest) = chain.newest() else {
        return;
    };
    if let Some(text) = &newest.retrieved {
        facts.add("retrieved_context", text);
    }
    for name in &newest.queued_files {
        facts.add("tool_runtime.queued_code_files", name);
    }
    for output in &newest.tool_outputs {
        facts.add("tool_outputs", &output.output);
    }
    for round in newest.rounds.iter().take(chain.rounds) {
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
            attached.insert(format!("selection {source}"), ("selections", text.to_string()));
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
