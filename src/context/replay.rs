//! Answers and tool loops as messages, for strategies that replay them as they
//! were.

use super::view::{AssistantTurn, Call, Chain, Round, UserTurn};
use crate::chat::{Block, Class, Content, Message, Origin, Role, Span, Text, ToolCall};
use std::sync::Arc;

/// How many rounds of `turn`'s tool loop have happened.
pub(super) fn rounds_of<'t>(chain: &Chain<'_>, turn: &'t UserTurn) -> &'t [Round] {
    let is_newest = chain.newest().is_some_and(|newest| newest.id == turn.id);
    let happened = if is_newest {
        chain.rounds.min(turn.rounds.len())
    } else {
        turn.rounds.len()
    };
    turn.rounds.get(..happened).unwrap_or_default()
}

/// The messages of a tool loop: for each round what the model said and called,
/// then a message for each result, passed through `clean`.
pub(super) fn rounds(rounds: &[Round], clean: impl Fn(&Text) -> Text) -> Vec<Message> {
    let mut messages = Vec::new();
    for round in rounds {
        let mut blocks = Vec::with_capacity(round.calls.len() + 1);
        if !round.text.is_empty() {
            blocks.push(Block::text(vec![reply(&round.text)]));
        }
        blocks.extend(round.calls.iter().map(call));
        messages.push(Message {
            role: Role::Assistant,
            blocks,
            tool_call_id: None,
        });
        for call in &round.calls {
            let result = Span::new(Origin::TOOL_RESULT, Class::Turn, clean(&call.result));
            messages.push(Message {
                tool_call_id: Some(Arc::clone(&call.id)),
                ..Message::text(Role::Tool, vec![result])
            });
        }
    }
    messages
}

/// An answer; with its reasoning where `reasoning` goes back to the model.
pub(super) fn answer(turn: &AssistantTurn, reasoning: bool) -> Message {
    let mut message = Message::text(Role::Assistant, vec![reply(&turn.text)]);
    if let (true, Some(thought)) = (reasoning, &turn.reasoning) {
        let block = Block {
            content: Content::Reasoning(vec![reply(thought)]),
            marker: None,
        };
        message.blocks.insert(0, block);
    }
    message
}

fn reply(text: &Text) -> Span {
    Span::new(Origin::REPLY, Class::Turn, text.clone())
}

fn call(call: &Call) -> Block {
    Block {
        content: Content::Call(ToolCall {
            id: Arc::clone(&call.id),
            name: Span::new(Origin::TOOL_CALL, Class::Turn, &*call.name),
            arguments: Span::new(Origin::TOOL_CALL, Class::Turn, call.arguments.clone()),
        }),
        marker: None,
    }
}
