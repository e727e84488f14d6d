//! Behaviours of the family, one rule a test.

mod arms;
mod compaction;
mod planning;
mod time;
mod unplanned;
mod wires;

use crate::chat::{Content, Family, Prompt, Role};
use crate::context::testing::{Talk, strategy, text};
use crate::context::{Options, Strategy};

/// Texts of the user messages of `prompt`, in order.
fn said(prompt: &Prompt) -> Vec<String> {
    let users = prompt.messages.iter().filter(|it| it.role == Role::User);
    users
        .map(|message| {
            let texts = message
                .blocks
                .iter()
                .filter_map(|block| match &block.content {
                    Content::Text(spans) => Some(text(spans)),
                    _ => None,
                });
            texts.collect()
        })
        .collect()
}

/// The last user message of `prompt`.
fn newest(prompt: &Prompt) -> String {
    said(prompt).pop().unwrap()
}

/// Text of the system prompt.
fn system(prompt: &Prompt) -> String {
    let texts = prompt.system.iter().map(|block| match &block.content {
        Content::Text(spans) => text(spans),
        _ => String::new(),
    });
    texts.collect::<Vec<_>>().join("|")
}

/// A block with `lines` in front of `text`.
fn told(lines: &str, text: &str) -> String {
    format!("<context_update>\n{lines}\n</context_update>\n\n{text}")
}

fn planned() -> Box<dyn Strategy> {
    strategy("turn-context", Options::default())
}

/// A chat with one answered message.
fn begun(strategy: &mut dyn Strategy) -> Talk {
    let mut talk = Talk::new(Family::Openai);
    talk.send(strategy, "One.");
    talk.reply("Yes.");
    talk
}
