//! Cache markers for prompts that only grow at their end.
//!
//! Marked are the ends of the tools, of the system text, of the request before
//! and of this one: at most four, as Anthropic and `OpenAI` allow. The request
//! before ended right in front of the newest answer, so its entry is named
//! exactly, however many blocks a tool loop has put behind it: nothing depends
//! on how far back a provider looks (20 blocks at Anthropic).

use super::configuration::Options;
use crate::chat::{Block, CacheMarker, Content, MarkerRule, Prompt, Role};

/// Sets the markers that `rule` asks for; `model` is the one that is asked.
pub(super) fn mark(prompt: &mut Prompt, rule: MarkerRule, options: &Options, model: Option<&str>) {
    let marker = options.marker(rule, model);
    match rule {
        MarkerRule::None => return,
        // Nova refuses a marker among tools, and `OpenAI` has none there.
        MarkerRule::Bedrock => {}
        MarkerRule::OpenaiExplicit => prompt.hints.explicit_cache = true,
        MarkerRule::Anthropic | MarkerRule::AnthropicOld => {
            if let Some(tool) = prompt.tools.last_mut() {
                tool.marker = Some(marker);
            }
        }
    }
    mark_last(&mut prompt.system, marker);
    let answer = prompt
        .messages
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    let before = answer.and_then(|at| at.checked_sub(1));
    for at in before
        .into_iter()
        .chain(prompt.messages.len().checked_sub(1))
    {
        if let Some(message) = prompt.messages.get_mut(at) {
            mark_last(&mut message.blocks, marker);
        }
    }
}

/// Marks the last block that may be marked: not reasoning, not blank text.
fn mark_last(blocks: &mut [Block], marker: CacheMarker) {
    let markable = blocks.iter_mut().rev().find(|block| match &block.content {
        Content::Text(spans) => spans.iter().any(|span| !span.text.trim().is_empty()),
        Content::Image(_) | Content::Call(_) => true,
        Content::Reasoning(_) => false,
    });
    if let Some(block) = markable {
        block.marker = Some(marker);
    }
}
