//! Unchanged text is shared between the prompts of a conversation and never
//! copied, so that building a prompt costs its new bytes and not its length.

#![expect(
    clippy::expect_used,
    reason = "a conversation that does not start is a failed test"
)]

#[path = "../benches/support/mod.rs"]
mod support;

use prefixbench::chat::{Block, Content, Prompt, Span, Text};
use std::collections::HashMap;

const TURNS: usize = 100;

/// Every text of a prompt.
fn texts(prompt: &Prompt) -> Vec<&Text> {
    let mut texts = Vec::new();
    for tool in &prompt.tools {
        texts.extend(tool.description.iter().map(|span| &span.text));
        texts.push(&tool.parameters.text);
    }
    let messages = prompt.messages.iter().flat_map(|message| &message.blocks);
    for Block { content, .. } in prompt.system.iter().chain(messages) {
        let spans: Vec<&Span> = match content {
            Content::Text(spans) | Content::Reasoning(spans) => spans.iter().collect(),
            Content::Image(image) => vec![&image.data],
            Content::Call(call) => vec![&call.name, &call.arguments],
        };
        texts.extend(spans.into_iter().map(|span| &span.text));
    }
    texts
}

/// Bytes of a conversation's prompts, and how many of them are in texts that the
/// prompt before had already, as the same allocation.
fn shared(prompts: &[Prompt]) -> (usize, usize) {
    let (mut all, mut shared) = (0, 0);
    let mut before: HashMap<&str, Vec<&Text>> = HashMap::new();
    for prompt in prompts {
        let mut now: HashMap<&str, Vec<&Text>> = HashMap::new();
        for text in texts(prompt) {
            all += text.len();
            let equal = before.get(text.as_str()).map(Vec::as_slice);
            if equal
                .unwrap_or_default()
                .iter()
                .any(|old| old.is_same(text))
            {
                shared += text.len();
            }
            now.entry(text.as_str()).or_default().push(text);
        }
        before = now;
    }
    (all, shared)
}

#[test]
fn unchanged_text_is_shared_between_prompts_under_every_strategy() {
    let scenario = support::long_chat(TURNS, TURNS * 200);
    let mut copying = Vec::new();
    for strategy in support::STRATEGIES {
        let requests = support::requests(&scenario, strategy);
        assert_eq!(requests.len(), TURNS, "{strategy}");
        let prompts: Vec<Prompt> = requests.into_iter().map(|one| one.prompt).collect();
        let (all, shared) = shared(&prompts);
        // What is new in each of 100 prompts is 2 % of all their bytes.
        if shared * 100 < all * 95 {
            copying.push(format!("{strategy}: {shared} of {all} bytes"));
        }
    }
    assert!(copying.is_empty(), "shared too little: {copying:?}");
}
