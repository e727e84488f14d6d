//! `append-only`: nothing that was sent ever moves or changes.
//!
//! The rule on one page:
//!
//! * **Head.** The system text holds the agent's instructions and every source
//!   that is on when the chat begins, least volatile first, and stays as it is
//!   for the whole chat. A new chat shares it up to the first difference.
//! * **Message.** What has changed since, and what is attached, retrieved or
//!   queued, stands as entries in front of the typed text of the message that it
//!   was sampled for: entries of memory and skills as the difference, any other
//!   source whole, an end as one line. With nothing to say, not one byte.
//! * **Known content** (by SHA-256, whatever its name) is referred to by a code.
//! * **Edited instructions** are one more entry: to put them into the system text
//!   would compute the whole history again, and costs more with every turn.
//! * **Other tools, another model** share nothing with what was sent before, so
//!   they get a head of their own, and the old one comes back with the old tools
//!   (see [`lineage`]).
//! * **Compaction** keeps the head. Behind it comes what the messages had told up
//!   to then, and the summary in front of the first kept message; nothing kept
//!   refers to what is gone.
//! * **Memory off** is withheld from the whole request, head and all: a rule of
//!   privacy, worth its break. Switched on again, the old prefix is good again.
//! * **Time** is told where something asks for it (web search, a variable): once,
//!   and again on another day or in another zone.
//! * **Markers** see [`marks`](super::marks).
//!
//! Everything is a fold over the messages of the chain, each with its own
//! sample, so that branches, edits, regenerations and resumed turns need no rule
//! of their own, and nothing is stored.

mod entry;
mod facts;
mod ledger;
mod lineage;
mod message;

use self::entry::{Entries, clean};
use self::ledger::{Ledger, Terms};
use self::lineage::Lineage;
use super::configuration::{Options, Reasoning};
use super::phrases::Phrases;
use super::strategy::{ContextError, Setup, Strategy, StrategyKind};
use super::view::{Attachment, Chain, Compaction, Link, Purpose, Sample, Subagent, UserTurn};
use super::{marks, replay};
use crate::chat::{
    Block, Class, Content, Image, MarkerRule, Message, Origin, Prompt, Role, Span, Text,
};
use std::sync::Arc;

/// The strategy's line in the registry.
pub(super) const KIND: StrategyKind = StrategyKind {
    name: "append-only",
    about: "nothing sent ever changes: differences in the message they belong to, known content by code",
    options: &[
        "markers",
        "marker_ttl",
        "timestamps",
        "prompt_cache_key",
        "affinity_header",
        "reasoning",
        "window",
    ],
    compacts: false,
    tells: Some(|key| key != Origin::TOOLS),
    start: |setup| Ok(Box::new(AppendOnly::new(setup))),
};

struct AppendOnly {
    options: Options,
    phrases: Arc<Phrases>,
}

impl AppendOnly {
    fn new(setup: Setup) -> Self {
        Self {
            options: setup.options,
            phrases: setup.phrases,
        }
    }
}

impl Strategy for AppendOnly {
    fn render(&mut self, chain: &Chain<'_>) -> Result<Prompt, ContextError> {
        let now = current(chain);
        let terms = Terms {
            intro: self.phrases.get("append-only.intro"),
            withheld: !now.memory.on || !chain.live.memory.on,
        };
        let mut ledger = Ledger::default();
        let lineage = Lineage::of(chain, now);
        let head = lineage.head(&mut ledger, terms);
        let mut prompt = Prompt {
            tools: now.tools.to_vec(),
            ..Prompt::default()
        };
        prompt.system = system(head, chain.wire.markers);
        prompt.messages = match chain.purpose {
            Purpose::Subagent(helper) => vec![helper_task(&mut ledger, chain, helper, terms)],
            _ => self.history(&mut ledger, &lineage, chain, terms),
        };
        let model = chain.live.model.as_deref();
        marks::mark(&mut prompt, chain.wire.markers, &self.options, model);
        Ok(prompt)
    }
}

