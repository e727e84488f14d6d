//! The probe's own requests, played through a cache model.
//!
//! The prompts are known, the server's tokenizer is not: they are encoded with the
//! bundled one and stretched to the length that the server counted, so that what two
//! of them have in common keeps its share. Of a repeat everything is known exactly.

use super::ask::{Chat, Seen};
use crate::cache::{Cache, Model, Query, Wishes};
use crate::chat::{MarkerRule, Role};
use crate::conversation::Nonce;
use crate::tokens::{TemplateMessage, embedded};

/// A token that nothing encodes to.
const UNKNOWN: u32 = u32::MAX;

/// Tokens in front of the nonce that anybody's prompt has, and of a template's ends.
const COMMON: u64 = 32;

/// One request of the probe, in the tokens of the play.
struct Turn {
    what: String,
    ids: Vec<u32>,
    ends: Vec<usize>,
    roles: Vec<Role>,
    markers: Vec<usize>,
    read: u64,
    /// Whether the same chat was sent before.
    repeat: bool,
    /// Whether what it read is to be explained.
    checked: bool,
}

/// Every request that was answered, in order.
pub(super) struct Play {
    turns: Vec<Turn>,
    /// Whether the server counts just as the bundled vocabulary does.
    exact: bool,
}

/// What a cache model says of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// Tokens that it has in common with earlier ones.
    common: u64,
    /// Tokens that would be read.
    read: u64,
}

/// A request that a model does not explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contradiction {
    /// Requests that it does not explain, this one included.
    pub(super) count: usize,
    /// The first.
    pub(super) what: String,
    /// What the model would read.
    pub(super) expected: u64,
    /// What was read.
    pub(super) read: u64,
}

impl Play {
    /// Of requests behind `nonce`; those without an answer or a count have no part in it.
    pub(super) fn of(requests: &[Seen], nonce: Nonce, markers: MarkerRule) -> Self {
        let known = requests.iter().filter_map(|seen| {
            let chat = seen.chat.filter(|_| seen.ok())?;
            Some((seen, chat, usize::try_from(seen.total?).ok()?))
        });
        let encoded: Vec<_> = known
            .map(|(seen, chat, total)| (seen, chat, total, Encoded::of(chat, nonce, markers)))
            .collect();
        let longest = encoded.iter().max_by_key(|(.., prompt)| prompt.ids.len());
        let scale = longest.map_or(1.0, |(_, _, total, prompt)| {
            *total as f64 / prompt.ids.len().max(1) as f64
        });
        let exact = encoded
            .iter()
            .all(|(_, _, total, prompt)| *total == prompt.ids.len());
        let mut sent: Vec<Chat> = Vec::new();
        let turns = encoded.into_iter().map(|(seen, chat, total, prompt)| {
            let repeat = sent.contains(&chat);
            sent.push(chat);
            Turn {
                what: seen.what.clone(),
                repeat,
                checked: chat.is_plain(),
                read: seen.read.unwrap_or(0),
                ..prompt.stretched(total, scale)
            }
        });
        Self {
            turns: turns.collect(),
            exact,
        }
    }

    /// Requests whose counts are to be explained.
    pub(super) fn checked(&self) -> usize {
        self.turns.iter().filter(|turn| turn.checked).count()
    }

    /// What was read of each request.
    pub(super) fn reads(&self) -> Vec<u64> {
        self.turns.iter().map(|turn| turn.read).collect()
    }

    /// What `model` reads of each repeat, beside what was read of it.
    pub(super) fn repeats(&self, model: &Model) -> Vec<(u64, u64)> {
        let said = self.said(model, 0).into_iter().zip(&self.turns);
        let repeats = said.filter(|(_, turn)| turn.repeat && turn.checked);
        repeats.map(|(said, turn)| (said.read, turn.read)).collect()
    }

    /// What speaks against `model`, where the last `wrapper` tokens of a prompt are
    /// never found again; `None` where it explains every count.
    pub(super) fn against(&self, model: &Model, wrapper: usize) -> Option<Contradiction> {
        let said = self.said(model, wrapper).into_iter().zip(&self.turns);
        let mut wrong = said.filter(|(said, turn)| {
            let (least, most) = self.allowed(model, *said, turn);
            turn.checked && !(least..=most).contains(&turn.read)
        });
        let (said, turn) = wrong.next()?;
        Some(Contradiction {
            what: turn.what.clone(),
            expected: said.read,
            read: turn.read,
            count: 1 + wrong.count(),
        })
    }

