//! Where a prompt's prefix broke, and what broke it.
//!
//! A request is compared with the earlier one that it shares most with. Its
//! break is the first place where it differs from that one and does not merely
//! go on. Compared are roles and texts, message by message, in the order in
//! which the provider renders them; nonces and cache markers are left out, and
//! so are the borders between spans: a text may be one span when it is sent and
//! three when it has become history. A model has a cache of its own: the first request
//! of a conversation to another one than before breaks in front of everything.
//!
//! Invariants: each distinct message is joined and hashed once, and a request is
//! looked up in a tree of messages, so that the time is linear in the number of
//! messages; the newest of several equally good predecessors is taken.

mod cause;
mod messages;
mod place;
mod tree;

pub use cause::cause;
pub(super) use cause::{source, spoken};

use crate::chat::Origin;
use crate::record::{RequestRecord, SpanStore};
use messages::Messages;
use std::collections::HashMap;
use std::sync::Arc;
use tree::{Meeting, Tree};

/// A break, before anyone has counted its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The earlier request, as its index in the order of sending.
    pub predecessor: usize,
    /// The message in which the two differ, as its index in the prompt.
    pub message: usize,
    /// Bytes of that message's text, nonces left out, that both have in common.
    pub offset: usize,
    /// Source at the place: of the new request, or of the earlier one where the
    /// new one's message ends early.
    pub origin: Origin,
    /// Source of the earlier request at the place; `None` where its message ended.
    pub displaced: Option<Origin>,
    /// Byte in the new request's body.
    pub byte: usize,
}

/// What requests must have in common to share a cache entry and a prompt's
/// beginning at all.
type Realm = (Arc<str>, u32, Option<Arc<str>>, Arc<str>);

/// Finds the breaks of requests that come in the order of sending.
pub struct Breaks<'a> {
    spans: &'a SpanStore,
    messages: Messages,
    realms: HashMap<Realm, Tree>,
    /// The newest request of each conversation that can be in a cache.
    newest: HashMap<&'a Arc<str>, usize>,
    sent: Vec<&'a RequestRecord>,
}

impl<'a> Breaks<'a> {
    /// No request has been sent. Texts that `spans` lacks are compared by hash.
    pub fn new(spans: &'a SpanStore) -> Self {
        Self {
            spans,
            messages: Messages::default(),
            realms: HashMap::new(),
            newest: HashMap::new(),
            sent: Vec::new(),
        }
    }

    /// The break of the next request. `None`: nothing was sent before that it
    /// could share anything with, or it goes on where that ended.
    ///
    /// `held` says whether the request can have left something in the cache:
    /// only then later ones are compared with it.
    pub fn next(&mut self, record: &'a RequestRecord, held: bool) -> Option<Place> {
        let index = self.sent.len();
        self.sent.push(record);
        let path: Vec<_> = record
            .prompt
            .iter()
            .map(|message| self.messages.of(message, self.spans))
            .collect();
        let realm = (
            Arc::clone(&record.model),
            record.epoch,
            record.salt.clone(),
            Arc::clone(&record.nonce),
        );
        let other_model = self.other_model(record, &realm);
        let tree = self.realms.entry(realm).or_default();
        let meeting = tree.meet(&path);
        if held {
            tree.insert(&path, index);
            self.newest.insert(&record.conversation, index);
        }
        if other_model.is_some() {
            return other_model;
        }
        let Meeting {
            predecessor,
            message,
            offset,
        } = meeting?;
        let earlier = self.sent.get(predecessor)?;
        let (origin, byte) = place::of(record, earlier, message, offset, self.spans);
        Some(Place {
            predecessor,
            message,
            offset,
            origin,
            displaced: place::source(earlier, message, offset, self.spans),
            byte,
        })
    }

    /// The break of a request to a model that has not been asked anything here while
    /// its conversation went to another one: nothing of that is of any use.
    fn other_model(&self, record: &RequestRecord, realm: &Realm) -> Option<Place> {
        if self.realms.contains_key(realm) {
            return None;
        }
        let predecessor = *self.newest.get(&record.conversation)?;
        let earlier = self.sent.get(predecessor)?;
        let alike = earlier.epoch == record.epoch
            && earlier.salt == record.salt
            && earlier.nonce == record.nonce;
        (alike && earlier.model != record.model).then(|| Place {
            predecessor,
            message: 0,
            offset: 0,
            origin: Origin::from(Origin::MODEL),
            displaced: None,
            byte: 0,
        })
    }
}

#[cfg(test)]
mod tests;
