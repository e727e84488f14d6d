//! Library, history and question as messages.

use super::Layered;
use super::pieces;
use super::shelf::{Known, Shelf};
use crate::chat::{Class, Message, Origin, Span};
use crate::context::configuration::Reasoning;
use crate::context::layered::convert;
use crate::context::layered::frame::{Frame, user};
use crate::context::layered::sources::{self, frame, in_layer};
use crate::context::registry::{self, key};
use crate::context::render;
use crate::context::view::{Chain, Link, Purpose, Subagent, UserTurn};

impl Layered {
    pub(super) fn library(&self, shelf: &Shelf) -> Vec<Span> {
        let mut spans = Vec::new();
        for entry in shelf.entries() {
            let gap = if spans.is_empty() {
                convert::library_heading(&self.phrases)
            } else {
                pieces::between("L2", "\n\n")
            };
            spans.push(gap);
            spans.extend(entry.piece.spans("L2", entry.version));
        }
        spans
    }

    /// What goes in front of a question: tools, references, what is new.
    fn context(&self, turn: &UserTurn, shelf: &Shelf) -> Vec<Span> {
        let (mut references, mut new) = (Vec::new(), Vec::new());
        for piece in pieces::pieces(turn, &self.phrases) {
            match shelf.known(&piece) {
                Known::Same(version) => references.push(piece.label(version)),
                Known::New(version) => new.push(piece.spans("L3", version)),
            }
        }
        new.push(pieces::queued(&turn.queued_files));
        let references: Vec<&str> = references.iter().map(String::as_str).collect();
        let parts = [
            self.tools(turn),
            convert::references(&references, &self.phrases),
            render::join("\n\n", new),
        ];
        render::join("\n\n", parts)
    }

    /// Context in context: what is true now, what was retrieved, what tools gave.
    fn tools(&self, turn: &UserTurn) -> Vec<Span> {
        let mut parts = sources::present(&turn.sample, self.producer());
        parts.extend(turn.retrieved.iter().map(|text| {
            vec![
                registry::span(key::RETRIEVED, "<retrieved>\n"),
                registry::span(key::RETRIEVED, render::escape(text, "retrieved")),
                registry::span(key::RETRIEVED, "\n</retrieved>"),
            ]
        }));
        parts.extend(turn.tool_outputs.iter().map(|output| {
            let tool = &output.tool;
            let span = |text: String| registry::span(key::TOOL_OUTPUTS, text);
            vec![
                span(format!("<{tool}>\n")),
                registry::span(key::TOOL_OUTPUTS, render::escape(&output.output, tool)),
                span(format!("\n</{tool}>")),
            ]
        }));
        let mut spans = in_layer("L3", render::join("\n\n", parts));
        if !spans.is_empty() {
            let heading = format!("{}\n\n", self.phrases.get("tool_context_heading"));
            spans.insert(0, frame("L3", heading));
        }
        spans
    }

    /// What was typed, with its stamp: the same in the history and when asked.
    fn typed(&self, turn: &UserTurn) -> Vec<Span> {
        let stamp = self.stamped(&turn.sample).then(|| sources::stamp(turn));
        let text = Span::new(Origin::USER, Class::Turn, turn.text.clone());
        stamp.into_iter().chain([text]).collect()
    }

    pub(super) fn newest(&self, turn: &UserTurn, shelf: &Shelf, rounds: usize) -> Vec<Message> {
        let mut spans = self.context(turn, shelf);
        if !spans.is_empty() {
            let label = self.phrases.get("query_label");
            spans.push(frame("L5", format!("\n\n---\n\n{label}\n\n")));
        }
        spans.extend(self.typed(turn));
        let question = user(spans, render::images(&turn.attachments));
        let rounds = turn.rounds.iter().take(rounds).flat_map(render::round);
        std::iter::once(question).chain(rounds).collect()
    }

    /// Raw messages in front of the newest; all of them for a summary.
    pub(super) fn history(&self, chain: &Chain<'_>) -> Vec<Message> {
        let mut links = chain.visible();
        if *chain.purpose != Purpose::Summarise && matches!(links.last(), Some(Link::User(_))) {
            links.pop();
        }
        let reasoning = self.options.reasoning.unwrap_or(Reasoning::Drop);
        links
            .into_iter()
            .filter_map(|link| match link {
                Link::User(turn) => Some(user(self.typed(turn), render::images(&turn.attachments))),
                Link::Assistant(turn) => render::answer(turn, reasoning),
                Link::Compaction(_) => None,
            })
            .collect()
    }

    pub(super) fn helper(&self, chain: &Chain<'_>, helper: &Subagent) -> Frame {
        let skills = helper.skills.iter();
        let skills = skills.map(|(name, body)| self.producer().always_apply(name, body));
        let skills = in_layer("L1", render::join("\n\n", skills));
        let retrieved = helper.retrieved.iter();
        let retrieved = retrieved.map(|text| registry::span(key::RETRIEVED, text.clone()));
        let task = Span::new(Origin::USER, Class::Turn, helper.task.clone());
        let parts = [in_layer("L3", retrieved.collect()), vec![task]];
        Frame {
            instructions: render::join("\n\n", [self.instructions(chain), skills]),
            newest: vec![user(render::join("\n\n", parts), std::iter::empty())],
            ..Frame::default()
        }
    }
}
