//! Cache markers: at most four, and where they stand.
//!
//! Source: turn context, section 3.4; the newer rule is that of agents 550.

use super::place::Placed;
use crate::chat::{
    Block, CacheMarker, Content, Family, MarkerRule, Message, Prompt, Role, Tool, Wire,
};
use crate::context::configuration::{Options, is_claude};

/// Marks `prompt`, whose system prompt and messages are `placed`.
///
/// `model` matters for Bedrock only: other models than Claude take no marker on tools
/// and keep entries for five minutes; a model that is not named counts as Claude.
pub(super) fn mark(
    prompt: &mut Prompt,
    placed: &Placed,
    wire: Wire,
    options: &Options,
    model: Option<&str>,
) {
    let claude = model.is_none_or(is_claude);
    let marker = options.marker(wire.markers, model);
    match wire.markers {
        MarkerRule::None => {}
        MarkerRule::Anthropic | MarkerRule::AnthropicOld => {
            // Tool definitions in the OpenAI format have no place for a marker.
            if wire.family != Family::Openrouter {
                mark_tools(&mut prompt.tools, marker);
            }
            mark_stable(prompt, placed, marker);
            for at in anthropic(&prompt.messages, placed, wire.markers) {
                mark_message(prompt.messages.get_mut(at), marker);
            }
        }
        MarkerRule::OpenaiExplicit => {
            if let Some(block) = prompt.system.last_mut() {
                block.marker = Some(marker);
            }
            let newest = placed.newest.unwrap_or(prompt.messages.len());
            let before = (placed.synthetic..newest).rev();
            let at = before
                .into_iter()
                .find(|&at| markable(prompt.messages.get(at)));
            mark_message(at.and_then(|at| prompt.messages.get_mut(at)), marker);
        }
        MarkerRule::Bedrock => {
            if claude {
                mark_tools(&mut prompt.tools, marker);
            }
            mark_stable(prompt, placed, marker);
            mark_last(prompt.messages.last_mut(), marker, is_text);
        }
    }
}

fn mark_tools(tools: &mut [Tool], marker: CacheMarker) {
    if let Some(tool) = tools.last_mut() {
        tool.marker = Some(marker);
    }
}

fn mark_stable(prompt: &mut Prompt, placed: &Placed, marker: CacheMarker) {
    if let Some(block) = prompt.system.first_mut().filter(|_| placed.stable) {
        block.marker = Some(marker);
    }
}

/// Indices of the messages that are marked, for providers with `cache_control`.
///
/// Without a tail message: the last one, if it is not the opening. With one: an
/// answer in front of it (two under the older rule), never the opening, and
/// under the newer rule the last message behind it.
fn anthropic(messages: &[Message], placed: &Placed, rule: MarkerRule) -> Vec<usize> {
    let markable = |at: &usize| markable(messages.get(*at));
    let first = placed.synthetic.max(1);
    let Some(tail) = placed.tail else {
        let last = (first..messages.len()).rev().find(markable);
        return last.into_iter().collect();
    };
    let answers = (first..tail).rev().filter(markable);
    let answers = answers.filter(|&at| {
        messages
            .get(at)
            .is_some_and(|message| message.role == Role::Assistant)
    });
    let (count, suffix) = match rule {
        MarkerRule::AnthropicOld => (2, None),
        _ => (1, (tail + 1..messages.len()).rev().find(markable)),
    };
    answers.take(count).chain(suffix).collect()
}

fn markable(message: Option<&Message>) -> bool {
    message.is_some_and(|message| message.blocks.iter().any(is_anchor))
}

fn is_text(block: &Block) -> bool {
    match &block.content {
        Content::Text(spans) => spans.iter().any(|span| !span.text.trim().is_empty()),
        Content::Image(_) | Content::Call(_) | Content::Reasoning(_) => false,
    }
}

/// Reasoning, calls and blank text are no anchors.
fn is_anchor(block: &Block) -> bool {
    is_text(block) || matches!(block.content, Content::Image(_))
}

fn mark_message(message: Option<&mut Message>, marker: CacheMarker) {
    mark_last(message, marker, is_anchor);
}

/// Marks the last block of `message` that `fits`.
fn mark_last(message: Option<&mut Message>, marker: CacheMarker, fits: fn(&Block) -> bool) {
    let blocks = message.into_iter().flat_map(|it| it.blocks.iter_mut());
    if let Some(block) = blocks.rev().find(|block| fits(block)) {
        block.marker = Some(marker);
    }
}
