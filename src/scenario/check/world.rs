//! What exists at a step.

use crate::chat::{Text, Tool};
use crate::context::view::Moment;
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The world as far as later steps may refer to it.
#[derive(Default)]
pub(super) struct World {
    /// Notes that can be read, with their tags.
    pub(super) notes: BTreeMap<Arc<str>, (Text, Vec<Arc<str>>)>,
    /// Pages with a text.
    pub(super) urls: BTreeSet<Arc<str>>,
    /// Tabs with a text.
    pub(super) tabs: BTreeSet<Arc<str>>,
    /// Keys of memory.
    pub(super) memory: BTreeSet<Arc<str>>,
    /// Project guidance.
    pub(super) project: Option<Text>,
    /// Artifacts prompt.
    pub(super) artifacts: Option<Text>,
    /// Web-search notes.
    pub(super) web_search: Option<Text>,
    /// Memory tool guard.
    pub(super) memory_guard: Option<Text>,
    /// Whether the skills catalogue has entries.
    pub(super) skills: bool,
    /// Parts under keys that no registry knows.
    pub(super) other: BTreeMap<Arc<str>, Text>,
    /// Names of the tools.
    pub(super) tools: Vec<Arc<str>>,
    /// Whether each turn so far has a tool loop.
    pub(super) turns: Vec<bool>,
    /// Number of turns before the chat that is open.
    pub(super) before_chat: usize,
    /// Subagents asked so far.
    pub(super) subagents: usize,
    /// Compactions so far.
    pub(super) compactions: usize,
    /// Calls of tools so far.
    pub(super) calls: usize,
    /// Steps so far.
    pub(super) steps: usize,
    now: Timestamp,
}

impl World {
    /// Sets the clock.
    pub(super) fn begin(&mut self, clock: &Moment) {
        self.now = clock.at;
    }

    /// Moves the clock; false where it would leave the calendar.
    pub(super) fn passes(&mut self, time: Duration) -> bool {
        let moved = SignedDuration::try_from(time)
            .ok()
            .and_then(|time| self.now.checked_add(time).ok());
        self.now = moved.unwrap_or(self.now);
        moved.is_some()
    }

    pub(super) fn set_tools(&mut self, tools: &[Tool]) {
        self.tools = tools.iter().map(|tool| Arc::clone(&tool.name)).collect();
    }

    /// Turns of the chat that is open.
    pub(super) fn turns_of_chat(&self) -> usize {
        self.turns.len() - self.before_chat
    }
}
