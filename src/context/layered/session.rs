//! A chat in one of the two releases, driven by ordered operations.
//!
//! This is the whole of what the releases keep between turns: the messages with
//! their envelopes, the window of history that the model is shown, what has
//! been fetched, and the state of the editor.

use super::chains::{self, Output};
use super::chatfile::{self, Names, SavedTurn, Sender};
use super::envelope::{Envelope, LayerId};
use super::files::Files;
use super::library::Library;
use super::reduce;
use super::release::Release;
use super::template::{self, Scope};
use super::turn::{self, Item, Turn};
use crate::chat::{Class, Origin, Role, Span, Text};
use crate::context::Phrases;
use crate::context::view::ChainKind;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// What a person can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Half the number of exchanges that the history shows.
    pub context_turns: usize,
    /// Length in tokens above which context is summarised.
    pub threshold_tokens: usize,
    /// Whether templates are expanded.
    pub templating: bool,
    /// Whether a reminder to cite goes into questions with tool outputs.
    pub inline_citations: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            context_turns: 15,
            threshold_tokens: 128_000,
            templating: true,
            inline_citations: false,
        }
    }
}

/// Something attached, by name or with what only the editor knows.
#[derive(Clone, Debug, PartialEq)]
pub enum Attach {
    /// A note by its path.
    Note {
        /// The path.
        path: Arc<str>,
        /// Whether it is the one open in the editor.
        active: bool,
    },
    /// An address; the text is what a fetch gives, `None` where it fails.
    Url {
        /// The address.
        url: Arc<str>,
        /// The page.
        text: Option<Text>,
    },
    /// A tag.
    Tag(Arc<str>),
    /// A folder.
    Folder(Arc<str>),
    /// A browser tab or a selection, as it is now.
    Shown(Item),
}

/// One reply of the model in a tool loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its text.
    pub text: Text,
    /// The calls it makes; none in the last reply.
    pub calls: Vec<ScriptedCall>,
}

/// A call with what it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedCall {
    /// Its id.
    pub id: Arc<str>,
    /// The tool.
    pub name: Arc<str>,
    /// Arguments as JSON text.
    pub args: Text,
    /// The result.
    pub result: Text,
}

/// How the model answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Its answer; empty: none.
    pub text: String,
    /// What tools gave before it was asked.
    pub outputs: Vec<Output>,
    /// Its replies in a tool loop.
    pub script: Vec<Reply>,
}

/// A message as it goes to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// Who speaks.
    pub role: Role,
    /// What.
    pub spans: Vec<Span>,
    /// Calls of an assistant message.
    pub calls: Vec<ScriptedCall>,
    /// Of a tool message: the call that it answers, and the tool.
    pub answers: Option<(Arc<str>, Arc<str>)>,
}

impl Spoken {
    fn new(role: Role, spans: Vec<Span>) -> Self {
        Self {
            role,
            spans,
            calls: Vec::new(),
            answers: None,
        }
    }
}

/// One call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What goes to it.
    pub messages: Vec<Spoken>,
    /// The turn's envelope; `None` on later calls of one tool loop.
    pub envelope: Option<Envelope>,
}

