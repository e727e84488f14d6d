//! The conversation itself: steps in, requests out.

use super::request::{Next, Pending, PurposeLabel, Reply};
use super::setup::{ConversationSetup, Layout};
use super::tree::Chat;
use super::work::{Ask, Then, Turn, Work};
use super::world::World;
use crate::chat::{Prompt, Text};
use crate::context::view::{AssistantTurn, Link, Sample};
use crate::context::{Chain, ContextError, Strategy};
use crate::record::EventLabel;
use crate::scenario::model::{Replies, Scenario};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// One run through a scenario under one configuration. See the
/// [module](super) for what it promises.
pub struct Conversation {
    pub(super) setup: ConversationSetup,
    pub(super) layout: Layout,
    pub(super) world: World,
    pub(super) chats: Vec<Chat>,
    /// Index of the chat that the person is in.
    pub(super) chat: usize,
    /// The turns so far; the first is turn 1.
    pub(super) turns: Vec<Turn>,
    pub(super) queue: VecDeque<Work>,
    /// Tool loops that wait for approval, by turn.
    pub(super) paused: BTreeMap<u32, Ask>,
    pub(super) events: Vec<EventLabel>,
    /// What strategies said while planning; goes out with the next prompt.
    pub(super) warnings: Vec<String>,
    /// Line of the step that happens now.
    pub(super) line: usize,
    pub(super) scenario: Arc<Scenario>,
    /// Requests so far, by turn.
    requests: BTreeMap<u32, u32>,
    pending: Option<Ask>,
}

impl Conversation {
    /// A conversation before its first step.
    ///
    /// # Errors
    ///
    /// [`ContextError`] where the strategy cannot be started.
    pub fn new(scenario: Arc<Scenario>, setup: ConversationSetup) -> Result<Self, ContextError> {
        let layout = Layout::start(&setup, setup.configuration.clone())?;
        Ok(Self {
            layout,
            world: World::new(&scenario),
            chats: vec![Chat::new()],
            chat: 0,
            turns: Vec::new(),
            queue: (0..scenario.steps.len()).map(Work::Scripted).collect(),
            paused: BTreeMap::new(),
            events: Vec::new(),
            warnings: Vec::new(),
            line: 0,
            requests: BTreeMap::new(),
            pending: None,
            setup,
            scenario,
        })
    }