    fn said(&self, model: &Model, wrapper: usize) -> Vec<Said> {
        let mut cache = Cache::new(model, None);
        let turns = self.turns.iter().enumerate();
        let said = turns.map(|(number, turn)| {
            let mut ids = turn.ids.clone();
            let behind = ids.len().saturating_sub(wrapper);
            for (at, id) in ids[behind..].iter_mut().enumerate() {
                *id = mixed(UNKNOWN, number << 8 | at);
            }
            let admitted = cache.admit(&Query {
                ids: &ids,
                ends: &turn.ends,
                roles: &turn.roles,
                markers: &turn.markers,
                salt: None,
                at_ms: 0,
                wishes: Wishes::default(),
            });
            cache.finish(admitted.handle, &[UNKNOWN; 4]);
            Said {
                common: admitted.eligible,
                read: admitted.bound,
            }
        });
        said.collect()
    }

    /// The least and the most that the model allows, as far as it is known what the
    /// request has in common with earlier ones.
    fn allowed(&self, model: &Model, said: Said, turn: &Turn) -> (u64, u64) {
        let total = turn.ids.len() as u64;
        let Some(step) = step(model) else {
            // Hidden tokens at the ends of messages.
            let slack = if self.exact { 8 } else { (total / 100).max(64) };
            let least = said.read.saturating_sub(slack);
            let below = model.minimum().is_some_and(|min| least < min as u64);
            return (if below { 0 } else { least }, said.read + slack);
        };
        if turn.repeat {
            return (said.read, said.read);
        }
        let slack = if self.exact {
            COMMON
        } else {
            (total / 50).max(2 * COMMON)
        };
        let floor = |tokens: u64| tokens / step * step;
        let (low, high) = (
            floor(said.common.saturating_sub(slack)),
            floor(said.common + slack),
        );
        let here = floor(said.common);
        let mut least = said.read.saturating_sub(here - low);
        let mut most = said.read + (high - here);
        if let Some(min) = model.minimum().map(|min| min as u64) {
            if low < min {
                least = 0;
            }
            if high >= min {
                most = most.max(high);
            }
        }
        (least, most)
    }
}

/// What reads are multiples of; `None` where they end at messages.
fn step(model: &Model) -> Option<u64> {
    let size = match *model {
        Model::Blocks { size, .. }
        | Model::Align { size, .. }
        | Model::Steps { size, .. }
        | Model::Intervals { size, .. }
        | Model::Radix { page: size } => size.get(),
        Model::Slots { .. } => 1,
        _ => return None,
    };
    Some(size as u64)
}

/// A prompt in the bundled vocabulary.
struct Encoded {
    ids: Vec<u32>,
    ends: Vec<usize>,
    roles: Vec<Role>,
    markers: Vec<usize>,
}

impl Encoded {
    fn of(chat: Chat, nonce: Nonce, markers: MarkerRule) -> Self {
        let messages = chat.messages(nonce, markers);
        let template: Vec<_> = messages
            .iter()
            .map(|(role, text, _)| TemplateMessage::text(role.as_str(), text))
            .collect();
        // The embedded server's template renders everything.
        let encoded = embedded().encoded(&template).unwrap_or_default();
        let marked = messages.iter().zip(&encoded.ends);
        Self {
            markers: marked
                .filter(|((.., marked), _)| *marked)
                .map(|(_, end)| *end)
                .collect(),
            roles: messages.iter().map(|(role, ..)| *role).collect(),
            ids: encoded.ids,
            ends: encoded.ends,
        }
    }

    /// The same in the server's tokens: `total` of them, `scale` for one.
    fn stretched(self, total: usize, scale: f64) -> Turn {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within a prompt"
        )]
        let place = |at: usize, scale: f64| (at as f64 * scale) as usize;
        let id = |at: usize| {
            let token = self.ids.get(place(at, 1.0 / scale)).copied();
            mixed(token.unwrap_or(UNKNOWN), at)
        };
        let places = |all: &[usize]| {
            let all = all.iter().map(|&end| place(end, scale).min(total));
            all.collect::<Vec<_>>()
        };
        Turn {
            what: String::new(),
            ids: (0..total).map(id).collect(),
            ends: places(&self.ends),
            markers: places(&self.markers),
            roles: self.roles,
            read: 0,
            repeat: false,
            checked: false,
        }
    }
}

/// Equal for equal tokens at equal places.
fn mixed(token: u32, at: usize) -> u32 {
    let mut bits = (u64::from(token) << 32) ^ (at as u64);
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (bits >> 32) as u32
}
