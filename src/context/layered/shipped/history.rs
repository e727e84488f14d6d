//! The window of history, and what is kept of questions and answers.

use super::{Copilot, chain_kind};
use crate::chat::{Class, Message, Origin, Role, Span, Text};
use crate::context::layered::reduce;
use crate::context::layered::release::Release;
use crate::context::layered::units::trim;
use crate::context::render;
use crate::context::view::{AssistantTurn, Chain, ChainKind, Link, NodeId, UserTurn};
use std::collections::HashMap;
use std::sync::Arc;

/// Exchanges that the history shows, as both releases set it by default.
const EXCHANGES: usize = 30;

impl Copilot {
    /// The window of history: questions with an answer that follows directly.
    pub(super) fn history(&self, chain: &Chain<'_>) -> Vec<Message> {
        let users = chain.users().enumerate();
        let indices: HashMap<NodeId, usize> = users.map(|(at, turn)| (turn.id, at)).collect();
        let links = chain.visible();
        let pairs: Vec<(&Arc<UserTurn>, &Link)> = links
            .iter()
            .zip(links.iter().skip(1))
            .filter_map(|(question, answer)| match (question, answer) {
                (Link::User(turn), Link::Assistant(_)) => Some((turn, *answer)),
                _ => None,
            })
            .collect();
        let from = pairs.len().saturating_sub(EXCHANGES);
        let mut messages = Vec::new();
        for (turn, answer) in &pairs[from..] {
            let index = indices.get(&turn.id).copied().unwrap_or(0);
            let asked = self.remembered(chain, index, turn);
            let asked = Span::new(Origin::USER, Class::Turn, asked);
            messages.push(Message::text(Role::User, vec![asked]));
            if let Link::Assistant(answer) = answer {
                let said = self.answered(chain, index, turn, answer);
                messages.extend(render::answer(&said, self.reasoning()));
            }
        }
        messages
    }

    /// How a question stands in the history: as it entered live, or from what
    /// is shown where the history was rebuilt.
    fn remembered(&self, chain: &Chain<'_>, index: usize, turn: &UserTurn) -> Text {
        if index < chain.reloaded {
            return Text::from(trim(&turn.text));
        }
        match self.built(chain, index, turn) {
            Some(built) if index >= chain.rebuilt => built.remembered.clone(),
            _ => turn.text.clone(),
        }
    }

    /// How an answer stands in the history. Release 4 shortens tool results, live
    /// and rebuilt, and puts a comment in front of an agent's answer, which a
    /// saved chat loses.
    fn answered(
        &self,
        chain: &Chain<'_>,
        index: usize,
        turn: &UserTurn,
        answer: &AssistantTurn,
    ) -> AssistantTurn {
        let mut said = answer.clone();
        let loaded = index < chain.reloaded;
        if loaded {
            said.text = Text::from(trim(&answer.text));
        }
        if self.release == Release::V31 {
            return said;
        }
        let agent = chain_kind(turn) == ChainKind::Agent && !answer.text.is_empty();
        if agent && !loaded {
            let comment = self.phrases.get("agent_reasoning");
            said.text = Text::from(format!("{comment}\n\n{}", answer.text));
        }
        let kept = reduce::answer(&said.text, &self.phrases);
        if kept != *said.text {
            said.text = Text::from(kept);
        }
        said
    }
}
