//! What the model has been told so far, and what it must be told next.
//!
//! A ledger is folded over the messages that a prompt holds, oldest first. What
//! is written for a message depends on the messages before it alone, so that
//! writing it again for a longer chain gives the same bytes.

use super::entry::{Entries, Source, code, quoted};
use super::facts::{Facts, tell};
use crate::chat::{Class, Origin, Span, Text};
use crate::context::special;
use crate::context::view::Sample;
use jiff::civil::Date;
use std::collections::{BTreeMap, HashSet};

/// What the model has been told.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Whether entries have been explained.
    introduced: bool,
    /// Instructions in the system text.
    first_instructions: Text,
    /// Instructions in force, as they were sent.
    instructions: Text,
    /// The same before its variables were replaced, and whether it has any:
    /// unchanged instructions are not read again for every message.
    template: Text,
    names_time: bool,
    /// Texts in force, by the name of their source.
    texts: BTreeMap<String, Text>,
    memory: Facts,
    skills: Facts,
    /// Local date and offset from UTC in seconds.
    day: Option<(Date, i32)>,
    /// Codes that can be referred to.
    pub(super) codes: HashSet<String>,
}

/// How an update is written.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    /// Explains entries, in front of the first.
    pub(super) intro: &'a str,
    /// Memory is withheld from the whole request.
    pub(super) withheld: bool,
}

impl Ledger {
    /// The system text: the agent's instructions and everything that is on.
    ///
    /// Instructions that name the time differ from chat to chat, so they stand
    /// behind everything that does not.
    pub(super) fn head(&mut self, sample: &Sample, terms: Terms<'_>) -> Entries {
        let mut out = Entries::default();
        let instructions = self.resolve(sample);
        self.first_instructions = instructions.clone();
        self.instructions = instructions.clone();
        let mut entries = Entries::default();
        self.state(&mut entries, sample, terms);
        let origin = "agent_instructions";
        let apart = !instructions.is_empty() && !entries.spans.is_empty();
        if self.names_time {
            out.spans.append(&mut entries.spans);
            if apart {
                out.plain(origin, Class::Static, "\n");
            }
            out.plain(origin, Class::Conversation, instructions);
        } else {
            if !instructions.is_empty() {
                out.plain(origin, Class::Static, instructions);
            }
            if apart {
                out.plain(origin, Class::Static, "\n\n");
            }
            out.spans.append(&mut entries.spans);
        }
        out
    }

    /// The net difference between what the model knows and `sample`.
    pub(super) fn state(&mut self, out: &mut Entries, sample: &Sample, terms: Terms<'_>) {
        let start = out.spans.len();
        self.instruct(out, sample);
        let conversation = Class::Conversation;
        for (name, origin, class, now) in [
            (
                "web_search",
                "tool_context.web_search",
                Class::Static,
                &sample.web_search,
            ),
            ("artifacts", "artifacts", conversation, &sample.artifacts),
            (
                "memory_guard",
                "memory_guard",
                conversation,
                &sample.memory_guard,
            ),
            ("project", "project", conversation, &sample.project),
        ] {
            self.source(out, (name, origin, class), now.as_ref());
        }
        let skills = sample.skills.iter().map(|(name, text)| (name, text));
        if sample.skills.is_empty() && !self.skills.is_empty() {
            write_empty(out, "skills_catalog", conversation, "skills off");
            self.skills.clear();
        } else if let Some(lines) = tell(&mut self.skills, skills) {
            write_text(out, "skills_catalog", conversation, "skills", &lines);
        }
        self.others(out, sample);
        if sample.memory.on && !terms.withheld {
            let entries = sample.memory.entries.iter();
            let entries = entries.map(|entry| (&entry.key, &entry.value));
            if let Some(lines) = tell(&mut self.memory, entries) {
                write_text(out, "memory", Class::Turn, "memory", &lines);
            }
        }
        self.time(out, sample);
        self.introduce(out, start, terms);
    }

    fn resolve(&mut self, sample: &Sample) -> Text {
        self.template = sample.system.clone();
        self.names_time = special::has_variable(&sample.system);
        special::resolve(&sample.system, &sample.started)
    }

