//! A small conversation for tests of strategies: a tree of messages and a world
//! that changes between sends, without files and steps.

use super::configuration::Options;
use super::phrases::Phrases;
use super::stored::Stored;
use super::strategy::{Plan, Setup, Strategy, find};
use super::view::{
    AssistantTurn, Call, Chain, Compaction, CompactionMode, Link, Memory, MemoryEntry, Moment,
    NodeId, Purpose, Round, Sample, UserTurn, Vault,
};
use crate::chat::{Content, Family, Prompt, Span, Text, Wire};
use jiff::{SignedDuration, tz::TimeZone};
use std::fmt::Write as _;
use std::sync::Arc;

/// A strategy by its name, with `options`.
pub(crate) fn strategy(name: &str, options: Options) -> Box<dyn Strategy> {
    let setup = Setup {
        options,
        phrases: Arc::new(Phrases::default()),
        builder: None,
        bodies: Arc::from([]),
    };
    find(name).unwrap().begin(setup).unwrap()
}

/// The instant `at` in `zone`.
pub(crate) fn moment(at: &str, zone: &str) -> Moment {
    Moment {
        at: at.parse().unwrap(),
        zone: TimeZone::get(zone).unwrap(),
    }
}

/// One call of a tool and its result.
pub(crate) fn round(number: usize) -> Round {
    Round {
        text: Text::from(format!("Looking, {number}.")),
        calls: vec![Call {
            id: Arc::from(format!("call_{number}")),
            name: Arc::from("search"),
            arguments: Text::from(r#"{"q":"x"}"#),
            result: Text::from(format!("Result {number}.")),
        }],
    }
}

struct Node {
    parent: Option<NodeId>,
    link: Link,
}

/// A chat: every message ever sent, and the world as it is now.
pub(crate) struct Talk {
    /// The world; change it freely between sends.
    pub(crate) now: Sample,
    /// What the strategy stored on the chat.
    pub(crate) anchor: Option<Stored>,
    /// The provider.
    pub(crate) wire: Wire,
    /// The end of the current branch.
    pub(crate) leaf: Option<NodeId>,
    /// What the last send was planned to store.
    pub(crate) plan: Plan,
    vault: Vault,
    nodes: Vec<Node>,
}

impl Talk {
    /// A chat that starts on 2026-10-16 at nine in the morning, UTC, with one
    /// sentence of agent instructions, memory on and empty, everything else off.
    pub(crate) fn new(family: Family) -> Self {
        let start = moment("2026-10-16T09:00:00Z", "UTC");
        Self {
            now: Sample {
                at: start.clone(),
                started: start,
                system: Text::from("You help."),
                tools: Arc::from([]),
                model: None,
                project: None,
                artifacts: None,
                memory_guard: None,
                skills: vec![],
                web_search: None,
                memory: Memory {
                    on: true,
                    entries: vec![],
                },
                timestamps: false,
                other: vec![],
            },
            anchor: None,
            wire: family.wire(),
            leaf: None,
            plan: Plan::default(),
            vault: Vault::new(),
            nodes: vec![],
        }
    }

    /// Lets time go by.
    pub(crate) fn wait(&mut self, hours: i64) {
        self.now.at.at += SignedDuration::from_hours(hours);
    }

    /// Adds or changes a remembered fact, which moves to the end.
    pub(crate) fn remember(&mut self, key: &str, value: &str) {
        self.forget(key);
        self.now.memory.entries.push(MemoryEntry {
            key: Arc::from(key),
            value: Text::from(value),
            updated: self.now.at.clone(),
        });
    }

    /// Removes a remembered fact.
    pub(crate) fn forget(&mut self, key: &str) {
        self.now.memory.entries.retain(|it| &*it.key != key);
    }

    fn add(&mut self, link: impl FnOnce(NodeId) -> Link) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap());
        let (parent, link) = (self.leaf, link(id));
        self.nodes.push(Node { parent, link });
        self.leaf = Some(id);
        id
    }

    /// The path from the root to `leaf`.
    pub(crate) fn path(&self, leaf: Option<NodeId>) -> Vec<Link> {
        let at = |id: NodeId| &self.nodes[id.0 as usize];
        let nodes = std::iter::successors(leaf, |id| at(*id).parent);
        let mut links: Vec<Link> = nodes.map(|id| at(id).link.clone()).collect();
        links.reverse();
        links
    }

    /// The parent of `node`.
    pub(crate) fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.0 as usize].parent
    }

    /// All nodes so far.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, &Link)> {
        (0..)
            .map(NodeId)
            .zip(self.nodes.iter().map(|node| &node.link))
    }

    /// Shows the chain that ends in `leaf` to `see`, with all rounds done.
    pub(crate) fn chain<T>(
        &self,
        leaf: Option<NodeId>,
        purpose: &Purpose,
        see: impl FnOnce(&Chain<'_>) -> T,
    ) -> T {
        let links = self.path(leaf);
        let rounds = match links.last() {
            Some(Link::User(turn)) => turn.rounds.len(),
            _ => 0,
        };
        see(&Chain {
            links: &links,
            live: &self.now,
            vault: &self.vault,
            anchor: self.anchor.as_ref(),
            purpose,
            rounds,
            rebuilt: 0,
            reloaded: 0,
            wire: self.wire,
        })
    }

    /// Sends `text` behind the leaf.
    pub(crate) fn send(&mut self, strategy: &mut dyn Strategy, text: &str) -> Prompt {
        self.send_with(strategy, text, |_| {})
    }

    /// Sends `text` with whatever `attach` adds to the message. The prompt is
    /// that of the turn's last request.
    pub(crate) fn send_with(
        &mut self,
        strategy: &mut dyn Strategy,
        text: &str,
        attach: impl FnOnce(&mut UserTurn),
    ) -> Prompt {
        self.now.at.at += SignedDuration::from_millis(47_313);
        let mut turn = UserTurn {
            id: NodeId(0),
            text: Text::from(text),
            sent: self.now.at.clone(),
            sample: Arc::new(self.now.clone()),
            attachments: vec![],
            retrieved: None,
            queued_files: vec![],
            tool_outputs: vec![],
            rounds: vec![],
            chain: None,
            stored: None,
        };
        attach(&mut turn);
        let id = self.add(|id| Link::User(Arc::new(UserTurn { id, ..turn })));
        let plan = self.chain(Some(id), &Purpose::Send, |chain| strategy.plan(chain));
        self.plan = plan.unwrap();
        if let Link::User(turn) = &mut self.nodes[id.0 as usize].link {
            Arc::make_mut(turn).stored.clone_from(&self.plan.message);
        }
        if let Some(anchor) = self.plan.anchor.clone() {
            self.store_anchor(id, anchor);
        }
        self.render(strategy, &Purpose::Send)
    }

    /// Another vault from now on.
    pub(crate) fn set_vault(&mut self, vault: Vault) {
        self.vault = vault;
    }

    /// Puts `link` in the leaf's place.
    pub(crate) fn replace_leaf(&mut self, link: Link) {
        if let Some(id) = self.leaf {
            self.nodes[id.0 as usize].link = link;
        }
    }

    fn store_anchor(&mut self, from: NodeId, anchor: Stored) {
        let mut at = Some(from);
        while let Some(id) = at {
            let node = &mut self.nodes[id.0 as usize];
            if let Link::Compaction(compaction) = &mut node.link {
                Arc::make_mut(compaction).stored.get_or_insert(anchor);
                return;
            }
            at = node.parent;
        }
        self.anchor.get_or_insert(anchor);
    }

    /// The prompt for the current leaf.
    pub(crate) fn render(&self, strategy: &mut dyn Strategy, purpose: &Purpose) -> Prompt {
        self.chain(self.leaf, purpose, |chain| strategy.render(chain))
            .unwrap()
    }

    /// The model's answer.
    pub(crate) fn reply(&mut self, text: &str) -> NodeId {
        self.add(|id| {
            Link::Assistant(Arc::new(AssistantTurn {
                id,
                text: Text::from(text),
                reasoning: Some(Text::from("Thinking.")),
            }))
        })
    }

    /// A compaction that keeps the last `keep_turns` turns.
    pub(crate) fn compact(&mut self, keep_turns: usize, mode: CompactionMode) -> NodeId {
        let path = self.path(self.leaf);
        let users = path.iter().rev().filter_map(|link| match link {
            Link::User(turn) => Some(turn.id),
            _ => None,
        });
        let retained_from = users.take(keep_turns).last();
        self.add(|id| {
            Link::Compaction(Arc::new(Compaction {
                id,
                summary: Text::from("They talked."),
                mode,
                keep_turns,
                retained_from,
                stored: None,
            }))
        })
    }
}

