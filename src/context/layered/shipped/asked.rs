//! The newest question as its chain sends it.

use super::{BuiltTurn, Copilot, chain_kind};
use crate::chat::{Block, Class, Message, Origin, Span};
use crate::context::layered::chains::{self, Output};
use crate::context::layered::frame::{Frame, user};
use crate::context::layered::release::Release;
use crate::context::registry::key;
use crate::context::render;
use crate::context::view::{Chain, ChainKind, Round, UserTurn};

impl Copilot {
    /// Fixed guidance of the tool loop, behind the library.
    pub(super) fn guidance(&self, frame: &Frame) -> Vec<Span> {
        let spans = chains::agent_system(None, &[], &self.phrases);
        if frame.instructions.is_empty() {
            return spans;
        }
        let gap = Span::new("L1/agent_guidance", Class::Static, "\n\n");
        std::iter::once(gap).chain(spans).collect()
    }

    /// The question and the rounds of its loop.
    pub(super) fn asked(
        &self,
        chain: &Chain<'_>,
        newest: &UserTurn,
        built: &BuiltTurn,
        spans: Vec<Span>,
    ) -> Vec<Message> {
        let question = match self.release {
            Release::V4 => chains::question(&built.envelope),
            Release::V31 => built.remembered.clone(),
        };
        let outputs = outputs(newest);
        let kind = chain_kind(newest);
        let spans = if kind == ChainKind::Plus || !newest.tool_outputs.is_empty() {
            chains::with_tools(spans, &question, &outputs, false, &self.phrases)
        } else if let Some(text) = &newest.retrieved {
            let guidance = self.phrases.get("retrieved_guidance");
            let documents = [
                Span::new(
                    "L3/retrieved_guidance",
                    Class::Static,
                    format!("{guidance}\n\n"),
                ),
                Span::new(format!("L3/{}", key::RETRIEVED), Class::Turn, text.clone()),
            ];
            render::join("\n\n", [documents.to_vec(), spans])
        } else {
            spans
        };
        let mut messages = vec![user(spans, render::images(&newest.attachments))];
        let asked = chains::question(&built.envelope);
        for round in newest.rounds.iter().take(chain.rounds) {
            messages.extend(
                render::round(round)
                    .into_iter()
                    .map(|message| self.with_question(message, round, &asked)),
            );
        }
        messages
    }

    /// A search's result with the question behind it.
    fn with_question(&self, mut message: Message, round: &Round, question: &str) -> Message {
        let call = round
            .calls
            .iter()
            .find(|call| Some(&call.id) == message.tool_call_id.as_ref());
        if let Some(call) = call {
            let result = chains::tool_result(&call.name, &call.result, question, &self.phrases);
            if result != *call.result {
                let span = Span::new(Origin::TOOL_RESULT, Class::Turn, result);
                message.blocks = vec![Block::text(vec![span])];
            }
        }
        message
    }
}

/// What tools gave, retrieval first.
fn outputs(turn: &UserTurn) -> Vec<Output> {
    let retrieved = turn.retrieved.iter().map(|text| Output {
        tool: "localSearch".to_owned(),
        text: text.to_string(),
    });
    let given = turn.tool_outputs.iter().map(|output| Output {
        tool: output.tool.to_string(),
        text: output.output.to_string(),
    });
    retrieved.chain(given).collect()
}
