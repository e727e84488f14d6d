//! Every prompt seen so far, as one radix tree over token ids.
//!
//! Prompts that begin alike share their tokens, so a conversation of a
//! thousand turns costs its longest prompt and not their sum.
//!
//! Invariants: a node was last used no earlier than any node below it, so an
//! expired node ends the part of a path that is still alive; a marked position
//! always is the end of a node.

use std::collections::HashMap;

/// Where a node stands in [`Tree::nodes`].
type NodeId = u32;

/// The node that stands for the empty prompt.
const ROOT: NodeId = 0;

#[derive(Debug)]
struct Node {
    /// First token of the edge into this node, in [`Tree::tokens`].
    start: usize,
    /// Tokens on that edge.
    len: usize,
    /// When a prompt last went through the end of the edge.
    used_ms: i64,
    /// When a cache entry that ends here was last written or read.
    marked_ms: Option<i64>,
}

/// Token sequences under one salt.
#[derive(Debug)]
pub(super) struct Tree {
    tokens: Vec<u32>,
    nodes: Vec<Node>,
    children: HashMap<(NodeId, u32), NodeId>,
}

/// How far a prompt follows what is in a tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Walk {
    /// Tokens in common with the sequence that shares most.
    pub(super) common: usize,
    /// Positions on that path, ascending, at which a live entry ends.
    pub(super) marks: Vec<usize>,
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            tokens: Vec::new(),
            nodes: vec![Node {
                start: 0,
                len: 0,
                used_ms: i64::MIN,
                marked_ms: None,
            }],
            children: HashMap::new(),
        }
    }
}

impl Tree {
    /// Tokens held, each shared one once.
    pub(super) fn tokens_held(&self) -> usize {
        self.tokens.len()
    }

    /// Follows `ids` through what was used at or after `alive_from_ms`.
    pub(super) fn walk(&self, ids: &[u32], alive_from_ms: i64) -> Walk {
        let mut walk = Walk::default();
        let mut node = ROOT;
        while let Some(child) = self.child(node, ids, walk.common) {
            let edge = self.edge(child);
            if self.node(child).used_ms < alive_from_ms {
                break;
            }
            let same = common_len(edge, &ids[walk.common..]);
            walk.common += same;
            if same < edge.len() {
                break;
            }
            if self
                .node(child)
                .marked_ms
                .is_some_and(|at| at >= alive_from_ms)
            {
                walk.marks.push(walk.common);
            }
            node = child;
        }
        walk
    }

    /// Stores `ids` as used at `at_ms`, and refreshes all that it shares.
    pub(super) fn insert(&mut self, ids: &[u32], at_ms: i64) {
        let _end = self.insert_to(ids, at_ms);
    }

    /// Stores `ids` and marks its end as that of a cache entry.
    ///
    /// The empty sequence cannot be marked.
    pub(super) fn mark(&mut self, ids: &[u32], at_ms: i64) {
        let end = self.insert_to(ids, at_ms);
        if end != ROOT {
            let marked = &mut self.nodes[end as usize].marked_ms;
            *marked = Some(marked.map_or(at_ms, |earlier| earlier.max(at_ms)));
        }
    }

    fn insert_to(&mut self, ids: &[u32], at_ms: i64) -> NodeId {
        let mut node = ROOT;
        let mut done = 0;
        while let Some(child) = self.child(node, ids, done) {
            let edge = self.edge(child);
            let same = common_len(edge, &ids[done..]);
            let reached = if same < edge.len() {
                self.split(node, child, same)
            } else {
                child
            };
            let used = &mut self.nodes[reached as usize].used_ms;
            *used = (*used).max(at_ms);
            done += same;
            node = reached;
        }
        if done == ids.len() {
            return node;
        }
        let start = self.tokens.len();
        self.tokens.extend_from_slice(&ids[done..]);
        self.add(
            node,
            Node {
                start,
                len: ids.len() - done,
                used_ms: at_ms,
                marked_ms: None,
            },
        )
    }

    /// Puts a node `at` tokens into the edge from `parent` to `child`.
    fn split(&mut self, parent: NodeId, child: NodeId, at: usize) -> NodeId {
        let (start, used_ms) = (self.node(child).start, self.node(child).used_ms);
        let upper = self.add(
            parent,
            Node {
                start,
                len: at,
                used_ms,
                marked_ms: None,
            },
        );
        let lower = &mut self.nodes[child as usize];
        lower.start += at;
        lower.len -= at;
        let first = self.tokens[start + at];
        self.children.insert((upper, first), child);
        upper
    }

    /// Adds `node` below `parent`, in place of any that begins alike.
    fn add(&mut self, parent: NodeId, node: Node) -> NodeId {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "four billion nodes would not fit into memory"
        )]
        let id = self.nodes.len() as NodeId;
        self.children.insert((parent, self.tokens[node.start]), id);
        self.nodes.push(node);
        id
    }

    fn child(&self, node: NodeId, ids: &[u32], at: usize) -> Option<NodeId> {
        self.children.get(&(node, *ids.get(at)?)).copied()
    }

    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    fn edge(&self, id: NodeId) -> &[u32] {
        let node = self.node(id);
        &self.tokens[node.start..node.start + node.len]
    }
}

/// Leading elements that two sequences have in common.
pub(super) fn common_len(left: &[u32], right: &[u32]) -> usize {
    left.iter()
        .zip(right)
        .take_while(|(left, right)| left == right)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_follows_the_sequence_that_shares_most() {
        let mut tree = Tree::default();
        tree.insert(&[1, 2, 3, 4], 0);
        tree.insert(&[1, 2, 9], 0);
        let cases: &[(&[u32], usize)] = &[
            (&[1, 2, 3, 4, 5], 4),
            (&[1, 2, 3], 3),
            (&[1, 2, 9, 9], 3),
            (&[1, 2, 7], 2),
            (&[2], 0),
            (&[], 0),
        ];
        for (ids, common) in cases {
            assert_eq!(tree.walk(ids, i64::MIN).common, *common, "{ids:?}");
        }
    }

    #[test]
    fn what_was_not_used_in_time_is_no_longer_followed() {
        let mut tree = Tree::default();
        tree.insert(&[1, 2, 3, 4], 0);
        tree.insert(&[1, 2], 10);
        assert_eq!(tree.walk(&[1, 2, 3, 4], 5).common, 2, "the head is newer");
        assert_eq!(tree.walk(&[1, 2, 3, 4], 0).common, 4);
        assert_eq!(tree.walk(&[1, 2, 3, 4], 11).common, 0);
    }

    #[test]
    fn marks_stand_where_they_were_put() {
        let mut tree = Tree::default();
        tree.mark(&[1, 2], 0);
        tree.mark(&[1, 2, 3, 4], 5);
        tree.mark(&[], 5);
        let walk = tree.walk(&[1, 2, 3, 4, 5], 0);
        assert_eq!(walk.marks, [2, 4]);
        assert_eq!(tree.walk(&[1, 2, 3], 0).marks, [2], "an unfinished edge");
        assert_eq!(tree.walk(&[1, 2, 3, 4], 1).marks, [4], "the first expired");
    }
}