/// The text of `spans`.
pub(crate) fn text(spans: &[Span]) -> String {
    spans.iter().map(|span| &*span.text).collect()
}

/// A prompt as one text, without markers: each tool, the system prompt's blocks
/// joined, each message behind its role.
pub(crate) fn flat(prompt: &Prompt) -> String {
    let mut out = String::new();
    for tool in &prompt.tools {
        let _ = write!(out, "\n<<tool>>{} {}", tool.name, tool.parameters.text);
    }
    out.push_str("\n<<system>>");
    let contents = |out: &mut String, content: &Content| match content {
        Content::Text(spans) | Content::Reasoning(spans) => out.push_str(&text(spans)),
        Content::Image(image) => out.push_str(&image.data.text),
        Content::Call(call) => {
            let _ = write!(out, "[{} {}]", call.name.text, call.arguments.text);
        }
    };
    for block in &prompt.system {
        contents(&mut out, &block.content);
    }
    for message in &prompt.messages {
        let _ = write!(out, "\n<<{}>>", message.role.as_str());
        for block in &message.blocks {
            contents(&mut out, &block.content);
        }
    }
    out
}

/// [`flat`] with a `|` behind every marked block and tool.
pub(crate) fn flat_with_markers(prompt: &Prompt) -> String {
    let mut marked = prompt.clone();
    let blocks = marked.messages.iter_mut().flat_map(|it| &mut it.blocks);
    for block in marked.system.iter_mut().chain(blocks) {
        if let (Some(_), Content::Text(spans)) = (block.marker, &mut block.content) {
            spans.push(Span::new("marker", crate::chat::Class::Static, "|"));
        }
    }
    for tool in &mut marked.tools {
        if tool.marker.is_some() {
            tool.parameters.text = Text::from(format!("{}|", tool.parameters.text));
        }
    }
    flat(&marked)
}
