//! Producers: from sampled sources to the texts that a prompt shows of them.
//!
//! Source: turn context, sections 2.3 and 2.4.

use super::fold::State;
use super::state::{Fact, Part, Value};
use super::variables;
use crate::chat::{Span, Text};
use crate::context::configuration::MemoryForm;
use crate::context::phrases::Phrases;
use crate::context::registry::{self, key};
use crate::context::view::{Moment, Sample, ToolOutput};
use std::fmt::Write as _;
use std::sync::Arc;

/// Most characters of a skill's description that the catalogue shows.
const SKILL_CHARS: usize = 250;
/// Most skills that the catalogue shows.
const SKILLS: usize = 100;

/// What the prompt's time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::context) enum Clock {
    /// The instant of the turn, with milliseconds.
    Turn,
    /// The start of the conversation, by the minute.
    Start,
}

/// Turns samples into texts.
#[derive(Clone, Copy)]
pub(in crate::context) struct Producer<'a> {
    /// Fixed wording.
    pub(in crate::context) phrases: &'a Phrases,
    /// How memory is written out.
    pub(in crate::context) form: MemoryForm,
}

impl Producer<'_> {
    /// The sampled sources as values that can be planned with.
    pub(in crate::context) fn state(self, sample: &Sample) -> State {
        State {
            date: sample.at.date(),
            parts: self.parts(sample, Clock::Start),
        }
    }

    /// The sources that are on (and memory in any case), in canonical order. A
    /// source without any text is off.
    pub(in crate::context) fn parts(self, sample: &Sample, clock: Clock) -> Vec<Part> {
        let text = |text: &Option<Text>| {
            let text = text.as_ref().filter(|text| !text.trim().is_empty());
            text.cloned().map(Value::Text)
        };
        let web = sample.web_search.is_some();
        let values = [
            (key::WEB_SEARCH_NOTES, text(&sample.web_search)),
            (key::PROJECT, text(&sample.project)),
            (key::MEMORY_GUARD, text(&sample.memory_guard)),
            (key::ARTIFACTS, text(&sample.artifacts)),
            (key::SKILLS, catalogue(&sample.skills)),
            (key::MEMORY, Some(memory(sample))),
            (
                key::WEB_SEARCH_TIME,
                web.then(|| self.web_time(sample, clock)),
            ),
        ];
        let on = values
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        on.map(|(key, value)| Part {
            key: Arc::from(key),
            value,
        })
        .collect()
    }

    fn web_time(self, sample: &Sample, clock: Clock) -> Value {
        let heading = self.phrases.get("turn.web_search_time");
        let (label, time) = match clock {
            Clock::Turn => ("turn.web_search_now", sample.at.iso()),
            Clock::Start => {
                let start = &sample.started;
                let zone = start.zone.iana_name().unwrap_or("UTC");
                (
                    "turn.web_search_started",
                    format!("{} ({zone})", start.minute()),
                )
            }
        };
        Value::Text(Text::from(format!(
            "{heading}\n{}{time}",
            self.phrases.get(label)
        )))
    }

    /// The text of one source, with its heading; empty where it is off.
    pub(in crate::context) fn part(self, part: &Part) -> Vec<Span> {
        let key = &*part.key;
        let headed = |phrase: &str, text: &Text| {
            let heading = format!("{}\n", self.phrases.get(phrase));
            vec![
                registry::span(key, heading),
                registry::span(key, text.clone()),
            ]
        };
        match &part.value {
            Value::Off => Vec::new(),
            Value::Memory(facts) if facts.is_empty() => Vec::new(),
            Value::Memory(facts) => vec![registry::span(key, self.memory_text(facts))],
            Value::Text(text) if key == key::PROJECT => headed("turn.project", text),
            Value::Text(text) if key == key::SKILLS => headed("turn.skills", text),
            Value::Text(text) => vec![registry::span(key, text.clone())],
        }
    }

    /// Entries are numbered from 1 in the order of their last change, so that a
    /// change rewrites the text from the entry's old place on.
    fn memory_text(self, facts: &[Fact]) -> String {
        let mut out = format!(
            "{}\n\n{}\n",
            self.phrases.get("turn.memory_intro"),
            self.phrases.get("turn.memory_heading")
        );
        for (at, fact) in facts.iter().enumerate() {
            let gap = if at == 0 { "" } else { "\n\n" };
            let Fact { key, value, day } = fact;
            let number = at + 1;
            // Writing to a string cannot fail.
            let _ = match self.form {
                MemoryForm::Values => write!(out, "{gap}{number}. [{day}] {value}"),
                MemoryForm::Keyed => {
                    let tokens = estimate(value);
                    write!(
                        out,
                        "{gap}{number}. [{day}] {key} ({tokens} tokens): {value}"
                    )
                }
            };
        }
        out
    }

    /// Files staged for the sandbox; empty where there are none.
    pub(in crate::context) fn queued(self, files: &[Arc<str>]) -> Vec<Span> {
        if files.is_empty() {
            return Vec::new();
        }
        let mut out = self.phrases.get("turn.queued_files").to_owned();
        for file in files {
            out.push_str("\n\t- ");
            out.push_str(file);
        }
        out.push('\n');
        out.push_str(self.phrases.get("turn.queued_files_after"));
        vec![registry::span(key::QUEUED_FILES, out)]
    }

    /// What a tool gave before the model was asked.
    pub(in crate::context) fn output(self, output: &ToolOutput) -> Vec<Span> {
        let heading = format!("{}{}\n", self.phrases.get("turn.tool_output"), output.tool);
        vec![
            registry::span(key::TOOL_OUTPUTS, heading),
            registry::span(key::TOOL_OUTPUTS, output.output.clone()),
        ]
    }

    /// A skill of an isolated helper.
    pub(in crate::context) fn always_apply(self, name: &str, body: &Text) -> Vec<Span> {
        let key = format!("{}{name}", key::ALWAYS_APPLY);
        let heading = format!("{}{name}\n\n", self.phrases.get("turn.always_apply_skill"));
        vec![
            registry::span(&key, heading),
            registry::span(&key, body.clone()),
        ]
    }
}

