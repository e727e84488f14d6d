//! Building the turn that is stored on a message.

use super::message::{chain_kind, items, saved_notes};
use super::{BuiltTurn, Copilot};
use crate::chat::{Span, Text};
use crate::context::layered::convert;
use crate::context::layered::embed::Reading;
use crate::context::layered::envelope::{Envelope, LayerId};
use crate::context::layered::files::Files;
use crate::context::layered::library::Library;
use crate::context::layered::reduce;
use crate::context::layered::release::Release;
use crate::context::layered::sources;
use crate::context::layered::template::{self, Expanded, Scope};
use crate::context::layered::turn::{self, Built, Item, Turn};
use crate::context::layered::units::trim;
use crate::context::view::{Chain, ChainKind, Note, Sample, UserTurn};
use std::sync::Arc;

/// Length in tokens above which context is summarised.
const THRESHOLD: u64 = 128_000;

impl Copilot {
    /// Agent instructions with their variables and, in release 4, templates.
    pub(super) fn system(&self, sample: &Sample, files: &Files, editor: Option<&Note>) -> Expanded {
        let text = sources::dated(sample);
        if self.release == Release::V31 || text.is_empty() {
            return Expanded {
                text: text.to_string(),
                notes: Vec::new(),
            };
        }
        let scope = Scope {
            files,
            editor,
            on: true,
            braces: false,
        };
        template::expand(&text, scope, &self.phrases)
    }

    /// L1 by source.
    pub(super) fn instructions(&self, sample: &Sample, system: &Expanded) -> Vec<Span> {
        let expanded = trim(&system.text);
        let text = if expanded == trim(&sample.system) {
            sample.system.clone()
        } else {
            Text::from(expanded)
        };
        sources::shipped_instructions(self.release, sample, &text, self.producer())
    }

    /// The library in front of the newest message.
    fn library(&self, chain: &Chain<'_>, reading: Reading<'_>) -> Library {
        let users: Vec<&Arc<UserTurn>> = chain.users().collect();
        let earlier = &users[..users.len().saturating_sub(1)];
        match self.release {
            Release::V4 => {
                let built = earlier.iter().enumerate();
                let built = built.filter_map(|(index, turn)| self.built(chain, index, turn));
                let layers: Vec<_> = built.map(|b| b.envelope.layer(LayerId::Turn)).collect();
                Library::stored(&layers, &self.phrases)
            }
            Release::V31 => {
                let earlier = earlier.iter().enumerate();
                let notes: Vec<Arc<str>> = earlier
                    .flat_map(|(index, turn)| {
                        saved_notes(turn, reading.files, index < chain.reloaded)
                    })
                    .collect();
                Library::read_again(&notes.iter().collect::<Vec<_>>(), reading)
            }
        }
    }

    /// Builds the newest message's turn, and says what a person should know.
    pub(super) fn build(&self, chain: &Chain<'_>, newest: &UserTurn) -> (BuiltTurn, Vec<String>) {
        let files = Files::from(chain.vault);
        let items = items(newest);
        let editor = open_note(&items);
        let system = self.system(&newest.sample, &files, editor);
        let l1 = self.instructions(&newest.sample, &system);
        let turn = Turn {
            message_id: &format!("m{}", newest.id.0),
            question: &self.question(newest),
            instructions: &convert::concat(&l1),
            instructed: &system.notes,
            items: &items,
            files: &files,
            editor,
            plus: plus(newest, &items),
            templating: true,
            threshold_tokens: self.threshold(),
            phrases: &self.phrases,
        };
        let library = self.library(chain, turn.reading());
        let mut summarised = 0;
        let Built { mut envelope, text } = turn::build(self.release, turn, &library, &mut |body| {
            summarised += 1;
            Some(reduce::preview(body, &self.phrases))
        });
        self.share(chain, &mut envelope);
        let remembered = match self.release {
            Release::V4 => envelope.layer(LayerId::User).text(),
            Release::V31 => Text::from(text),
        };
        let built = BuiltTurn {
            release: self.release,
            envelope,
            remembered,
            instructions: by_source(l1),
        };
        let warning = (summarised > 0).then(|| {
            format!("{summarised} long attachments were summarised by their openings: no summariser is asked")
        });
        (built, warning.into_iter().collect())
    }

    /// Shares the texts of the library with the turn before.
    fn share(&self, chain: &Chain<'_>, envelope: &mut Envelope) {
        let users: Vec<&Arc<UserTurn>> = chain.users().collect();
        if let [.., before, _] = users.as_slice()
            && let Some(before) = self.built(chain, users.len() - 2, before)
        {
            envelope.share(&before.envelope);
        }
    }

    fn threshold(&self) -> usize {
        let tokens = self.options.window.unwrap_or(THRESHOLD);
        usize::try_from(tokens).unwrap_or(usize::MAX / 4)
    }

    /// What was typed, with its stamp.
    fn question(&self, turn: &UserTurn) -> String {
        let stamped = self.options.timestamps.unwrap_or(turn.sample.timestamps);
        let stamp = stamped.then(|| sources::stamp(turn).text.to_string());
        format!("{}{}", stamp.unwrap_or_default(), turn.text)
    }
}

/// The note that is open in the editor.
fn open_note(items: &[Item]) -> Option<&Note> {
    items.iter().find_map(|item| match item {
        Item::Note { note, active: true } => Some(note),
        _ => None,
    })
}

/// Spans as they are stored with a turn.
fn by_source(spans: Vec<Span>) -> Vec<(Arc<str>, Text)> {
    let stored = |span: Span| (Arc::from(span.origin.as_str()), span.text);
    spans.into_iter().map(stored).collect()
}

/// Whether tools are there. A scenario that attaches an address means it to be
/// read, so addresses count as the chain that reads them.
fn plus(turn: &UserTurn, items: &[Item]) -> bool {
    let urls = items.iter().any(|item| matches!(item, Item::Url { .. }));
    urls || matches!(chain_kind(turn), ChainKind::Plus | ChainKind::Agent)
}
