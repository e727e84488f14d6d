//! Putting a prompt of the layered family together: system, history, question.

use crate::chat::{Block, CacheMarker, Content, MarkerRule, Message, Prompt, Role, Span, Text};
use crate::context::configuration::Options;
use crate::context::render;
use crate::context::turn::place;
use crate::context::{Chain, Phrases};

/// The pieces of a prompt.
#[derive(Default)]
pub(super) struct Frame {
    /// Instructions; with what follows the library in the system prompt last.
    pub(super) instructions: Vec<Span>,
    /// The library with its heading; empty: none.
    pub(super) library: Vec<Span>,
    /// What stands behind the library.
    pub(super) behind: Vec<Span>,
    /// The summary of what was compacted.
    pub(super) summary: Option<Text>,
    /// Earlier messages.
    pub(super) history: Vec<Message>,
    /// The question, and the rounds of its tool loop.
    pub(super) newest: Vec<Message>,
    /// What a person should know.
    pub(super) warnings: Vec<String>,
}

/// Which blocks are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    /// None.
    None,
    /// The last block of the last message.
    Last,
    /// Instructions, library, the last earlier message and the last message.
    Layers,
    /// The system prompt and the last earlier message.
    Explicit,
}

impl Marks {
    /// What a wire's rule means to this family.
    pub(super) fn of(rule: MarkerRule) -> Self {
        match rule {
            MarkerRule::None => Self::None,
            MarkerRule::Anthropic | MarkerRule::AnthropicOld | MarkerRule::Bedrock => Self::Layers,
            MarkerRule::OpenaiExplicit => Self::Explicit,
        }
    }
}

impl Frame {
    /// The prompt. A summary becomes a user message at the head of the history.
    pub(super) fn prompt(
        self,
        chain: &Chain<'_>,
        marks: Marks,
        options: &Options,
        phrases: &Phrases,
    ) -> Prompt {
        let rule = options.applied_to(chain.wire).markers;
        let marker = Some(match (marks, options.marker_ttl) {
            // The one marker of the releases, as it is shipped: without a lifetime.
            (Marks::Last, None) => CacheMarker::default(),
            _ => options.marker(rule, chain.live.model.as_deref()),
        });
        let system = self.system(marks, marker);
        let summary = self.summary.as_ref().filter(|text| !text.is_empty());
        let summary = summary.map(|text| place::summary_at_head(text, phrases));
        let mut messages: Vec<Message> = summary.into_iter().chain(self.history).collect();
        if matches!(marks, Marks::Layers | Marks::Explicit) {
            mark(&mut messages, marker);
        }
        messages.extend(self.newest);
        if matches!(marks, Marks::Layers | Marks::Last) {
            let last = messages.last_mut().map(std::slice::from_mut);
            mark(last.unwrap_or_default(), marker);
        }
        Prompt {
            tools: chain.live.tools.to_vec(),
            system,
            messages,
            hints: render::hints(rule),
            warnings: self.warnings,
        }
    }

    /// One block, or one for each layer where each is marked.
    fn system(&self, marks: Marks, marker: Option<CacheMarker>) -> Vec<Block> {
        let parts = [&self.instructions, &self.library, &self.behind];
        if marks == Marks::Layers {
            let filled = parts.into_iter().filter(|spans| !spans.is_empty());
            let mut blocks: Vec<Block> = filled.map(|spans| Block::text(spans.clone())).collect();
            for block in blocks.iter_mut().take(2) {
                block.marker = marker;
            }
            return blocks;
        }
        let spans: Vec<Span> = parts.into_iter().flatten().cloned().collect();
        if spans.is_empty() {
            return Vec::new();
        }
        let mut block = Block::text(spans);
        block.marker = marker.filter(|_| marks == Marks::Explicit);
        vec![block]
    }
}

/// Marks the last of `messages` that has something to mark.
fn mark(messages: &mut [Message], marker: Option<CacheMarker>) {
    let messages = messages.iter_mut().rev();
    let mut blocks = messages.flat_map(|message| message.blocks.iter_mut().rev());
    if let Some(block) = blocks.find(|block| is_anchor(block)) {
        block.marker = marker;
    }
}

/// Calls, reasoning and blank text cannot be marked.
fn is_anchor(block: &Block) -> bool {
    match &block.content {
        Content::Text(spans) => spans.iter().any(|span| !span.text.trim().is_empty()),
        Content::Image(_) => true,
        Content::Call(_) | Content::Reasoning(_) => false,
    }
}

/// A user message of one text block, and pictures behind it.
pub(super) fn user(spans: Vec<Span>, pictures: impl Iterator<Item = Block>) -> Message {
    Message {
        role: Role::User,
        blocks: std::iter::once(Block::text(spans))
            .chain(pictures)
            .collect(),
        tool_call_id: None,
    }
}