/// The instant that special variables stand for.
pub(in crate::context) fn prompt_time(sample: &Sample, clock: Clock) -> Moment {
    match clock {
        Clock::Turn => sample.at.clone(),
        Clock::Start => {
            let Moment { at, zone } = sample.started.clone();
            // Rounding down to the minute stays within the range of instants.
            let second = at.as_second().rem_euclid(60);
            let floor = jiff::Timestamp::from_second(at.as_second() - second);
            Moment {
                at: floor.unwrap_or(at),
                zone,
            }
        }
    }
}

/// Agent instructions under their key: [`key::TEMPORAL_AGENT`] where they name
/// the time, [`key::AGENT`] otherwise. An empty text gives no span.
pub(in crate::context) fn agent(system: &Text, now: &Moment) -> Vec<Span> {
    if system.trim().is_empty() {
        Vec::new()
    } else if variables::is_temporal(system) {
        vec![registry::span(
            key::TEMPORAL_AGENT,
            variables::resolve(system, now),
        )]
    } else {
        vec![registry::span(key::AGENT, system.clone())]
    }
}

fn memory(sample: &Sample) -> Value {
    if !sample.memory.on {
        return Value::Off;
    }
    let facts = sample.memory.entries.iter().map(|entry| Fact {
        key: Arc::clone(&entry.key),
        value: entry.value.clone(),
        day: entry.updated.day().to_string(),
    });
    Value::Memory(facts.collect())
}

/// `- name: description`, a line each; `None` for no skills.
fn catalogue(skills: &[(Arc<str>, Text)]) -> Option<Value> {
    let lines: Vec<String> = skills
        .iter()
        .take(SKILLS)
        .map(
            |(name, about)| match about.char_indices().nth(SKILL_CHARS) {
                Some((end, _)) => format!("- {name}: {}", about.get(..end).unwrap_or(about)),
                None => format!("- {name}: {about}"),
            },
        )
        .collect();
    (!lines.is_empty()).then(|| Value::Text(Text::from(lines.join("\n"))))
}

/// Tokens of `text` at four characters each, rounded up: a figure that the model
/// is shown, not one that is measured with.
fn estimate(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

#[cfg(test)]
#[path = "produce_tests.rs"]
mod tests;
