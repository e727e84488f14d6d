//! A model server's prefix cache, done in the simplest way: all earlier token
//! sequences in a list, and the longest common prefix by comparing.
//!
//! It shares no code with the program: it reads bodies with `serde_json`,
//! renders the embedded chat template itself and tokenises with tiktoken.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::rc::Rc;

/// Opens a message; outside the vocabulary.
const START: u32 = 300_000;
/// Closes a message.
const END: u32 = 300_001;
/// Tokens of a block.
const BLOCK: usize = 16;

/// A message as the template renders it: role and text.
pub(crate) type Message = (&'static str, String);

/// What the cache could give for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) total: usize,
    pub(crate) eligible: usize,
    pub(crate) bound: usize,
}

/// All that was sent under one salt.
#[derive(Default)]
pub(crate) struct Cache(Vec<Vec<u32>>);

impl Cache {
    /// Looks a prompt up. The last token is always computed, and only whole
    /// blocks are kept.
    pub(crate) fn find(&self, prompt: &[u32]) -> Found {
        let common = self.0.iter().map(|held| common(held, prompt));
        let eligible = common.max().unwrap_or(0);
        Found {
            total: prompt.len(),
            eligible,
            bound: eligible.min(prompt.len() - 1) / BLOCK * BLOCK,
        }
    }

    /// Keeps a prompt and what was generated behind it.
    pub(crate) fn keep(&mut self, mut prompt: Vec<u32>, generated: &[u32]) {
        // The last generated token has not been computed.
        let computed = generated.len().saturating_sub(1);
        prompt.extend_from_slice(&generated[..computed]);
        self.0.push(prompt);
    }
}

fn common(one: &[u32], other: &[u32]) -> usize {
    let pairs = one.iter().zip(other);
    pairs.take_while(|(one, other)| one == other).count()
}

/// Tokenises messages, each text once.
#[derive(Default)]
pub(crate) struct Template(HashMap<String, Rc<[u32]>>);

impl Template {
    pub(crate) fn prompt(&mut self, messages: &[Message]) -> Vec<u32> {
        let mut ids = Vec::new();
        for (role, text) in messages {
            ids.push(START);
            ids.extend_from_slice(&self.encode(format!("{role}\n{text}")));
            ids.push(END);
            ids.extend_from_slice(&self.encode("\n".to_owned()));
        }
        ids.push(START);
        ids.extend_from_slice(&self.encode("assistant\n".to_owned()));
        ids
    }

    pub(crate) fn encode(&mut self, text: String) -> Rc<[u32]> {
        if let Some(ids) = self.0.get(&text) {
            return Rc::clone(ids);
        }
        let ids: Rc<[u32]> = tiktoken_rs::o200k_base_singleton()
            .encode_ordinary(&text)
            .into();
        self.0.insert(text, Rc::clone(&ids));
        ids
    }
}

/// A body of either dialect; the one that is not there is empty.
#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    tools: Vec<Tool>,
    #[serde(default)]
    system: Option<Box<RawValue>>,
    messages: Vec<Turn>,
}

#[derive(Deserialize)]
struct Tool {
    #[serde(default)]
    function: Option<Box<Self>>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default, alias = "input_schema")]
    parameters: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    #[serde(default)]
    content: Option<Box<RawValue>>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Part {
    r#type: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    input: Option<Box<RawValue>>,
    #[serde(default)]
    content: Option<Box<RawValue>>,
}

fn read<'a, T: Deserialize<'a>>(json: &'a str) -> T {
    serde_json::from_str(json).expect("JSON of the form that the dialect has")
}

/// The messages of a body, tool definitions first.
pub(crate) fn messages(body: &str) -> Vec<Message> {
    let body: Body = read(body);
    let mut all = Vec::new();
    if !body.tools.is_empty() {
        let texts = body.tools.iter().map(|tool| {
            let tool = tool.function.as_deref().unwrap_or(tool);
            let schema = tool.parameters.as_ref().map_or("", |schema| schema.get());
            format!("{}{}{schema}", tool.name, tool.description)
        });
        all.push(("tools", texts.collect()));
    }
    if let Some(system) = &body.system {
        all.push(("system", content(Some(system))));
    }
    for turn in &body.messages {
        add(turn, &mut all);
    }
    all
}

fn add(turn: &Turn, all: &mut Vec<Message>) {
    let role = match turn.role.as_str() {
        "system" | "developer" => "system",
        "assistant" => "assistant",
        "tool" => "tool",
        _ => "user",
    };
    let parts = parts(turn.content.as_deref());
    if parts.iter().any(|part| part.r#type.starts_with("tool_")) {
        return add_blocks(role, &parts, all);
    }
    let mut text = turn.reasoning_content.clone().unwrap_or_default();
    text.push_str(&content(turn.content.as_deref()));
    for Call { function } in turn.tool_calls.iter().flatten() {
        text.push_str(&function.name);
        text.push_str(&function.arguments);
    }
    all.push((role, text));
}

/// Anthropic's blocks: each tool result is a message of its own, and calls
/// stand behind the text.
fn add_blocks(role: &'static str, parts: &[Part], all: &mut Vec<Message>) {
    let (mut text, mut calls, mut results) = (String::new(), String::new(), 0);
    for part in parts {
        match part.r#type.as_str() {
            "tool_result" => {
                if !text.is_empty() {
                    all.push((role, std::mem::take(&mut text)));
                }
                all.push(("tool", content(part.content.as_deref())));
                results += 1;
            }
            "tool_use" => {
                calls.push_str(part.name.as_deref().unwrap_or_default());
                calls.push_str(part.input.as_ref().map_or("", |input| input.get()));
            }
            _ => text.push_str(&said(part)),
        }
    }
    text.push_str(&calls);
    if results == 0 || !text.is_empty() {
        all.push((role, text));
    }
}

fn said(part: &Part) -> String {
    let text = part.text.as_ref().or(part.thinking.as_ref());
    text.cloned().unwrap_or_default()
}

fn parts(content: Option<&RawValue>) -> Vec<Part> {
    match content.map(RawValue::get) {
        Some(json) if json.starts_with('[') => read(json),
        _ => Vec::new(),
    }
}

/// All text of a content, which is a string, a list of parts, or nothing.
fn content(content: Option<&RawValue>) -> String {
    match content.map(RawValue::get) {
        Some(json) if json.starts_with('"') => read(json),
        Some(_) => parts(content).iter().map(said).collect(),
        None => String::new(),
    }
}

#[test]
fn the_list_finds_what_a_cache_of_blocks_would() {
    let mut cache = Cache::default();
    let prompt: Vec<u32> = (0..40).collect();
    assert_eq!(cache.find(&prompt).bound, 0);
    cache.keep(prompt.clone(), &[90, 91]);
    let found = cache.find(&prompt);
    assert_eq!((found.total, found.eligible, found.bound), (40, 40, 32));
    let whole: Vec<u32> = (0..32).collect();
    assert_eq!(cache.find(&whole).bound, 16, "the last token is computed");
    let on: Vec<u32> = (0..40).chain([90, 91, 92]).collect();
    assert_eq!(
        cache.find(&on).eligible,
        41,
        "the last one was not computed"
    );
}
