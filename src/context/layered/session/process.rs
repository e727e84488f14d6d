//! From what is attached to the envelope of a question.

use super::Session;
use super::model::Attach;
use crate::context::layered::chatfile::{Names, Sender};
use crate::context::layered::embed::Reading;
use crate::context::layered::envelope::LayerId;
use crate::context::layered::library::Library;
use crate::context::layered::release::Release;
use crate::context::layered::template::{self, Scope};
use crate::context::layered::turn::{self, Item, Turn};
use crate::context::view::{ChainKind, Note};
use std::sync::Arc;

impl Session {
    /// Notes what is attached now, and names it.
    pub(super) fn attach(&mut self, attached: Vec<Attach>) -> Names {
        let mut names = Names::default();
        self.active = None;
        self.selection.clear();
        for item in attached {
            match item {
                Attach::Note { path, active: true } => self.active = Some(path),
                Attach::Note { path, .. } => names.notes.push(path),
                Attach::Url { url, text } => {
                    if let Some(text) = text {
                        self.fetched.entry(url.clone()).or_insert(text);
                    }
                    names.urls.push(url);
                }
                Attach::Tag(tag) => names.tags.push(tag),
                Attach::Folder(path) => names.folders.push(path),
                Attach::Shown(tab @ Item::Tab { .. }) => {
                    if let Item::Tab { url, .. } = &tab {
                        names.tabs.push(url.clone());
                        self.tabs.insert(url.clone(), tab);
                    }
                }
                Attach::Shown(selection) => self.selection.push(selection),
            }
        }
        if let Some(path) = &self.active {
            if !names.notes.contains(path) {
                names.notes.push(path.clone());
            }
            self.editor.get_or_insert_with(|| path.clone());
        }
        names
    }

    /// What the names of a message stand for now, with the current selection
    /// and the note that is open now.
    fn items(&self, names: &Names) -> Vec<Item> {
        let open = self.active.as_ref();
        let note = |path: &Arc<str>, active| Item::Note {
            note: self.files.read(path),
            active,
        };
        let others = names.notes.iter().filter(|path| Some(*path) != open);
        let mut items: Vec<Item> = others.map(|path| note(path, false)).collect();
        items.extend(open.map(|path| note(path, true)));
        let tags: Vec<&str> = names.tags.iter().map(AsRef::as_ref).collect();
        if !tags.is_empty() {
            let tagged = self.files.tagged(&tags).into_iter().cloned();
            items.push(Item::Tagged(tagged.collect()));
        }
        for folder in &names.folders {
            let below = self.files.below(folder).into_iter().cloned();
            items.push(Item::Folder(below.collect()));
        }
        items.extend(names.urls.iter().map(|url| Item::Url {
            url: url.clone(),
            text: self.fetched.get(url).cloned(),
        }));
        items.extend(self.selection.iter().cloned());
        items.extend(
            names
                .tabs
                .iter()
                .filter_map(|url| self.tabs.get(url))
                .cloned(),
        );
        items
    }

    fn plus(&self) -> bool {
        matches!(self.chain, ChainKind::Plus | ChainKind::Agent)
    }

    /// Builds the envelope of the question at `at`.
    pub(super) fn process(&mut self, at: usize) {
        let editor = self.editor.as_ref().and_then(|path| self.files.get(path));
        let system = self.instructions(editor);
        let instructions = match (self.memory.as_str(), system.text.as_str()) {
            ("", system) => system.to_owned(),
            (memory, system) => format!("{memory}\n{system}"),
        };
        let message = &self.messages[at];
        let turn = Turn {
            message_id: &message.id,
            question: &message.text,
            instructions: &instructions,
            instructed: &system.notes,
            items: &self.items(&message.names),
            files: &self.files,
            editor,
            plus: self.plus(),
            templating: self.settings.templating,
            threshold_tokens: self.settings.threshold_tokens,
            phrases: &self.phrases,
        };
        let library = self.library(at, turn.reading());
        let summaries = &mut self.summaries;
        let built = turn::build(self.release, turn, &library, &mut |_| summaries.pop_front());
        let message = &mut self.messages[at];
        message.envelope = Some(built.envelope);
        message.processed = built.text;
    }

    /// The library in front of the question at `at`.
    fn library(&self, at: usize, reading: Reading<'_>) -> Library {
        let earlier = self.messages[..at]
            .iter()
            .filter(|message| message.sender == Sender::User);
        match self.release {
            Release::V4 => {
                let envelopes = earlier.filter_map(|message| message.envelope.as_ref());
                let layers: Vec<_> = envelopes.map(|e| e.layer(LayerId::Turn)).collect();
                Library::stored(&layers, &self.phrases)
            }
            Release::V31 => {
                let notes: Vec<_> = earlier.flat_map(|message| &message.names.notes).collect();
                Library::read_again(&notes, reading)
            }
        }
    }

    /// The instructions; only release 4 expands templates in them.
    fn instructions(&self, editor: Option<&Note>) -> template::Expanded {
        if self.release == Release::V31 || self.system.is_empty() {
            return template::Expanded {
                text: self.system.clone(),
                notes: Vec::new(),
            };
        }
        let scope = Scope {
            files: &self.files,
            editor,
            on: self.settings.templating,
            braces: false,
        };
        template::expand(&self.system, scope, &self.phrases)
    }
}