    /// What is due next; `None` when the scenario is through.
    ///
    /// A request that was neither answered nor failed counts as answered with
    /// nothing, which with scripted replies is as good as any answer.
    ///
    /// # Errors
    ///
    /// [`ContextError`] where the strategy fails. The conversation is then over.
    #[expect(
        clippy::should_implement_trait,
        reason = "an answer goes in between two requests, which an iterator has no place for"
    )]
    pub fn next(&mut self) -> Result<Option<Next>, ContextError> {
        self.answer(Reply::default());
        let next = self.advance();
        if next.is_err() {
            self.queue.clear();
        }
        next
    }

    fn advance(&mut self) -> Result<Option<Next>, ContextError> {
        while let Some(work) = self.queue.pop_front() {
            match work {
                Work::Scripted(at) => {
                    let scenario = Arc::clone(&self.scenario);
                    if let Some(step) = scenario.steps.get(at)
                        && let Some(idle) = self.step(step)?
                    {
                        return Ok(Some(Next::Idle(idle)));
                    }
                }
                Work::Step(step) => {
                    if let Some(idle) = self.step(&step)? {
                        return Ok(Some(Next::Idle(idle)));
                    }
                }
                Work::Ask(ask) => return self.ask(ask).map(Some),
                Work::Resume(turn) => {
                    if let Some(ask) = self.paused.remove(&turn) {
                        return self.ask(ask).map(Some);
                    }
                }
            }
        }
        Ok(None)
    }

    /// Takes the answer to the request that was handed out last. Does nothing
    /// where none is open.
    ///
    /// With scripted replies the script's text enters the history whatever came;
    /// with live ones the model's own. The calls of a tool loop and their results
    /// are the script's in both cases, and an empty answer leaves no message.
    pub fn answer(&mut self, reply: Reply) {
        if let Some(ask) = self.pending.take() {
            match self.scenario.replies {
                Replies::Scripted => self.enter(ask, None, None),
                Replies::Live => {
                    let text = Text::from(reply.text.unwrap_or_default());
                    self.enter(ask, Some(text), reply.reasoning.map(Text::from));
                }
            }
        }
    }

    /// The request that was handed out last failed for good. Says whether the
    /// conversation goes on.
    ///
    /// With scripted replies the rest of the turn is dropped and the script's
    /// answer enters the history; with live ones there is nothing to go on with.
    pub fn fail(&mut self) -> bool {
        if self.scenario.replies == Replies::Live {
            self.pending = None;
            self.queue.clear();
            return false;
        }
        if let Some(mut ask) = self.pending.take() {
            if matches!(ask.then, Then::GoOn) {
                let same = |work: &Work| matches!(work, Work::Ask(next) if next.turn == ask.turn);
                self.queue.retain(|work| !same(work));
                self.paused.remove(&ask.turn);
                ask.then = Then::Answer;
            }
            self.enter(ask, None, None);
        }
        true
    }

    /// The trees of messages with everything that strategies keep on them.
    pub fn stored_state(&self) -> Value {
        let chats: Vec<Value> = self.chats.iter().map(Chat::to_json).collect();
        json!({ "chats": chats })
    }

    /// Name of the configuration that builds prompts now.
    pub fn configuration(&self) -> &str {
        &self.layout.configuration.name
    }

    /// What is sampled now, in the chat of that index.
    pub(super) fn sample(&self, chat: usize) -> Sample {
        let started = self.chats[chat].started.as_ref();
        self.world.sample(
            started.unwrap_or(&self.world.now),
            self.layout.configuration.options.timestamps,
            &self.setup.served,
        )
    }

    fn ask(&mut self, ask: Ask) -> Result<Next, ContextError> {
        let live = match &ask.live {
            Some(live) => Arc::clone(live),
            None => Arc::new(self.sample(ask.chat)),
        };
        let prompt = self.prompt(&ask, &live)?;
        let count = self.requests.entry(ask.turn).or_default();
        *count += 1;
        let request = *count;
        let turn = self.turn(ask.turn);
        let ends = matches!(ask.then, Then::Answer);
        let expect = turn.filter(|_| ends).map(|turn| turn.expect.clone());
        let pending = Pending {
            turn: ask.turn,
            request,
            purpose: PurposeLabel::from(&ask.purpose),
            prompt,
            model: live.model.clone(),
            scenario_ms: live.at.at.as_millisecond(),
            events: std::mem::take(&mut self.events),
            expect: expect.unwrap_or_default(),
            live: self.scenario.replies == Replies::Live,
            chat: u32::try_from(ask.chat + 1).unwrap_or(u32::MAX),
            configuration: Arc::from(self.configuration()),
        };
        self.pending = Some(ask);
        Ok(Next::Request(Box::new(pending)))
    }

    fn prompt(&mut self, ask: &Ask, live: &Sample) -> Result<Prompt, ContextError> {
        let mut prompt = self.with_chain(ask, live, |strategy, chain| strategy.render(chain))?;
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.append(&mut prompt.warnings);
        prompt.warnings = warnings;
        let name = &self.setup.name;
        let options = &self.layout.configuration.options;
        if let Some(key) = &options.prompt_cache_key {
            prompt.hints.prompt_cache_key = Some(key.replace("{conversation}", name));
        }
        if let Some(header) = &options.affinity_header {
            let pin = (header.clone(), name.to_string());
            prompt.hints.affinity.push(pin);
        }
        self.setup.nonce.put_into(&mut prompt, self.setup.place);
        Ok(prompt)
    }

    /// Shows the strategy the chain of `ask`.
    pub(super) fn with_chain<T>(
        &mut self,
        ask: &Ask,
        live: &Sample,
        show: impl FnOnce(&mut dyn Strategy, &Chain<'_>) -> T,
    ) -> T {
        let base = self.layout.configuration.base.name;
        let chat = &self.chats[ask.chat];
        let links = chat.path(ask.leaf, base);
        let chain = Chain {
            links: &links,
            live,
            vault: &self.world.vault,
            anchor: chat.anchor(base),
            purpose: &ask.purpose,
            rounds: ask.rounds,
            rebuilt: chat.rebuilt.min(chat.users(ask.leaf)),
            reloaded: chat.reloaded.min(chat.users(ask.leaf)),
            wire: self.layout.wire,
        };
        show(self.layout.strategy.as_mut(), &chain)
    }

    fn turn(&self, number: u32) -> Option<&Turn> {
        self.turns.get((number as usize).checked_sub(1)?)
    }

    /// Puts an answer into the tree; the script's where `live` is `None`.
    fn enter(&mut self, ask: Ask, live: Option<Text>, reasoning: Option<Text>) {
        match ask.then {
            Then::GoOn | Then::Nothing => {}
            Then::Answer => {
                let Some(turn) = self.turns.get_mut((ask.turn as usize).saturating_sub(1)) else {
                    return;
                };
                let text = live.unwrap_or_else(|| turn.reply.clone());
                let chat = &mut self.chats[ask.chat];
                if !text.is_empty() {
                    let answer = AssistantTurn {
                        id: chat.next_id(),
                        text,
                        reasoning,
                    };
                    let link = Link::Assistant(Arc::new(answer));
                    turn.answer = Some(chat.add(ask.leaf, link));
                }
            }
            Then::Compact(mut step) => {
                step.summary = live.unwrap_or(step.summary);
                self.close_segment(ask.chat, &step);
            }
        }
    }
}
