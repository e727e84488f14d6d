//! What each step does to a conversation.

use super::drive::Conversation;
use super::setup::{Layout, Served};
use super::tree::Chat;
use super::work::{Ask, Then, Turn, Work, is_approved_later};
use crate::chat::Text;
use crate::context::ContextError;
use crate::context::view::{Link, NodeId, Purpose, Sample, Subagent, UserTurn};
use crate::record::EventLabel;
use crate::scenario::model::{Action, Step, SubagentStep, TurnRef, USER_STEP, UserStep};
use std::sync::Arc;
use std::time::Duration;

impl Conversation {
    /// Does what `step` says. A pause in real time is handed back; requests are
    /// put in front of the queue.
    pub(super) fn step(&mut self, step: &Step) -> Result<Option<Duration>, ContextError> {
        self.line = step.line;
        let before = if matches!(step.action, Action::User(_)) {
            None
        } else {
            self.events.push(EventLabel {
                label: Arc::clone(&step.label),
                line: step.line,
                rewrites: None,
            });
            Some((self.events.len() - 1, self.sample(self.chat)))
        };
        let mut idle = None;
        match &step.action {
            Action::Wait(time) => self.world.pass(*time),
            Action::Idle(time) => {
                self.world.pass(*time);
                idle = Some(*time);
            }
            action => self.act(action)?,
        }
        let live = self.sample(self.chat);
        if let Some((at, before)) = before
            && let Some(event) = self.events.get_mut(at)
        {
            event.rewrites = self.layout.rewrites(&step.action, &before, &live);
        }
        self.layout.strategy.observe(&step.label, &live)?;
        Ok(idle)
    }

    fn act(&mut self, action: &Action) -> Result<(), ContextError> {
        match action {
            Action::User(user) => {
                let parent = self.chats[self.chat].leaf;
                return self.send(user, parent);
            }
            Action::Regenerate { turn, reply } => self.regenerate(*turn, reply.as_ref()),
            Action::Edit { turn, user } => return self.edit(*turn, user),
            Action::Branch { from } => self.branch(*from),
            Action::Approve { turn, during } => self.approve(*turn, during),
            Action::Compact(step) => self.compact(step),
            Action::Subagent(step) => self.subagent(step),
            Action::Configuration(name) => return self.switch_layout(name),
            Action::Reload => self.chats[self.chat].reload(),
            Action::NewChat => {
                self.chats.push(Chat::new());
                self.chat = self.chats.len() - 1;
            }
            Action::Model(name) => self.name_model(name),
            _ => self.change_world(action),
        }
        Ok(())
    }

    /// Another model is asked from now on, where the target has more than one.
    fn name_model(&mut self, name: &Arc<str>) {
        if let Served::One(only) = &self.setup.served
            && only != name
        {
            let said =
                format!("the target serves `{only}`, so the step `model {name}` changes nothing");
            self.warnings.push(said);
        }
        self.world.sources.model = Some(Arc::clone(name));
    }

    fn change_world(&mut self, action: &Action) {
        let world = &mut self.world;
        match action {
            Action::Set(step) => world.set(step),
            Action::Memory(step) => world.memory(step),
            Action::Note(edits) => edits
                .iter()
                .for_each(|(path, edit)| world.edit_note(path, edit)),
            Action::Url(edits) => edits
                .iter()
                .for_each(|(url, text)| world.edit_url(url, text)),
            Action::Tab(edits) => edits
                .iter()
                .for_each(|(url, text)| world.edit_tab(url, text)),
            Action::System(text) => world.sources.system = text.clone(),
            Action::Tools(tools) => world.sources.tools = Arc::clone(tools),
            _ => {}
        }
    }

    /// Sends a message below `parent`: samples it, lets the strategy plan, and
    /// queues its requests.
    fn send(&mut self, user: &UserStep, parent: Option<NodeId>) -> Result<(), ContextError> {
        let now = self.world.now.clone();
        self.chats[self.chat].started.get_or_insert(now.clone());
        let sample = Arc::new(self.sample(self.chat));
        let message = UserTurn {
            id: self.chats[self.chat].next_id(),
            text: user.text.clone(),
            sent: now,
            sample: Arc::clone(&sample),
            attachments: user.attach.iter().map(|a| self.world.freeze(a)).collect(),
            retrieved: user.retrieved.clone(),
            queued_files: user.queued_files.clone(),
            tool_outputs: user.tool_outputs.clone(),
            rounds: user.rounds.clone(),
            chain: user.chain,
            stored: None,
        };
        let (parent, message) = self.with_room(parent, message)?;
        let id = message.id;
        self.chats[self.chat].add(parent, Link::User(message));
        self.turns.push(Turn {
            chat: self.chat,
            user: id,
            answer: None,
            reply: user.reply.clone(),
            expect: user.expect.clone(),
        });
        let ask = self.begin(id, user.rounds.len(), &Purpose::Send, Some(&sample));
        self.plan(&ask, &sample)?;
        self.world.pass(USER_STEP);
        Ok(())
    }

    /// The message and its parent once there is room for it: a compaction that
    /// comes in between takes the message's id.
    fn with_room(
        &mut self,
        parent: Option<NodeId>,
        message: UserTurn,
    ) -> Result<(Option<NodeId>, Arc<UserTurn>), ContextError> {
        let message = Arc::new(message);
        let before = self.chats[self.chat].leaf;
        self.make_room(&message)?;
        let chat = &self.chats[self.chat];
        if chat.leaf == before {
            return Ok((parent, message));
        }
        let mut message = Arc::unwrap_or_clone(message);
        message.id = chat.next_id();
        Ok((chat.leaf, Arc::new(message)))
    }