/// A message of the chat.
#[derive(Clone, Debug)]
struct Message {
    id: String,
    sender: Sender,
    /// What is shown.
    text: String,
    names: Names,
    envelope: Option<Envelope>,
    /// Question, library and context as one text.
    processed: String,
}

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

    /// Notes what is attached now, and names it.
    fn attach(&mut self, attached: Vec<Attach>) -> Names {
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
        let mut items: Vec<Item> = Vec::new();
        for path in &names.notes {
            items.push(Item::Note {
                note: self.files.read(path),
                active: false,
            });
        }
        if let Some(path) = &self.active {
            items.retain(|item| !matches!(item, Item::Note { note, .. } if note.path == *path));
            items.push(Item::Note {
                note: self.files.read(path),
                active: true,
            });
        }
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
    fn process(&mut self, at: usize) {
        let earlier = self.messages[..at]
            .iter()
            .filter(|message| message.sender == Sender::User);
        let library = match self.release {
            Release::V4 => {
                let envelopes = earlier.filter_map(|message| message.envelope.as_ref());
                Library::stored(envelopes.map(|e| e.layer(LayerId::Turn)), &self.phrases)
            }
            Release::V31 => {
                let notes = earlier.flat_map(|message| &message.names.notes);
                Library::read_again(notes, &self.files, self.plus())
            }
        };
        let editor = self.editor.as_ref().and_then(|path| self.files.get(path));
        let system = self.instructions(editor);
        let instructions = match (self.memory.as_str(), system.text.as_str()) {
            ("", system) => system.to_owned(),
            (memory, system) => format!("{memory}\n{system}"),
        };
        let message = &self.messages[at];
        let built = turn::build(
            self.release,
            Turn {
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
            },
            &library,
            &self.phrases,
            &mut |_| self.summaries.pop_front(),
        );
        let message = &mut self.messages[at];
        message.envelope = Some(built.envelope);
        message.processed = built.text;
    }

    /// The instructions; only release 4 expands templates in them.
    fn instructions(&self, editor: Option<&crate::context::view::Note>) -> template::Expanded {
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

    /// Asks the model and keeps its answer.
    fn ask(&mut self, at: usize, answer: &Answer) -> Vec<Request> {
        let message = &self.messages[at];
        let Some(envelope) = message.envelope.clone() else {
            return Vec::new();
        };
        let question = match self.release {
            Release::V4 => chains::question(&envelope),
            Release::V31 => Text::from(message.processed.as_str()),
        };
        let (requests, text) = match self.chain {
            ChainKind::Agent => self.agent(&envelope, &question, answer),
            _ => (
                vec![self.plain(&envelope, &question, answer)],
                answer.text.clone(),
            ),
        };
        if !text.is_empty() {
            let kept = match self.release {
                Release::V4 => reduce::answer(&text, &self.phrases),
                Release::V31 => text.clone(),
            };
            self.history.push((question, Text::from(kept)));
            let id = self.next_id();
            self.messages.push(Message {
                id,
                sender: Sender::Ai,
                text,
                names: Names::default(),
                envelope: None,
                processed: String::new(),
            });
        }
        requests
    }

    /// System, history and question of every chain.
    fn opening(&self, system: Option<Vec<Span>>, user: Vec<Span>) -> Vec<Spoken> {
        let shown = self.settings.context_turns * 2;
        let from = self.history.len().saturating_sub(shown);
        let history = self.history[from..].iter().flat_map(|(question, answer)| {
            [
                Spoken::new(
                    Role::User,
                    vec![Span::new(Origin::USER, Class::Turn, question.clone())],
                ),
                Spoken::new(
                    Role::Assistant,
                    vec![Span::new(Origin::REPLY, Class::Turn, answer.clone())],
                ),
            ]
        });
        let system = system.map(|spans| Spoken::new(Role::System, spans));
        let user = (!user.is_empty()).then(|| Spoken::new(Role::User, user));
        system.into_iter().chain(history).chain(user).collect()
    }

    fn plain(&self, envelope: &Envelope, question: &str, answer: &Answer) -> Request {
        let (system, user) = chains::base(envelope, &self.phrases);
        let user = if self.chain == ChainKind::Plus {
            let cite = self.settings.inline_citations;
            chains::with_tools(user, question, &answer.outputs, cite, &self.phrases)
        } else {
            user
        };
        Request {
            messages: self.opening(system, user),
            envelope: Some(envelope.clone()),
        }
    }

    /// The requests of a tool loop, and the answer as it is kept.
    fn agent(
        &self,
        envelope: &Envelope,
        question: &str,
        answer: &Answer,
    ) -> (Vec<Request>, String) {
        let (system, user) = chains::base(envelope, &self.phrases);
        let system = chains::agent_system(system, &[], &self.phrases);
        let mut messages = self.opening(Some(system), user);
        let mut requests = vec![Request {
            messages: messages.clone(),
            envelope: Some(envelope.clone()),
        }];
        let asked = chains::question(envelope);
        let asked = if asked.is_empty() { question } else { &asked };
        let mut last = Text::from(answer.text.as_str());
        for (index, reply) in answer.script.iter().enumerate() {
            last = reply.text.clone();
            if reply.calls.is_empty() {
                break;
            }
            messages.extend(self.round(reply, asked));
            if index + 1 < answer.script.len() {
                requests.push(Request {
                    messages: messages.clone(),
                    envelope: None,
                });
            }
        }
        let text = match (last.is_empty(), self.phrases.get("agent_reasoning")) {
            (true, _) => String::new(),
            (false, comment) => format!("{comment}\n\n{last}"),
        };
        (requests, text)
    }

    /// A reply with calls, and the results.
    fn round(&self, reply: &Reply, question: &str) -> Vec<Spoken> {
        let text = vec![Span::new(Origin::REPLY, Class::Turn, reply.text.clone())];
        let mut said = vec![Spoken {
            calls: reply.calls.clone(),
            ..Spoken::new(Role::Assistant, text)
        }];
        said.extend(reply.calls.iter().map(|call| {
            let result = chains::tool_result(&call.name, &call.result, question, &self.phrases);
            Spoken {
                answers: Some((call.id.clone(), call.name.clone())),
                ..Spoken::new(
                    Role::Tool,
                    vec![Span::new(Origin::TOOL_RESULT, Class::Turn, result)],
                )
            }
        }));
        said
    }

    /// Fills the history from what is shown: each question with an answer that
    /// follows it directly; the others vanish.
    fn rebuild(&mut self) {
        self.history = self
            .messages
            .windows(2)
            .filter(|pair| pair[0].sender == Sender::User && pair[1].sender == Sender::Ai)
            .map(|pair| (pair[0].text.as_str().into(), pair[1].text.as_str().into()))
            .collect();
    }
}
