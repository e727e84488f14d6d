//! `inline`: what people do first. The full text of every active source and of
//! every attachment is pasted into each message and stays there.
//!
//! The history is a pure append, since nothing in it is ever touched again, but
//! every turn pays for all of it once more. The system text holds the agent's
//! instructions as they are for the newest message, so an edit, or a variable
//! that names the time, breaks the prefix at its start. Memory that was switched
//! off stays where it was pasted.

use super::configuration::{Options, Reasoning};
use super::phrases::Phrases;
use super::registry::key;
use super::strategy::{ContextError, Setup, Strategy, StrategyKind};
use super::view::{Attachment, Chain, Compaction, Link, Note, Purpose, Sample, Subagent, UserTurn};
use super::{marks, replay, special};
use crate::chat::{Block, Class, Content, Image, Message, Origin, Prompt, Role, Span, Text};
use std::collections::HashMap;
use std::sync::Arc;

/// The strategy's line in the registry.
pub(super) const KIND: StrategyKind = StrategyKind {
    name: "inline",
    about: "the full text of all active sources pasted into each user message and kept there",
    options: &[
        "markers",
        "marker_ttl",
        "timestamps",
        "prompt_cache_key",
        "affinity_header",
        "reasoning",
        "window",
    ],
    compacts: false,
    tells: Some(|key| !matches!(key, key::AGENT | key::TEMPORAL_AGENT)),
    start: |setup| Ok(Box::new(Inline::new(setup))),
};

struct Inline {
    options: Options,
    phrases: Arc<Phrases>,
    /// Messages as they were written first, with the turns that they are of, by
    /// their address: nothing is pasted, or copied, twice.
    written: HashMap<usize, (Arc<UserTurn>, Message)>,
}

impl Inline {
    fn new(setup: Setup) -> Self {
        Self {
            options: setup.options,
            phrases: setup.phrases,
            written: HashMap::new(),
        }
    }

    /// The message of a turn that no summary stands in front of.
    fn written(&mut self, turn: &Arc<UserTurn>) -> Message {
        let address = Arc::as_ptr(turn).addr();
        let phrases = &self.phrases;
        let (_, message) = self.written.entry(address).or_insert_with(|| {
            let mut page = Page::new(phrases);
            page.sources(&turn.sample);
            (Arc::clone(turn), page.message(turn))
        });
        message.clone()
    }

    fn history(&mut self, chain: &Chain<'_>) -> Vec<Message> {
        let keeps = self.options.reasoning == Some(Reasoning::Keep);
        let mut summary = chain.boundary().map(|(_, compaction)| compaction.as_ref());
        let mut messages = Vec::new();
        for link in chain.visible() {
            match link {
                Link::User(turn) => {
                    messages.push(match summary.take() {
                        None => self.written(turn),
                        summary => {
                            let mut page = Page::new(&self.phrases);
                            page.summary(summary);
                            page.sources(&turn.sample);
                            page.message(turn)
                        }
                    });
                    let rounds = replay::rounds_of(chain, turn);
                    messages.extend(replay::rounds(rounds, Text::clone));
                }
                Link::Assistant(turn) => messages.push(replay::answer(turn, keeps)),
                Link::Compaction(_) => {}
            }
        }
        if *chain.purpose == Purpose::Summarise {
            let mut page = Page::new(&self.phrases);
            page.summary(summary.take());
            let asked = self.phrases.get("inline.summarise");
            page.push("summarise", Class::Static, asked);
            messages.push(Message::text(Role::User, page.spans));
        }
        messages
    }

    fn helper(&self, chain: &Chain<'_>, helper: &Subagent) -> Message {
        let mut page = Page::new(&self.phrases);
        page.sources(chain.live);
        for (name, body) in &helper.skills {
            page.section("always_apply_skill", Class::Static, "skill", name, body);
        }
        page.retrieved(helper.retrieved.as_ref());
        page.push(Origin::USER, Class::Turn, helper.task.clone());
        Message::text(Role::User, page.spans)
    }
}

impl Strategy for Inline {
    fn render(&mut self, chain: &Chain<'_>) -> Result<Prompt, ContextError> {
        let now = match chain.purpose {
            Purpose::Send | Purpose::Regenerate | Purpose::Resume => {
                chain.newest().map_or(chain.live, |turn| &turn.sample)
            }
            Purpose::Summarise | Purpose::Subagent(_) => chain.live,
        };
        let mut prompt = Prompt {
            tools: now.tools.to_vec(),
            ..Prompt::default()
        };
        if !now.system.is_empty() {
            let text = special::resolve(&now.system, &now.at);
            let class = if special::has_variable(&now.system) {
                Class::Turn
            } else {
                Class::Static
            };
            let span = Span::new("agent_instructions", class, text);
            prompt.system.push(Block::text(vec![span]));
        }
        prompt.messages = match chain.purpose {
            Purpose::Subagent(helper) => vec![self.helper(chain, helper)],
            _ => self.history(chain),
        };
        let model = chain.live.model.as_deref();
        marks::mark(&mut prompt, chain.wire.markers, &self.options, model);
        Ok(prompt)
    }
}

/// A message as it is written: sections, then the question.
struct Page<'a> {
    phrases: &'a Phrases,
    spans: Vec<Span>,
}

impl<'a> Page<'a> {
    fn new(phrases: &'a Phrases) -> Self {
        Self {
            phrases,
            spans: Vec::new(),
        }
    }

    fn push(&mut self, origin: &str, class: Class, text: impl Into<Text>) {
        self.spans.push(Span::new(origin, class, text));
    }