    /// Queues the requests of the newest turn, in front of everything else: one
    /// for each round of its tool loop and one more. Returns the first.
    fn begin(
        &mut self,
        user: NodeId,
        rounds: usize,
        purpose: &Purpose,
        live: Option<&Arc<Sample>>,
    ) -> Ask {
        let turn = self.newest();
        let ask = |happened: usize| Ask {
            turn,
            chat: self.chat,
            leaf: Some(user),
            purpose: purpose.clone(),
            rounds: happened,
            live: live.map(Arc::clone),
            then: if happened == rounds {
                Then::Answer
            } else {
                Then::GoOn
            },
        };
        let first = ask(0);
        let mut asks: Vec<Ask> = (0..=rounds).map(ask).collect();
        if rounds > 0
            && is_approved_later(&self.queue, &self.scenario.steps, turn)
            && let Some(last) = asks.pop()
        {
            let resumed = Ask {
                purpose: Purpose::Resume,
                live: None,
                ..last
            };
            self.paused.insert(turn, resumed);
        }
        for ask in asks.into_iter().rev() {
            self.queue.push_front(Work::Ask(ask));
        }
        first
    }

    fn plan(&mut self, ask: &Ask, live: &Sample) -> Result<(), ContextError> {
        let plan = self.with_chain(ask, live, |strategy, chain| strategy.plan(chain))?;
        let strategy = self.layout.configuration.base.name;
        let chat = &mut self.chats[ask.chat];
        if let Some(id) = ask.leaf {
            if let Some(stored) = plan.message {
                chat.store_message(id, stored);
            }
            if let Some(stored) = plan.anchor {
                chat.store_anchor(id, strategy, stored);
            }
        }
        self.warnings.extend(plan.warnings);
        Ok(())
    }

    /// Asks again for the answer to a turn's message: a new turn, and a new
    /// answer below the same message.
    fn regenerate(&mut self, turn: TurnRef, reply: Option<&Text>) {
        let Some(mut again) = self.find(turn) else {
            return;
        };
        self.chat = again.chat;
        let chat = &mut self.chats[again.chat];
        chat.go_to(chat.parent(again.user));
        chat.leaf = Some(again.user);
        let rounds = match chat.link(again.user) {
            Some(Link::User(message)) => message.rounds.len(),
            _ => 0,
        };
        again.answer = None;
        if let Some(reply) = reply {
            again.reply = reply.clone();
        }
        let user = again.user;
        self.turns.push(again);
        self.begin(user, rounds, &Purpose::Regenerate, None);
    }

    fn edit(&mut self, turn: TurnRef, user: &UserStep) -> Result<(), ContextError> {
        let Some(old) = self.find(turn) else {
            return Ok(());
        };
        self.chat = old.chat;
        let chat = &mut self.chats[old.chat];
        let parent = chat.parent(old.user);
        chat.go_to(parent);
        self.send(user, parent)
    }

    fn branch(&mut self, from: TurnRef) {
        if let Some(turn) = self.find(from) {
            self.chat = turn.chat;
            self.chats[turn.chat].go_to(Some(turn.answer.unwrap_or(turn.user)));
        }
    }

    fn approve(&mut self, turn: TurnRef, during: &[Step]) {
        let number = match turn {
            TurnRef::Number(number) => number,
            TurnRef::Last => self.newest(),
        };
        self.queue.push_front(Work::Resume(number));
        for step in during.iter().rev() {
            self.queue.push_front(Work::Step(step.clone()));
        }
    }

    fn subagent(&mut self, step: &SubagentStep) {
        let helper = Subagent {
            task: step.task.clone(),
            skills: step.skills.clone(),
            retrieved: step.retrieved.clone(),
        };
        let ask = Ask {
            purpose: Purpose::Subagent(helper),
            ..self.looking_at(self.chat)
        };
        self.queue.push_front(Work::Ask(ask));
    }

    /// Another strategy builds the prompts from now on.
    fn switch_layout(&mut self, name: &str) -> Result<(), ContextError> {
        let found = self.setup.resources.configuration(name);
        let configuration = found.ok_or_else(|| ContextError::UnknownConfiguration {
            name: name.to_owned(),
        })?;
        self.layout = Layout::start(&self.setup, configuration)?;
        Ok(())
    }

    /// A request about the whole path to the leaf of `chat` that nothing follows.
    pub(super) fn looking_at(&self, chat: usize) -> Ask {
        let tree = &self.chats[chat];
        let newest = tree.newest_user();
        Ask {
            turn: self.newest(),
            chat,
            leaf: tree.leaf,
            purpose: Purpose::Send,
            rounds: newest.map_or(0, |message| message.rounds.len()),
            live: None,
            then: Then::Nothing,
        }
    }

    fn find(&self, turn: TurnRef) -> Option<Turn> {
        let turn = match turn {
            TurnRef::Number(number) => self.turns.get((number as usize).checked_sub(1)?),
            TurnRef::Last => self.turns.last(),
        };
        turn.cloned()
    }

    /// Number of the newest turn; 0 before the first.
    fn newest(&self) -> u32 {
        u32::try_from(self.turns.len()).unwrap_or(u32::MAX)
    }
}
