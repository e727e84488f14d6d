//! The messages of one chat, as a tree.
//!
//! Invariants: a message's parent is older than itself; messages are never
//! removed or changed, but for what a strategy stores on them; what is stored
//! is written once for each strategy and never overwritten.

use crate::context::Stored;
use crate::context::view::{Link, Moment, NodeId, UserTurn};
use serde_json::{Value, json};
use std::sync::Arc;

/// What strategies keep in one place, by the strategy's name.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(Vec<(&'static str, Stored)>);

impl Kept {
    /// What `strategy` keeps here.
    pub(super) fn get(&self, strategy: &str) -> Option<&Stored> {
        self.0
            .iter()
            .find_map(|(name, stored)| (*name == strategy).then_some(stored))
    }

    /// Keeps `stored` unless `strategy` already keeps something here.
    fn put(&mut self, strategy: &'static str, stored: Stored) {
        if self.get(strategy).is_none() {
            self.0.push((strategy, stored));
        }
    }

    fn to_json(&self) -> Value {
        let entries = self.0.iter().map(|(name, stored)| json!({*name: stored}));
        Value::Array(entries.collect())
    }

    /// Writes out and reads back; what cannot be read back is lost.
    fn reload(&mut self) {
        self.0.retain_mut(|(_, stored)| {
            let read = serde_json::to_value(&*stored).and_then(serde_json::from_value);
            read.map(|read| *stored = read).is_ok()
        });
    }
}

/// A message and its place.
#[derive(Clone, Debug)]
struct Node {
    parent: Option<NodeId>,
    link: Link,
    kept: Kept,
}

/// One chat.
#[derive(Clone, Debug)]
pub(super) struct Chat {
    /// When its first message was sent; `None` before that.
    pub(super) started: Option<Moment>,
    /// Where the next message goes; `None` at the start.
    pub(super) leaf: Option<NodeId>,
    /// The first so many user messages of the leaf's path that the product
    /// rebuilt from display text.
    pub(super) rebuilt: usize,
    /// The first so many that it loaded from a saved chat.
    pub(super) reloaded: usize,
    kept: Kept,
    nodes: Vec<Node>,
}

impl Chat {
    /// An empty chat.
    pub(super) fn new() -> Self {
        Self {
            started: None,
            leaf: None,
            rebuilt: 0,
            reloaded: 0,
            kept: Kept::default(),
            nodes: Vec::new(),
        }
    }

    /// The id that the next message gets.
    pub(super) fn next_id(&self) -> NodeId {
        NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX))
    }

    /// Adds a message below `parent` and makes it the leaf.
    pub(super) fn add(&mut self, parent: Option<NodeId>, link: Link) -> NodeId {
        let id = self.next_id();
        self.nodes.push(Node {
            parent,
            link,
            kept: Kept::default(),
        });
        self.leaf = Some(id);
        id
    }

    /// The message above `id`.
    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.parent
    }

    /// The message itself.
    pub(super) fn link(&self, id: NodeId) -> Option<&Link> {
        self.node(id).map(|node| &node.link)
    }

    /// The messages from the root to `leaf`, with what `strategy` keeps on the
    /// summaries among them.
    pub(super) fn path(&self, leaf: Option<NodeId>, strategy: &str) -> Vec<Link> {
        let mut links = Vec::new();
        let mut at = leaf;
        while let Some(node) = at.and_then(|id| self.node(id)) {
            links.push(node.seen_by(strategy));
            at = node.parent;
        }
        links.reverse();
        links
    }

    /// Number of user messages from the root to `leaf`.
    pub(super) fn users(&self, leaf: Option<NodeId>) -> usize {
        let mut count = 0;
        let mut at = leaf;
        while let Some(node) = at.and_then(|id| self.node(id)) {
            count += usize::from(matches!(node.link, Link::User(_)));
            at = node.parent;
        }
        count
    }

    /// The newest user message on the path to the leaf.
    pub(super) fn newest_user(&self) -> Option<&UserTurn> {
        let mut at = self.leaf;
        while let Some(node) = at.and_then(|id| self.node(id)) {
            if let Link::User(turn) = &node.link {
                return Some(turn);
            }
            at = node.parent;
        }
        None
    }

    /// What `strategy` keeps on the chat itself.
    pub(super) fn anchor(&self, strategy: &str) -> Option<&Stored> {
        self.kept.get(strategy)
    }

    /// Keeps `stored` on the user message `id`, once.
    pub(super) fn store_message(&mut self, id: NodeId, stored: Stored) {
        if let Some(Node {
            link: Link::User(turn),
            ..
        }) = self.node_mut(id)
        {
            let turn = Arc::make_mut(turn);
            turn.stored.get_or_insert(stored);
        }
    }

    /// Keeps `stored` on the newest summary above `id`, or on the chat where
    /// there is none, once for each strategy.
    pub(super) fn store_anchor(&mut self, id: NodeId, strategy: &'static str, stored: Stored) {
        let mut at = Some(id);
        while let Some(node) = at.and_then(|id| self.node_mut(id)) {
            if matches!(node.link, Link::Compaction(_)) {
                return node.kept.put(strategy, stored);
            }
            at = node.parent;
        }
        self.kept.put(strategy, stored);
    }

    /// The chat is saved and loaded: everything up to the leaf now comes from
    /// what was saved, and what strategies keep is written out and read back.
    pub(super) fn reload(&mut self) {
        self.reloaded = self.users(self.leaf);
        self.rebuilt = self.reloaded;
        self.kept.reload();
        for node in &mut self.nodes {
            node.kept.reload();
            if let Link::User(turn) = &mut node.link {
                let turn = Arc::make_mut(turn);
                let read = turn.stored.take();
                turn.stored = read
                    .and_then(|stored| serde_json::to_value(stored).ok())
                    .and_then(|value| serde_json::from_value(value).ok());
            }
        }
    }

    /// Makes `leaf` the leaf; the product then rebuilds the history up to it.
    pub(super) fn go_to(&mut self, leaf: Option<NodeId>) {
        self.leaf = leaf;
        self.rebuilt = self.users(leaf);
        self.reloaded = self.reloaded.min(self.rebuilt);
    }

    /// The tree with what is kept on it, as JSON.
    pub(super) fn to_json(&self) -> Value {
        let nodes = self.nodes.iter().zip(0_u32..).map(|(node, id)| {
            let (kind, text, stored) = match &node.link {
                Link::User(turn) => ("user", &turn.text, turn.stored.as_ref()),
                Link::Assistant(turn) => ("assistant", &turn.text, None),
                Link::Compaction(turn) => ("summary", &turn.summary, None),
            };
            json!({
                "id": id,
                "parent": node.parent,
                "kind": kind,
                "text": text,
                "stored": stored,
                "anchors": node.kept.to_json(),
            })
        });
        json!({
            "started": self.started.as_ref().map(Moment::datetime),
            "leaf": self.leaf,
            "anchors": self.kept.to_json(),
            "messages": nodes.collect::<Vec<_>>(),
        })
    }

    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.0 as usize)
    }
}

impl Node {
    fn seen_by(&self, strategy: &str) -> Link {
        match (&self.link, self.kept.get(strategy)) {
            (Link::Compaction(compaction), Some(stored)) => {
                let mut seen = compaction.as_ref().clone();
                seen.stored = Some(stored.clone());
                Link::Compaction(Arc::new(seen))
            }
            (link, _) => link.clone(),
        }
    }
}
