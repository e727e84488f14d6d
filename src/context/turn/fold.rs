//! What the model knows: the fold of updates over an anchor, and differences.
//!
//! Invariants: folding the updates of a path over its anchor gives the state as
//! sampled at the last send of that path (but for a local date that went back);
//! the difference of a state from itself is empty.
//!
//! Source: turn context, sections 4.2, 5 and 6.

use super::state::{Anchor, Change, Fact, FactChange, Part, To, Update, VERSION, Value};
use crate::chat::Text;
use crate::context::registry::{self, key};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The sources as the model knows them, or as they were sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Local date: `2026-10-16 (Friday)`. Sorts by time.
    pub date: String,
    /// Sources that are on, and memory even where it is off; in canonical order.
    pub parts: Vec<Part>,
}

/// Facts of a memory by key; the order in which they changed tells nothing new.
fn by_key(facts: &[Fact]) -> BTreeMap<&Arc<str>, &Text> {
    facts.iter().map(|fact| (&fact.key, &fact.value)).collect()
}

/// Whether both say the same to a model: dates and order of facts do not count.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Memory(one), Value::Memory(other)) => by_key(one) == by_key(other),
        _ => one == other,
    }
}

impl State {
    /// The value of `key`; `None` where it is off.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.parts
            .iter()
            .find(|part| &*part.key == key)
            .map(|part| &part.value)
    }

    /// What an anchor tells.
    pub fn of_anchor(anchor: &Anchor) -> Self {
        let mut parts = anchor.parts.clone();
        parts.sort_by_key(|part| registry::order(&part.key));
        Self {
            date: anchor.date.clone(),
            parts,
        }
    }

    /// Whether both say the same to a model, the date included.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        self.date == other.date
            && self.parts.len() == other.parts.len()
            && self.parts.iter().all(|part| {
                other
                    .get(&part.key)
                    .is_some_and(|value| same(&part.value, value))
            })
    }

    /// Learns what `update` tells.
    pub fn learn(&mut self, update: &Update) {
        if let Some(date) = &update.date {
            self.date.clone_from(date);
        }
        for change in &update.changes {
            match &change.to {
                To::On(value) => self.set(&change.key, value.clone()),
                To::Changed(text) => self.set(&change.key, Value::Text(text.clone())),
                To::Facts(facts) => self.learn_facts(facts),
                To::Off if &*change.key == key::MEMORY => self.set(&change.key, Value::Off),
                To::Off => self.parts.retain(|part| part.key != change.key),
            }
        }
    }

    fn set(&mut self, key: &Arc<str>, value: Value) {
        if let Some(part) = self.parts.iter_mut().find(|part| part.key == *key) {
            part.value = value;
            return;
        }
        let order = registry::order(key);
        let at = self
            .parts
            .partition_point(|part| registry::order(&part.key) <= order);
        let key = Arc::clone(key);
        self.parts.insert(at, Part { key, value });
    }

    fn learn_facts(&mut self, changes: &[FactChange]) {
        let memory = self
            .parts
            .iter_mut()
            .find_map(|part| match &mut part.value {
                Value::Memory(facts) => Some(facts),
                Value::Text(_) | Value::Off => None,
            });
        let Some(facts) = memory else { return };
        for change in changes {
            let (key, value) = match change {
                FactChange::Added { key, value } => (key, Some(value)),
                FactChange::Changed { key, to, .. } => (key, Some(to)),
                FactChange::Removed { key, .. } => (key, None),
            };
            facts.retain(|fact| fact.key != *key);
            facts.extend(value.map(|value| Fact {
                key: Arc::clone(key),
                value: value.clone(),
                day: String::new(),
            }));
        }
    }

    /// The changes that lead from this state to `next`, in canonical order; the
    /// date is not among them. Empty where both say the same.
    pub fn changes_to(&self, next: &Self) -> Vec<Change> {
        let mut changes: Vec<Change> = next
            .parts
            .iter()
            .filter_map(|part| {
                let to = change(self.get(&part.key), &part.value)?;
                let key = Arc::clone(&part.key);
                Some(Change { key, to })
            })
            .collect();
        let gone = self
            .parts
            .iter()
            .filter(|part| next.get(&part.key).is_none());
        changes.extend(gone.map(|part| Change {
            key: Arc::clone(&part.key),
            to: To::Off,
        }));
        changes.sort_by_key(|change| registry::order(&change.key));
        changes
    }
}

fn change(known: Option<&Value>, next: &Value) -> Option<To> {
    match (known, next) {
        (Some(known), next) if same(known, next) => None,
        (_, Value::Off) => Some(To::Off),
        (Some(Value::Text(_)), Value::Text(text)) => Some(To::Changed(text.clone())),
        (Some(Value::Memory(known)), Value::Memory(next)) => {
            Some(To::Facts(fact_changes(known, next)))
        }
        (_, value) => Some(To::On(value.clone())),
    }
}

/// Removed facts first, then added and changed ones in the order of `next`.
fn fact_changes(known: &[Fact], next: &[Fact]) -> Vec<FactChange> {
    let (before, after) = (by_key(known), by_key(next));
    let removed = known.iter().filter(|fact| !after.contains_key(&fact.key));
    let removed = removed.map(|fact| FactChange::Removed {
        key: Arc::clone(&fact.key),
        value: fact.value.clone(),
    });
    let rest = next.iter().filter_map(|fact| match before.get(&fact.key) {
        None => Some(FactChange::Added {
            key: Arc::clone(&fact.key),
            value: fact.value.clone(),
        }),
        Some(from) if **from == fact.value => None,
        Some(from) => Some(FactChange::Changed {
            key: Arc::clone(&fact.key),
            from: (*from).clone(),
            to: fact.value.clone(),
        }),
    });
    removed.chain(rest).collect()
}

impl Anchor {
    /// The anchor of a segment that opens with `sample`.
    ///
    /// Keeps the order of `previous` (the anchor of the segment before), drops
    /// what is off and appends what is new in canonical order. Memory that is
    /// off is noted at the end and has no place to keep.
    pub fn opening(previous: Option<&Self>, sample: &State) -> Self {
        let is_off = |part: &Part| part.value == Value::Off;
        let mut parts: Vec<Part> = previous
            .into_iter()
            .flat_map(|anchor| &anchor.parts)
            .filter(|part| !is_off(part))
            .filter_map(|part| sample.parts.iter().find(|now| now.key == part.key))
            .filter(|part| !is_off(part))
            .cloned()
            .collect();
        for part in &sample.parts {
            if !parts.iter().any(|kept| kept.key == part.key) {
                parts.push(part.clone());
            }
        }
        parts.sort_by_key(is_off);
        Self {
            version: VERSION,
            date: sample.date.clone(),
            parts,
        }
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