    /// Changed instructions go behind everything that was sent: the old ones in
    /// the system text stay, and with them the whole prefix.
    fn instruct(&mut self, out: &mut Entries, sample: &Sample) {
        if sample.system == self.template {
            return;
        }
        let now = self.resolve(sample);
        if now == self.instructions {
            return;
        }
        let origin = "agent_instructions";
        if now == self.first_instructions {
            write_empty(out, origin, Class::Static, "instructions first");
        } else if now.is_empty() {
            write_empty(out, origin, Class::Static, "instructions off");
        } else {
            self.known_or_new(out, (origin, Class::Static), "instructions", &now);
        }
        self.instructions = now;
    }

    fn source(&mut self, out: &mut Entries, source: (&str, &str, Class), now: Option<&Text>) {
        let (name, origin, class) = source;
        if self.texts.get(name) == now {
            return;
        }
        if let Some(text) = now {
            self.known_or_new(out, (origin, class), name, text);
            self.texts.insert(name.to_owned(), text.clone());
        } else {
            write_empty(out, origin, class, &format!("{name} off"));
            self.texts.remove(name);
        }
    }

    /// Sources that no registry knows, those that went among them.
    fn others(&mut self, out: &mut Entries, sample: &Sample) {
        let name_of = |key: &str| format!("other {}", quoted(key));
        let now: BTreeMap<String, (&str, &Text)> = sample
            .other
            .iter()
            .map(|(key, text)| (name_of(key), (&**key, text)))
            .collect();
        let gone: Vec<String> = self
            .texts
            .keys()
            .filter(|name| name.starts_with("other ") && !now.contains_key(*name))
            .cloned()
            .collect();
        for name in gone {
            self.source(out, (&name, "other", Class::Turn), None);
        }
        for (name, (key, text)) in now {
            self.source(out, (&name, key, Class::Turn), Some(text));
        }
    }

    /// The time, where something asks for it: once, and on another day or in
    /// another zone again.
    fn time(&mut self, out: &mut Entries, sample: &Sample) {
        let asked = sample.web_search.is_some() || self.names_time;
        if !asked {
            return;
        }
        let zoned = sample.at.at.to_zoned_datetime(sample.at.zone.clone());
        let day = (zoned.date(), zoned.offset().seconds());
        // A stamp on the message says it, and more.
        if self.day != Some(day) && !sample.timestamps {
            let now = zoned.strftime("now %Y-%m-%d %H:%M %:z (%A)").to_string();
            write_empty(out, "date", Class::Conversation, &now);
        }
        self.day = Some(day);
    }

    /// A text that the prompt already holds is named by its code.
    pub(super) fn known_or_new(
        &mut self,
        out: &mut Entries,
        (origin, class): (&str, Class),
        head: &str,
        text: &Text,
    ) {
        match code(text) {
            Some(code) if self.codes.contains(&code) => {
                write_empty(out, origin, class, &format!("{head} {code}"));
            }
            Some(code) => {
                write_text(out, origin, class, &format!("{head} {code}"), text);
                self.codes.insert(code);
            }
            None => write_text(out, origin, class, head, text),
        }
    }

    /// Explains entries in front of the first that was ever written.
    pub(super) fn introduce(&mut self, out: &mut Entries, start: usize, terms: Terms<'_>) {
        if self.introduced || out.spans.len() == start {
            return;
        }
        self.introduced = true;
        let intro = format!("{}\n", terms.intro);
        let span = Span::new("ctx", Class::Static, intro);
        out.spans.insert(start, span);
    }
}

pub(super) fn write_text(out: &mut Entries, origin: &str, class: Class, head: &str, text: &Text) {
    let origin = Origin::from(origin);
    let source = Source {
        origin: &origin,
        class,
    };
    out.text(source, head, text);
}

pub(super) fn write_empty(out: &mut Entries, origin: &str, class: Class, head: &str) {
    let origin = Origin::from(origin);
    let source = Source {
        origin: &origin,
        class,
    };
    out.empty(source, head);
}
