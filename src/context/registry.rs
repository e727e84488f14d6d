//! Every source of context: its key, its place in the canonical order, its class.
//!
//! A source's key is the origin of the spans it contributes. A key may be a
//! family (`tool_context.*`): then it stands for every key with that beginning.
//!
//! Invariant: a key that is not here counts as [`Class::Turn`] and comes last, so
//! that a new source cannot break the stable prefix.

use crate::chat::{Class, Origin, Span, Text};

/// Keys of the sources, as they stand in origins.
pub mod key {
    /// Static notes of the web-search tool.
    pub const WEB_SEARCH_NOTES: &str = "tool_context.web_search";
    /// Agent instructions.
    pub const AGENT: &str = "agent_instructions";
    /// Extra text of the agent's author.
    pub const CONFIGURED: &str = "configured_additional";
    /// Project guidance.
    pub const PROJECT: &str = "project";
    /// Memory tool guard.
    pub const MEMORY_GUARD: &str = "memory_guard";
    /// Artifacts prompt.
    pub const ARTIFACTS: &str = "artifacts";
    /// Skills catalogue.
    pub const SKILLS: &str = "skills_catalog";
    /// What retrieval found.
    pub const RETRIEVED: &str = "retrieved_context";
    /// What tools gave before the model was asked.
    pub const TOOL_OUTPUTS: &str = "tool_outputs";
    /// Memory.
    pub const MEMORY: &str = "memory";
    /// Files that belong to the agent.
    pub const AGENT_FILES: &str = "agent_context_files";
    /// Beginning of the keys of an isolated helper's skills.
    pub const ALWAYS_APPLY: &str = "always_apply_skill.";
    /// Time block of the web-search tool.
    pub const WEB_SEARCH_TIME: &str = "tool_runtime.web_search";
    /// Agent instructions that name the time.
    pub const TEMPORAL_AGENT: &str = "tool_runtime.agent_temporal_instructions";
    /// Files staged for the sandbox.
    pub const QUEUED_FILES: &str = "tool_runtime.queued_code_files";
    /// The person's local date.
    pub const DATE: &str = "date";
    /// When a message was sent.
    pub const SEND_TIME: &str = "send_time";
    /// Frame of a block that announces changes.
    pub const UPDATE: &str = "context_update";
}

/// One source, or a family of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its key; `NAME.*` or `NAME/*` stands for every key that begins with `NAME.` or `NAME/`.
    pub key: &'static str,
    /// How often it is expected to change.
    pub class: Class,
    /// What it is; one line for `prefixbench list sources`.
    pub about: &'static str,
}

macro_rules! sources {
    ($($key:literal $class:ident $about:literal)+) => {
        &[$(Source { key: $key, class: Class::$class, about: $about }),+]
    };
}

/// Every source, in canonical order.
///
/// Source of order and classes: turn context, sections 2.1 to 2.3; the guard
/// stands in front of the artifacts, as the earlier concatenation had them.
pub static SOURCES: &[Source] = sources! {
    "tools"                        Static       "Tool definitions"
    "tool_context.*"               Static       "Static notes of a tool, such as how to cite what web search found"
    "agent_instructions"           Static       "Agent instructions"
    "configured_additional"        Static       "Extra text of the agent's author"
    "project"                      Conversation "Project guidance"
    "memory_guard"                 Conversation "When the memory tools may be used"
    "artifacts"                    Conversation "How to write artifacts"
    "skills_catalog"               Conversation "Names and descriptions of the skills"
    "retrieved_context"            Turn         "What retrieval found for a message"
    "tool_outputs"                 Turn         "What tools gave before the model was asked"
    "memory"                       Turn         "What is remembered of the user"
    "agent_context_files"          Conversation "Files that belong to the agent"
    "always_apply_skill.*"         Static       "Skill of an isolated helper"
    "tool_runtime.web_search"      Turn         "Time block of the web-search tool"
    "tool_runtime.agent_temporal_instructions" Turn "Agent instructions that name the time"
    "tool_runtime.queued_code_files" Turn       "Files staged for the sandbox with a message"
    "date"                         Conversation "The user's local date"
    "send_time"                    Turn         "When a message was sent"
    "context_update"               Conversation "Frame of a block that announces changes"
    "summary"                      Conversation "Summary of compacted turns"
    "notes/*"                      Conversation "Attached note"
    "urls/*"                       Conversation "Attached page"
    "tabs/*"                       Conversation "Attached browser tab"
    "selections/*"                 Conversation "Attached selection"
    "tags/*"                       Conversation "Notes attached by a tag"
    "folders/*"                    Conversation "Notes attached by a folder"
    "images/*"                     Conversation "Attached picture"
};

fn position(key: &str) -> Option<usize> {
    SOURCES.iter().position(|source| {
        source
            .key
            .strip_suffix('*')
            .map_or(source.key == key, |family| {
                key.starts_with(family) && key.len() > family.len()
            })
    })
}

/// Place of `key` in the canonical order; a key that is not known comes last.
pub fn order(key: &str) -> usize {
    position(key).unwrap_or(SOURCES.len())
}

/// Class of `key`; a key that is not known is [`Class::Turn`].
pub fn class(key: &str) -> Class {
    position(key)
        .and_then(|at| SOURCES.get(at))
        .map_or(Class::Turn, |source| source.class)
}

/// Whether the registry has `key`.
pub fn knows(key: &str) -> bool {
    position(key).is_some()
}

/// A span of `text` that came from `key`, with the registry's class.
pub fn span(key: &str, text: impl Into<Text>) -> Span {
    Span::new(Origin::from(key), class(key), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_unique_and_described() {
        let keys: BTreeSet<_> = SOURCES.iter().map(|source| source.key).collect();
        assert_eq!(keys.len(), SOURCES.len());
        assert!(SOURCES.iter().all(|source| !source.about.is_empty()));
    }

    #[test]
    fn classes_follow_the_table_and_an_unknown_key_is_of_the_turn() {
        let cases = [
            (key::WEB_SEARCH_NOTES, Class::Static),
            (key::AGENT, Class::Static),
            (key::PROJECT, Class::Conversation),
            (key::RETRIEVED, Class::Turn),
            (key::MEMORY, Class::Turn),
            (key::QUEUED_FILES, Class::Turn),
            ("always_apply_skill.review", Class::Static),
            ("notes/a/b.md", Class::Conversation),
            ("weather", Class::Turn),
            ("tool_context.", Class::Turn),
            ("memory2", Class::Turn),
        ];
        for (key, expected) in cases {
            assert_eq!(class(key), expected, "{key}");
        }
        assert!(!knows("weather"));
    }

    #[test]
    fn the_guard_stands_in_front_of_the_artifacts_and_the_unknown_last() {
        let ordered = [
            key::WEB_SEARCH_NOTES,
            key::AGENT,
            key::CONFIGURED,
            key::PROJECT,
            key::MEMORY_GUARD,
            key::ARTIFACTS,
            key::SKILLS,
            key::RETRIEVED,
            key::MEMORY,
            "always_apply_skill.x",
            key::WEB_SEARCH_TIME,
            key::TEMPORAL_AGENT,
            key::QUEUED_FILES,
            "weather",
        ];
        assert!(ordered.is_sorted_by_key(|key| order(key)));
    }
}
