//! Requests as paths of messages in a tree.

use super::messages::Message;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Where a request leaves the one that it shares most with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meeting {
    /// Index of the earlier request.
    pub(super) predecessor: usize,
    /// Index of the message in which the two differ.
    pub(super) message: usize,
    /// Bytes of that message that they have in common.
    pub(super) offset: usize,
}

#[derive(Default)]
struct Node {
    children: BTreeMap<Message, usize>,
    /// Children by the newest request through them, newest first.
    recent: BTreeMap<Reverse<usize>, Message>,
    /// The newest request that passes through or ends here.
    newest: usize,
    /// The newest request that ends here.
    ended: Option<usize>,
}

/// The requests of one realm.
#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// Where `path` leaves the best earlier request; `None` where there is none,
    /// or where one of the two only goes on behind the other.
    pub(super) fn meet(&self, path: &[Message]) -> Option<Meeting> {
        let mut node = self.nodes.first()?;
        for (at, message) in path.iter().enumerate() {
            if let Some(&child) = node.children.get(message) {
                node = self.nodes.get(child)?;
                continue;
            }
            let offset = node.longest_shared(message);
            if offset == 0 {
                let goes_on = node.ended == Some(node.newest);
                return (!goes_on).then_some(Meeting {
                    predecessor: node.newest,
                    message: at,
                    offset,
                });
            }
            return node
                .newest_sharing(message, offset)
                .map(|predecessor| Meeting {
                    predecessor,
                    message: at,
                    offset,
                });
        }
        None
    }

    /// Adds the request of that index, which is higher than all before.
    pub(super) fn insert(&mut self, path: &[Message], index: usize) {
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let mut at = 0;
        for message in path {
            self.nodes[at].newest = index;
            let known = self.nodes[at].children.get(message).copied();
            let child = known.unwrap_or_else(|| {
                self.nodes.push(Node::default());
                self.nodes.len() - 1
            });
            let before = known.map(|child| self.nodes[child].newest);
            let node = &mut self.nodes[at];
            if let Some(before) = before {
                node.recent.remove(&Reverse(before));
            }
            node.recent.insert(Reverse(index), message.clone());
            node.children.insert(message.clone(), child);
            at = child;
        }
        self.nodes[at].newest = index;
        self.nodes[at].ended = Some(index);
    }
}

impl Node {
    /// The most bytes that any child has in common with `message`: in the order
    /// of texts, that child is a neighbour of it.
    fn longest_shared(&self, message: &Message) -> usize {
        let below = self
            .children
            .range((Bound::Unbounded, Bound::Excluded(message)))
            .next_back();
        let above = self
            .children
            .range((Bound::Excluded(message), Bound::Unbounded))
            .next();
        let shared = |(other, _): (&Message, &usize)| shared(message, other);
        below.map_or(0, shared).max(above.map_or(0, shared))
    }

    fn newest_sharing(&self, message: &Message, offset: usize) -> Option<usize> {
        self.recent
            .iter()
            .find(|(_, child)| shared(message, child) == offset)
            .map(|(Reverse(index), _)| *index)
    }
}

/// Bytes that two messages have in common from the front, whole characters only.
fn shared(a: &Message, b: &Message) -> usize {
    if a.0 != b.0 {
        return 0;
    }
    let mut bytes =
        a.1.bytes()
            .zip(b.1.bytes())
            .take_while(|(a, b)| a == b)
            .count();
    while !a.1.is_char_boundary(bytes) {
        bytes -= 1;
    }
    bytes
}