/// The system text's blocks. An end of the head is a block of its own where
/// entries are marked, so that the entry in front of it is still found; one text
/// with the head elsewhere, since templates differ in how they join blocks.
fn system(head: Vec<Entries>, markers: MarkerRule) -> Vec<Block> {
    if markers != MarkerRule::None {
        let blocks = head.into_iter().map(|entries| Block::text(entries.spans));
        return blocks.collect();
    }
    let whole = head.into_iter().reduce(|mut whole, end| {
        whole.below(end);
        whole
    });
    let whole = whole.map(|entries| Block::text(entries.spans));
    whole.into_iter().collect()
}

/// The sources as the message sees them that is to be answered; as they are now
/// for a summary or a helper.
fn current<'a>(chain: &Chain<'a>) -> &'a Sample {
    match chain.purpose {
        Purpose::Send | Purpose::Regenerate | Purpose::Resume => {
            chain.newest().map_or(chain.live, |turn| &turn.sample)
        }
        Purpose::Summarise | Purpose::Subagent(_) => chain.live,
    }
}

impl AppendOnly {
    fn history(
        &self,
        ledger: &mut Ledger,
        lineage: &Lineage<'_>,
        chain: &Chain<'_>,
        terms: Terms<'_>,
    ) -> Vec<Message> {
        let keeps = self.options.reasoning == Some(Reasoning::Keep);
        let mut summary = chain.boundary().map(|(_, compaction)| compaction.as_ref());
        let mut messages = Vec::new();
        for link in chain.visible() {
            match link {
                Link::User(turn) => {
                    let mut out = Entries::default();
                    summarised(&mut out, summary.take());
                    if lineage.tells(turn) {
                        ledger.state(&mut out, &turn.sample, terms);
                    }
                    messages.push(message(ledger, turn, out, terms));
                    messages.extend(replay::rounds(replay::rounds_of(chain, turn), clean));
                }
                Link::Assistant(turn) => messages.push(replay::answer(turn, keeps)),
                Link::Compaction(_) => {}
            }
        }
        if *chain.purpose == Purpose::Summarise {
            let mut out = Entries::default();
            summarised(&mut out, summary.take());
            let asked = self.phrases.get("append-only.summarise");
            out.plain("summarise", Class::Static, asked);
            messages.push(Message::text(Role::User, out.spans));
        }
        messages
    }
}

/// The message of `turn`, behind what `out` tells already.
fn message(ledger: &mut Ledger, turn: &UserTurn, mut out: Entries, terms: Terms<'_>) -> Message {
    ledger.brought(&mut out, turn, terms);
    out.plain(Origin::USER, Class::Turn, clean(&turn.text));
    let mut message = Message::text(Role::User, out.spans);
    for attachment in &turn.attachments {
        if let Attachment::Image {
            name,
            media_type,
            data,
        } = attachment
            && ledger.is_new_image(data)
        {
            message.blocks.push(image(name, media_type, data));
        }
    }
    message
}

fn image(name: &str, media_type: &Arc<str>, data: &Text) -> Block {
    Block {
        content: Content::Image(Image {
            media_type: Arc::clone(media_type),
            data: Span::new(format!("images/{name}"), Class::Turn, data.clone()),
        }),
        marker: None,
    }
}

fn summarised(out: &mut Entries, summary: Option<&Compaction>) {
    if let Some(compaction) = summary {
        let origin = Origin::from(Origin::SUMMARY);
        let source = entry::Source {
            origin: &origin,
            class: Class::Conversation,
        };
        out.text(source, "summary", &compaction.summary);
    }
}

/// An isolated helper shares the head of its caller and nothing else.
fn helper_task(
    ledger: &mut Ledger,
    chain: &Chain<'_>,
    helper: &Subagent,
    terms: Terms<'_>,
) -> Message {
    let mut out = Entries::default();
    ledger.helper(&mut out, chain.live, helper, terms);
    out.plain(Origin::USER, Class::Turn, clean(&helper.task));
    Message::text(Role::User, out.spans)
}
