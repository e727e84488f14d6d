//! Tokens, cache, clock and counters: everything behind the wire.

use super::ask::{Ask, Said};
use super::options::{Options, Speed};
use super::profile::{Habit, Profile};
use super::refusal::Refusal;
use super::reply::reply;
use super::template::Template;
use super::vendor;
use crate::cache::{Cache, Handle, Model, Query, Wishes};
use crate::tokens::{ChatMl, EncodedPrompt, O200k, SharedEncoder, TemplateMessage, embedded};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How `/apply-template` shows the two special tokens.
const OPENS: &str = "<|im_start|>";
const CLOSES: &str = "<|im_end|>";

/// Tokens that the cache may hold before it forgets whole salts.
const MOST_TOKENS: usize = 1 << 26;

/// What a server has counted since it started. In tokens, or requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests admitted.
    pub requests: u64,
    /// Of these, running now.
    pub running: u64,
    /// Tokens of all prompts.
    pub prompt_tokens: u64,
    /// Of these, read from cache.
    pub cached_tokens: u64,
    /// Tokens generated.
    pub output_tokens: u64,
}

#[derive(Debug)]
struct State {
    /// By the model that was asked for: where any name is taken, each stands
    /// for an engine of its own.
    caches: HashMap<Arc<str>, Cache>,
    stats: Stats,
    /// Ended requests whose entries cannot be read yet, the earliest first.
    unreadable: VecDeque<Ended>,
}

/// A request that has ended.
#[derive(Debug)]
struct Ended {
    readable_ms: i64,
    model: Arc<str>,
    handle: Handle,
    output: Vec<u32>,
}

impl State {
    /// Lets the entries be read whose time has come by `now_ms`.
    fn settle(&mut self, now_ms: i64) {
        while let Some(ended) = self
            .unreadable
            .pop_front_if(|ended| ended.readable_ms <= now_ms)
        {
            if let Some(cache) = self.caches.get_mut(&ended.model) {
                cache.finish(ended.handle, &ended.output);
            }
        }
    }
}

/// One imagined engine.
pub(super) struct Engine {
    pub(super) profile: &'static Profile,
    pub(super) context: usize,
    pub(super) speed: Speed,
    model: Model,
    lifetime: Option<Duration>,
    encoder: SharedEncoder,
    seed: u64,
    reply_tokens: u32,
    template: Template,
    visible_after: Duration,
    started: Instant,
    skew_ms: AtomicI64,
    state: Mutex<State>,
}

/// A request that was admitted and what will be answered to it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) prompt: u64,
    pub(super) read: u64,
    pub(super) created: Option<u64>,
    pub(super) created_long: u64,
    pub(super) words: Vec<&'static str>,
    /// Whether the answer ends by itself; else at the limit.
    pub(super) stopped: bool,
    /// Time from arrival to the first token.
    pub(super) prefill: Duration,
    pub(super) per_token: Duration,
    pub(super) ticket: Ticket,
}

/// A running request's hold on the cache, given back at its end or when dropped.
pub(super) struct Ticket {
    engine: Arc<Engine>,
    model: Arc<str>,
    handle: Option<Handle>,
    /// What will have been generated, the stop token included.
    output: Vec<u32>,
    /// How much of it has been.
    generated: usize,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("profile", &self.profile.name)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket")
            .field("generated", &self.generated)
            .finish_non_exhaustive()
    }
}

