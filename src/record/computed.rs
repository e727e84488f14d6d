//! What was computed for each attempt, small enough to keep a million of.

use super::lean::{LeanBound, Name};
use super::lines::VersionedLine as _;
use super::request::{BoundRecord, Break, RECORD_VERSION};
use super::{ReadError, RequestRecord, Run};
use crate::chat::Origin;
use crate::units::{Money, Tokens};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// [`BoundRecord`] without what tells it apart. The fields mean the same.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "they are those of the whole record")]
pub struct Computed {
    pub prompt: Option<Tokens>,
    pub eligible: Option<Tokens>,
    pub bound: Option<Tokens>,
    pub cache_model: Option<Arc<str>>,
    pub broke: Option<Box<Break>>,
    pub cost: Option<Money>,
    pub flags: Arc<[Arc<str>]>,
}

impl Computed {
    /// The whole record of that attempt.
    pub fn record(&self, of: &RequestRecord) -> BoundRecord {
        BoundRecord {
            v: RECORD_VERSION,
            conversation: Arc::clone(&of.conversation),
            turn: of.turn,
            request: of.request,
            attempt: of.attempt,
            prompt: self.prompt,
            eligible: self.eligible,
            bound: self.bound,
            cache_model: self.cache_model.clone(),
            tokenizer: None,
            broke: self.broke.as_deref().cloned(),
            cost: self.cost,
            flags: self.flags.to_vec(),
        }
    }
}

/// Turn, request and attempt.
type Place = (u32, u32, u32);

/// What was computed, by attempt. The newest for each attempt is the last added.
#[derive(Clone, Debug, Default)]
pub struct ComputedTable {
    list: Vec<Computed>,
    /// Places with their index in the list; sorted once all are there.
    conversations: HashMap<Arc<str>, Vec<(Place, u32)>>,
}

impl ComputedTable {
    /// What the run's file holds, and whether its last line was cut off.
    ///
    /// # Errors
    ///
    /// [`ReadError`] of the first line that cannot be read.
    pub fn read(run: &Run, threads: usize) -> Result<(Self, bool), ReadError> {
        let mut table = Self::default();
        let Some(blocks) = run.bound_blocks()? else {
            return Ok((table, false));
        };
        let torn = blocks.each(
            threads,
            Names::default,
            |names, found: &mut Vec<(Arc<str>, Place, Computed)>, line| {
                let bound = LeanBound::of(line.bytes)?;
                found.push(names.computed(&bound));
                Ok(())
            },
            |found| {
                for (conversation, place, computed) in found {
                    table.add(conversation, place, computed);
                }
            },
        )?;
        table.sort();
        Ok((table, torn))
    }

    /// Whether nothing was computed.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What was computed for that attempt.
    pub fn get(&self, conversation: &str, place: (u32, u32, u32)) -> Option<&Computed> {
        let places = self.conversations.get(conversation)?;
        let behind = places.partition_point(|(other, _)| *other <= place);
        let (found, at) = places.get(behind.checked_sub(1)?)?;
        (*found == place).then(|| self.list.get(*at as usize))?
    }

    /// Conversations, and of how many attempts of each something was computed.
    pub fn attempts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.conversations.iter().map(|(name, places)| {
            let apart = places.chunk_by(|a, b| a.0 == b.0);
            (&**name, apart.count() as u64)
        })
    }

    /// Adds what is missing.
    pub fn complete(&mut self, bounds: &[BoundRecord]) {
        let mut names = Names::default();
        for bound in bounds {
            let place = (bound.turn, bound.request, bound.attempt);
            if self.get(&bound.conversation, place).is_none() {
                let (conversation, place, computed) = names.computed(&LeanBound::from(bound));
                self.add(conversation, place, computed);
            }
        }
        self.sort();
    }

    fn add(&mut self, conversation: Arc<str>, place: Place, computed: Computed) {
        let at = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(computed);
        self.conversations
            .entry(conversation)
            .or_default()
            .push((place, at));
    }

    fn sort(&mut self) {
        for places in self.conversations.values_mut() {
            // Stable: of several for an attempt the newest stays last.
            places.sort_by_key(|(place, _)| *place);
        }
    }
}

impl From<&[BoundRecord]> for ComputedTable {
    fn from(bounds: &[BoundRecord]) -> Self {
        let (mut table, mut names) = (Self::default(), Names::default());
        for bound in bounds {
            let (conversation, place, computed) = names.computed(&LeanBound::from(bound));
            table.add(conversation, place, computed);
        }
        table.sort();
        table
    }
}

/// One copy of every name, and of every list of names.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_field_names,
    reason = "single ones, beside lists of them"
)]
pub struct Names {
    names: HashSet<Arc<str>>,
    lists: HashSet<Arc<[Arc<str>]>>,
    last: Option<Arc<str>>,
}

impl Names {
    /// The shared copy of a name.
    pub fn of(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = Arc::from(name);
        self.names.insert(Arc::clone(&name));
        name
    }

    /// The same for one that few lines share, most of them neighbours.
    pub fn rare(&mut self, name: &str) -> Arc<str> {
        if let Some(last) = self.last.as_ref().filter(|last| &***last == name) {
            return Arc::clone(last);
        }
        let name: Arc<str> = Arc::from(name);
        self.last = Some(Arc::clone(&name));
        name
    }

    /// The shared copy of a list.
    pub fn list<S: AsRef<str>>(&mut self, names: impl Iterator<Item = S>) -> Arc<[Arc<str>]> {
        let list: Vec<Arc<str>> = names.map(|name| self.of(name.as_ref())).collect();
        if let Some(known) = self.lists.get(list.as_slice()) {
            return Arc::clone(known);
        }
        let list: Arc<[Arc<str>]> = Arc::from(list);
        self.lists.insert(Arc::clone(&list));
        list
    }

    fn computed(&mut self, bound: &LeanBound<'_>) -> (Arc<str>, Place, Computed) {
        let broke = bound.broke.as_ref().map(|broke| Break {
            origin: Origin::from(&*self.of(broke.origin.as_str())),
            cause: self.of(&broke.cause),
            ..*broke
        });
        let computed = Computed {
            prompt: bound.prompt,
            eligible: bound.eligible,
            bound: bound.bound,
            cache_model: bound.cache_model.as_ref().map(|name| self.of(name)),
            broke: broke.map(Box::new),
            cost: bound.cost,
            flags: self.list(bound.flags.iter().map(Name::as_str)),
        };
        let place = (bound.turn, bound.request, bound.attempt);
        (self.rare(&bound.conversation), place, computed)
    }
}
