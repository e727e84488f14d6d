//! A chat in one of the two releases, driven by ordered operations.
//!
//! This is the whole of what the releases keep between turns: the messages with
//! their envelopes, the window of history that the model is shown, what has
//! been fetched, and the state of the editor.

mod ask;
mod model;
mod process;

pub use model::{Answer, Attach, Reply, Request, ScriptedCall, Settings, Spoken};

use super::chatfile::{self, SavedTurn, Sender};
use super::files::Files;
use super::reduce;
use super::release::Release;
use super::turn::Item;
use crate::chat::Text;
use crate::context::Phrases;
use crate::context::view::ChainKind;
use model::Message;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A chat.
pub struct Session {
    release: Release,
    chain: ChainKind,
    settings: Settings,
    phrases: Arc<Phrases>,
    /// The vault; change it before an operation.
    pub files: Files,
    /// The user's memory as text; empty: none.
    pub memory: String,
    /// Instructions, templates not expanded.
    pub system: String,
    /// Path of the file that is open in the editor.
    pub editor: Option<Arc<str>>,
    /// What the summarising model answers, in order.
    pub summaries: VecDeque<String>,
    active: Option<Arc<str>>,
    selection: Vec<Item>,
    fetched: HashMap<Arc<str>, Text>,
    tabs: HashMap<Arc<str>, Item>,
    messages: Vec<Message>,
    history: Vec<(Text, Text)>,
    created: usize,
}

impl Session {
    /// An empty chat.
    pub fn new(
        release: Release,
        chain: ChainKind,
        settings: Settings,
        phrases: Arc<Phrases>,
    ) -> Self {
        Self {
            release,
            chain,
            settings,
            phrases,
            files: Files::default(),
            memory: String::new(),
            system: String::new(),
            editor: None,
            summaries: VecDeque::new(),
            active: None,
            selection: Vec::new(),
            fetched: HashMap::new(),
            tabs: HashMap::new(),
            messages: Vec::new(),
            history: Vec::new(),
            created: 0,
        }
    }

    /// Sends a question.
    pub fn send(&mut self, text: &str, attached: Vec<Attach>, answer: &Answer) -> Vec<Request> {
        let names = self.attach(attached);
        let id = self.next_id();
        self.messages.push(Message {
            id,
            sender: Sender::User,
            text: text.to_owned(),
            names,
            envelope: None,
            processed: String::new(),
        });
        let at = self.messages.len() - 1;
        self.process(at);
        self.ask(at, answer)
    }

    /// Changes question `number` (from 1), drops what follows and asks again.
    pub fn edit(&mut self, number: usize, text: &str, answer: &Answer) -> Vec<Request> {
        let Some(at) = self.question(number) else {
            return Vec::new();
        };
        text.clone_into(&mut self.messages[at].text);
        self.process(at);
        self.messages.truncate(at + 1);
        self.rebuild();
        self.ask(at, answer)
    }

    /// Drops the answer to question `number` and what follows, and asks again
    /// with the stored envelope. Where there is none (a loaded chat), release 4
    /// builds it first and release 3.1 fails.
    pub fn regenerate(&mut self, number: usize, answer: &Answer) -> Vec<Request> {
        let Some(at) = self.question(number) else {
            return Vec::new();
        };
        self.messages.truncate(at + 1);
        self.rebuild();
        if self.messages[at].envelope.is_none() && self.release == Release::V4 {
            self.process(at);
        }
        self.ask(at, answer)
    }

    /// Removes question `number`, or the answer that follows it directly.
    pub fn delete(&mut self, number: usize, answer: bool) {
        if let Some(at) = self.question(number) {
            let at = at + usize::from(answer);
            let fits = |message: &Message| (message.sender == Sender::Ai) == answer;
            if self.messages.get(at).is_some_and(fits) {
                self.messages.remove(at);
            }
            self.rebuild();
        }
    }

    /// Saves the chat as text and loads it, with a file renamed in between.
    pub fn reload(&mut self, moved: Option<(&str, &str)>) {
        let comment = self.phrases.get("agent_reasoning");
        let turns: Vec<SavedTurn> = self
            .messages
            .iter()
            .map(|message| SavedTurn {
                sender: message.sender,
                text: match message.sender {
                    Sender::User => message.text.clone(),
                    Sender::Ai => chatfile::without_reasoning(&message.text, comment).to_owned(),
                },
                names: message.names.clone(),
            })
            .collect();
        let text = chatfile::save(&turns);
        if let Some((from, to)) = moved {
            self.files.rename(from, to);
        }
        // A chat that has just been opened has no selection and no open note.
        self.active = None;
        self.selection.clear();
        self.messages.clear();
        for turn in chatfile::load(&text, &self.files) {
            let id = self.next_id();
            self.messages.push(Message {
                id,
                sender: turn.sender,
                text: turn.text,
                names: turn.names,
                envelope: None,
                processed: String::new(),
            });
        }
        self.rebuild();
    }

    fn next_id(&mut self) -> String {
        self.created += 1;
        format!("m{}", self.created)
    }

    /// Place of question `number` among the messages.
    fn question(&self, number: usize) -> Option<usize> {
        let users = self.messages.iter().enumerate();
        users
            .filter(|(_, message)| message.sender == Sender::User)
            .nth(number.checked_sub(1)?)
            .map(|(at, _)| at)
    }

    /// Fills the history from what is shown: each question with an answer that
    /// follows it directly; the others vanish.
    fn rebuild(&mut self) {
        self.history = self
            .messages
            .windows(2)
            .filter(|pair| pair[0].sender == Sender::User && pair[1].sender == Sender::Ai)
            .map(|pair| (pair[0].text.as_str().into(), self.kept(&pair[1].text)))
            .collect();
    }

    /// An answer as it enters the history.
    fn kept(&self, answer: &str) -> Text {
        Text::from(match self.release {
            Release::V4 => reduce::answer(answer, &self.phrases),
            Release::V31 => answer.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