    fn words(&self, key: &str) -> &'a str {
        self.phrases.get(&format!("inline.{key}"))
    }

    /// A heading (the phrase `key` and `name`) and a text below it.
    fn section(&mut self, origin: &str, class: Class, key: &str, name: &str, text: &Text) {
        let heading = format!("{}{name}\n", self.words(key));
        self.push(origin, class, heading);
        self.push(origin, class, text.clone());
        self.push(origin, class, "\n\n");
    }

    fn line(&mut self, origin: &str, key: &str, value: &str) {
        let line = format!("{}{value}\n\n", self.words(key));
        self.push(origin, Class::Turn, line);
    }

    fn summary(&mut self, summary: Option<&Compaction>) {
        if let Some(compaction) = summary {
            let class = Class::Conversation;
            self.section(Origin::SUMMARY, class, "summary", "", &compaction.summary);
        }
    }

    fn retrieved(&mut self, text: Option<&Text>) {
        if let Some(text) = text {
            self.section("retrieved_context", Class::Turn, "retrieved", "", text);
        }
    }

    fn sources(&mut self, sample: &Sample) {
        let class = Class::Conversation;
        if let Some(text) = &sample.web_search {
            self.section(
                "tool_context.web_search",
                Class::Static,
                "web_search",
                "",
                text,
            );
            self.line("tool_runtime.web_search", "now", &sample.at.datetime());
        }
        for (key, text) in [
            ("artifacts", &sample.artifacts),
            ("memory_guard", &sample.memory_guard),
            ("project", &sample.project),
        ] {
            if let Some(text) = text {
                self.section(key, class, key, "", text);
            }
        }
        let skills = sample.skills.iter().map(|(name, text)| (&**name, text));
        self.list("skills_catalog", class, "skills", skills);
        for (key, text) in &sample.other {
            self.section(key, Class::Turn, "other", key, text);
        }
        if sample.memory.on {
            let entries = sample.memory.entries.iter();
            let entries = entries.map(|entry| (&*entry.key, &entry.value));
            self.list("memory", Class::Turn, "memory", entries);
        }
    }

    fn list<'e>(
        &mut self,
        origin: &str,
        class: Class,
        key: &str,
        entries: impl Iterator<Item = (&'e str, &'e Text)>,
    ) {
        let lines: Vec<String> = entries
            .map(|(name, text)| format!("- {name}: {text}"))
            .collect();
        if !lines.is_empty() {
            self.section(origin, class, key, "", &Text::from(lines.join("\n")));
        }
    }

    fn message(mut self, turn: &UserTurn) -> Message {
        if turn.sample.timestamps {
            self.line("send_time", "sent", &turn.sent.datetime());
        }
        self.retrieved(turn.retrieved.as_ref());
        for output in &turn.tool_outputs {
            let tool = &output.tool;
            self.section("tool_outputs", Class::Turn, "tool", tool, &output.output);
        }
        for attachment in &turn.attachments {
            self.attachment(attachment);
        }
        if !turn.queued_files.is_empty() {
            let names = Text::from(turn.queued_files.join("\n"));
            self.section("queued_code_files", Class::Turn, "queued", "", &names);
        }
        if !self.spans.is_empty() {
            let heading = format!("{}\n", self.words("question"));
            self.push(Origin::USER, Class::Static, heading);
        }
        self.push(Origin::USER, Class::Turn, turn.text.clone());
        let mut message = Message::text(Role::User, self.spans);
        message
            .blocks
            .extend(turn.attachments.iter().filter_map(picture));
        message
    }

    fn attachment(&mut self, attachment: &Attachment) {
        let class = Class::Turn;
        match attachment {
            Attachment::Note { note, active } => self.note(note, *active),
            Attachment::Url { url, text } => {
                self.section(&format!("urls/{url}"), class, "url", url, text);
            }
            Attachment::Tab { url, text, active } => {
                let name = self.named(url, *active);
                self.section(&format!("tabs/{url}"), class, "tab", &name, text);
            }
            Attachment::Selection {
                source,
                lines,
                text,
                ..
            } => {
                let lines =
                    lines.map(|(first, last)| format!("{}{first}-{last}", self.words("lines")));
                let name = format!("{source}{}", lines.unwrap_or_default());
                let origin = format!("selections/{source}");
                self.section(&origin, class, "selection", &name, text);
            }
            Attachment::Tag { tag, notes } => {
                self.line(&format!("tags/{tag}"), "tag", tag);
                self.notes(notes);
            }
            Attachment::Folder { path, notes } => {
                self.line(&format!("folders/{path}"), "folder", path);
                self.notes(notes);
            }
            Attachment::Image { .. } => {}
        }
    }

    fn notes(&mut self, notes: &[Note]) {
        for note in notes {
            self.note(note, false);
        }
    }

    fn note(&mut self, note: &Note, active: bool) {
        let name = self.named(&note.path, active);
        let missing = || Text::from(self.words("missing"));
        let text = note.text.clone().unwrap_or_else(missing);
        let origin = format!("notes/{}", note.path);
        self.section(&origin, Class::Turn, "note", &name, &text);
    }

    fn named(&self, name: &str, active: bool) -> String {
        let flag = if active { self.words("active") } else { "" };
        format!("{name}{flag}")
    }
}

fn picture(attachment: &Attachment) -> Option<Block> {
    let Attachment::Image {
        name,
        media_type,
        data,
    } = attachment
    else {
        return None;
    };
    Some(Block {
        content: Content::Image(Image {
            media_type: Arc::clone(media_type),
            data: Span::new(format!("images/{name}"), Class::Turn, data.clone()),
        }),
        marker: None,
    })
}
