//! Compactions that nobody asked for: the context window is full.
//!
//! A configuration with the option `window` compacts in front of a message whose
//! prompt would take more than 95 % of it, and keeps the turn before, so that
//! the two newest user-led turns stay word for word. The summary is filler of a
//! stated size: no request is sent for it. A tool loop is never interrupted, and
//! a message that is too long by itself goes out as it is.
//!
//! Source: turn context, section 9 (reserve, and what is kept).

use super::drive::Conversation;
use crate::chat::{Block, Content, Prompt, Text};
use crate::context::view::{CompactionMode, Link, NodeId, Purpose, UserTurn};
use crate::context::{Chain, ContextError};
use crate::record::EventLabel;
use crate::scenario::generate::{Kind, generate};
use crate::scenario::model::CompactStep;
use std::sync::Arc;

/// Tokens of the summary.
const SUMMARY: usize = 300;
/// User-led turns kept beside the one that is sent.
const KEPT: usize = 1;
/// Characters that count as a token.
const CHARACTERS: u64 = 4;

impl Conversation {
    /// Compacts the chat at its leaf if `message`, sent there, would not fit.
    pub(super) fn make_room(&mut self, message: &Arc<UserTurn>) -> Result<(), ContextError> {
        let configuration = &self.layout.configuration;
        let Some(window) = configuration.options.window else {
            return Ok(());
        };
        if configuration.base.compacts {
            return Ok(());
        }
        let size = size(&self.trial(message)?);
        // 95 % of the window, without the rounding of a division.
        if size.saturating_mul(100) <= window.saturating_mul(CHARACTERS).saturating_mul(95) {
            return Ok(());
        }
        let leaf = self.chats[self.chat].leaf;
        let step = CompactStep {
            keep_turns: KEPT,
            summary: Text::from(generate(SUMMARY, seed(leaf), Kind::default())),
            mode: CompactionMode::Coverage,
            call: false,
        };
        self.close_segment(self.chat, &step);
        if self.chats[self.chat].leaf != leaf {
            self.events.push(EventLabel {
                label: Arc::from(format!("compact: a window of {window} tokens is full")),
                line: self.line,
                rewrites: Some(Vec::new()),
            });
        }
        Ok(())
    }

    /// The prompt that `message` would make at the leaf, before it is planned.
    fn trial(&mut self, message: &Arc<UserTurn>) -> Result<Prompt, ContextError> {
        let base = self.layout.configuration.base.name;
        let chat = &self.chats[self.chat];
        let mut links = chat.path(chat.leaf, base);
        links.push(Link::User(Arc::clone(message)));
        let chain = Chain {
            links: &links,
            live: &message.sample,
            vault: &self.world.vault,
            anchor: chat.anchor(base),
            purpose: &Purpose::Send,
            rounds: 0,
            rebuilt: chat.rebuilt.min(chat.users(chat.leaf)),
            reloaded: chat.reloaded.min(chat.users(chat.leaf)),
            wire: self.layout.wire,
        };
        self.layout.strategy.render(&chain)
    }
}

/// Summaries differ from each other, and are the same in every run.
fn seed(leaf: Option<NodeId>) -> u64 {
    leaf.map_or(0, |id| u64::from(id.0))
}

/// Characters of everything that a provider renders; a picture counts nothing.
fn size(prompt: &Prompt) -> u64 {
    let tools = prompt.tools.iter().flat_map(|tool| {
        let texts = tool.description.iter().chain([&tool.parameters]);
        texts.map(|span| &span.text)
    });
    let messages = prompt.messages.iter().flat_map(|message| &message.blocks);
    let blocks = prompt.system.iter().chain(messages).flat_map(texts);
    let characters = tools.chain(blocks).map(|text| text.chars().count());
    characters.sum::<usize>() as u64
}

fn texts(block: &Block) -> Vec<&Text> {
    match &block.content {
        Content::Text(spans) | Content::Reasoning(spans) => {
            spans.iter().map(|span| &span.text).collect()
        }
        Content::Call(call) => vec![&call.name.text, &call.arguments.text],
        Content::Image(_) => Vec::new(),
    }
}