impl Engine {
    pub(super) fn new(options: &Options) -> Self {
        let profile = options.profile;
        #[expect(
            clippy::expect_used,
            reason = "a test reads the model of every profile"
        )]
        let own = || profile.model.parse().expect("a model that reads");
        let model: Model = options.cache_model.clone().unwrap_or_else(own);
        let lifetime = options.lifetime.or(profile.lifetime);
        Self {
            profile,
            context: options.context.unwrap_or(profile.context),
            speed: options.speed,
            encoder: embedded(),
            seed: options.seed,
            reply_tokens: options.reply_tokens.max(1),
            template: options.template,
            visible_after: options.visible_after,
            started: Instant::now(),
            skew_ms: AtomicI64::new(0),
            model,
            lifetime,
            state: Mutex::new(State {
                caches: HashMap::new(),
                stats: Stats::default(),
                unreadable: VecDeque::new(),
            }),
        }
    }

    /// Loads the vocabulary, so that the first request need not.
    pub(super) fn warm_up(&self) {
        let loaded = self.encoder.output(" ready");
        tracing::debug!(tokens = loaded.len(), "vocabulary loaded");
    }

    /// The conversation as the template renders it, now.
    pub(super) fn arranged(&self, said: Vec<Said>) -> Vec<Said> {
        self.template.arranged(said, self.now_ms())
    }

    /// Token ids of a conversation with its generation suffix.
    pub(super) fn encode(&self, said: &[Said]) -> EncodedPrompt {
        let messages: Vec<_> = said.iter().map(Said::template).collect();
        // The embedded template renders every conversation.
        self.encoder.encoded(&messages).unwrap_or_default()
    }

    /// Token ids of bare text.
    pub(super) fn encode_text(&self, text: &str) -> Vec<u32> {
        self.encoder.output(text)
    }

    /// Token ids of a rendered prompt, in which the template's own marks stand as text.
    pub(super) fn encode_rendered(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        for (index, opened) in text.split(OPENS).enumerate() {
            ids.extend((index > 0).then_some(ChatMl::<O200k>::START));
            for (index, closed) in opened.split(CLOSES).enumerate() {
                ids.extend((index > 0).then_some(ChatMl::<O200k>::END));
                ids.extend(self.encoder.output(closed));
            }
        }
        ids
    }

    /// A conversation as text, as `/apply-template` shows it.
    pub(super) fn rendered(said: &[Said]) -> String {
        let mut text = String::new();
        for said in said {
            let role = said.role.as_str();
            let _written = write!(text, "{OPENS}{role}\n{}{CLOSES}\n", said.text);
        }
        text + OPENS + "assistant\n"
    }

    /// Lets a request in, and decides all of its answer.
    pub(super) fn admit(self: &Arc<Self>, ask: &Ask) -> Result<Job, Refusal> {
        let habit = self.profile.habit;
        vendor::check(habit, ask)?;
        let said = self.arranged(ask.said.clone());
        let EncodedPrompt { ids, ends } = self.encode(&said);
        let tokens = self.output_tokens(ids.len(), ask.max_tokens)?;
        let (words, stopped) = match tokens {
            Length::Limit(tokens) => (tokens, false),
            Length::Stop(tokens) => (tokens - 1, true),
        };
        let reply = reply(self.seed, &ids, words);
        let mut output = reply.ids;
        output.extend(stopped.then_some(ChatMl::<O200k>::END));
        let roles: Vec<_> = said.iter().map(|said| said.role).collect();
        let markers = self.places(&said, &ids, &ends, |said| &said.marks);
        let long_markers = self.places(&said, &ids, &ends, |said| &said.long_marks);
        let query = Query {
            ids: &ids,
            ends: &ends,
            roles: &roles,
            markers: &markers,
            salt: ask.salt.as_deref().filter(|_| habit.knows_salt()),
            at_ms: self.now_ms(),
            wishes: Wishes {
                long_markers: &long_markers,
                ..vendor::wishes(habit, &ask.cache)
            },
        };
        let mut state = self.lock();
        state.settle(query.at_ms);
        // llama.cpp answers to any name with the one model that it has loaded.
        let name = ask.model.as_deref().filter(|_| habit != Habit::LlamaCpp);
        let model: Arc<str> = Arc::from(name.unwrap_or_default());
        let cache = state
            .caches
            .entry(Arc::clone(&model))
            .or_insert_with(|| Cache::new(&self.model, self.lifetime));
        cache.trim(MOST_TOKENS);
        let admitted = cache.admit(&query);
        let prompt = ids.len() as u64;
        let read = if habit == Habit::LlamaCpp && ask.cache.cold {
            0
        } else {
            admitted.bound
        };
        state.stats.requests += 1;
        state.stats.running += 1;
        state.stats.prompt_tokens += prompt;
        state.stats.cached_tokens += read;
        drop(state);
        Ok(Job {
            prompt,
            read,
            created: admitted.created,
            created_long: admitted.created_long,
            words: reply.words,
            stopped,
            prefill: self.speed.prefill(prompt - read, reply.jitter),
            per_token: self.speed.per_token(),
            ticket: Ticket {
                engine: Arc::clone(self),
                model,
                handle: Some(admitted.handle),
                output,
                generated: 0,
            },
        })
    }

    fn output_tokens(&self, prompt: usize, limit: Option<u32>) -> Result<Length, Refusal> {
        let limits = self.context;
        if let Some(asked) = limit.filter(|&asked| asked as usize > limits) {
            return Err(Refusal::MaxTokens { asked, limits });
        }
        let asked = limit.map_or(1, |asked| asked as usize);
        if prompt + asked.max(1) > limits {
            return Err(Refusal::Overflow { prompt, limits });
        }
        let natural = (self.reply_tokens as usize).min(limits - prompt);
        Ok(match limit {
            Some(limit) if (limit as usize) < natural => Length::Limit((limit as usize).max(1)),
            _ => Length::Stop(natural),
        })
    }

    /// Token positions of the places that `marks` names in each message.
    fn places(
        &self,
        said: &[Said],
        ids: &[u32],
        ends: &[usize],
        marks: impl Fn(&Said) -> &[usize],
    ) -> Vec<usize> {
        let mut markers = Vec::new();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        for ((said, start), &end) in said.iter().zip(starts).zip(ends) {
            for &mark in marks(said) {
                if mark == said.text.len() {
                    markers.push(end);
                    continue;
                }
                // Inside a message: as far as the text up to there gives the same tokens.
                let part = TemplateMessage {
                    text: &said.text[..mark],
                    ..said.template()
                };
                let part = self.encoder.prompt(&[part]);
                let same = part.iter().zip(&ids[start..end]);
                let same = same.take_while(|(part, whole)| part == whole).count();
                markers.push(start + same);
            }
        }
        markers
    }

    pub(super) fn now_ms(&self) -> i64 {
        let elapsed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        elapsed.saturating_add(self.skew_ms.load(Ordering::Relaxed))
    }

    pub(super) fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.skew_ms.fetch_add(by, Ordering::Relaxed);
    }

    pub(super) fn reset(&self) -> bool {
        let mut state = self.lock();
        let idle = state.stats.running == 0;
        if idle {
            state.unreadable.clear();
            state.caches.clear();
        }
        idle
    }

    /// Empties a slot; the tokens that it held.
    pub(super) fn erase_slot(&self, slot: usize) -> Option<u64> {
        let mut state = self.lock();
        let mut caches = state.caches.values_mut();
        match caches.next() {
            Some(cache) => cache.erase_slot(slot),
            None => Some(0)
                .filter(|_| matches!(self.model, Model::Slots { count, .. } if slot < count.get())),
        }
    }

    /// Tokens that each slot holds, and whether a request runs in it.
    pub(super) fn slots(&self) -> Vec<(u64, bool)> {
        let state = self.lock();
        match (state.caches.values().next(), &self.model) {
            (Some(cache), _) => cache.slots(),
            (None, Model::Slots { count, .. }) => vec![(0, false); count.get()],
            (None, _) => Vec::new(),
        }
    }

    pub(super) fn stats(&self) -> Stats {
        self.lock().stats
    }

    pub(super) fn cache_model(&self) -> Model {
        self.model.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tokens of an answer, and what ends it.
enum Length {
    Limit(usize),
    /// The last one is the stop token.
    Stop(usize),
}

impl Ticket {
    /// Notes that `tokens` have been generated so far.
    pub(super) fn generated(&mut self, tokens: usize) {
        self.generated = self.generated.max(tokens).min(self.output.len());
    }

    /// Ends the request with all of its answer generated.
    pub(super) fn finish(&mut self) {
        self.generated = self.output.len();
        self.give_back();
    }

    fn give_back(&mut self) {
        let Some(handle) = self.handle.take() else {
            return;
        };
        let now_ms = self.engine.now_ms();
        let wait = i64::try_from(self.engine.visible_after.as_millis()).unwrap_or(i64::MAX);
        let mut state = self.engine.lock();
        state.unreadable.push_back(Ended {
            readable_ms: now_ms.saturating_add(wait),
            model: Arc::clone(&self.model),
            handle,
            output: self.output[..self.generated].to_vec(),
        });
        state.settle(now_ms);
        state.stats.running -= 1;
        state.stats.output_tokens += self.generated as u64;
    }
}

impl Drop for Ticket {
    /// A client that hangs up ends its request where it stands; the prompt
    /// stays cached.
    fn drop(&mut self) {
        self.give_back();
    }
}
