//! Prompts as ordered spans.

use super::text::{Digest, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Where a piece of a prompt comes from: the key of a source (`memory`,
/// `artifacts`), or one of the names of [`Origin`]'s constants.
///
/// A layered strategy puts the layer in front: `L2/notes/spec.md`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Origin(Arc<str>);

impl Origin {
    /// The isolation nonce; never a cause of a break.
    pub const NONCE: &'static str = "nonce";
    /// A tool's definition.
    pub const TOOLS: &'static str = "tools";
    /// The model itself, where another one is asked.
    pub const MODEL: &'static str = "model";
    /// What the person typed.
    pub const USER: &'static str = "user";
    /// What the model answered earlier.
    pub const REPLY: &'static str = "reply";
    /// A call that the model made of a tool.
    pub const TOOL_CALL: &'static str = "tool_call";
    /// What a tool returned.
    pub const TOOL_RESULT: &'static str = "tool_result";
    /// The summary that stands for compacted turns.
    pub const SUMMARY: &'static str = "summary";

    /// The name as written in records.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Origin {
    fn from(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl From<String> for Origin {
    fn from(name: String) -> Self {
        Self(Arc::from(name))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// How often a piece of a prompt is expected to change.
///
/// Source: the classes of the turn-context registry; an unknown key counts as
/// [`Class::Turn`], so that a new source cannot break the stable prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Changes when the product is deployed.
    Static,
    /// Changes a few times in a conversation.
    Conversation,
    /// Changes every turn.
    Turn,
}

impl Class {
    /// The name as written in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Conversation => "conversation",
            Self::Turn => "turn",
        }
    }
}

/// A stretch of prompt text with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The source it came from.
    pub origin: Origin,
    /// How often that source is expected to change.
    pub class: Class,
    /// The text itself; never re-parsed.
    pub text: Text,
}

impl Span {
    /// A span of `text` that came from `origin`.
    pub fn new(origin: impl Into<Origin>, class: Class, text: impl Into<Text>) -> Self {
        Self {
            origin: origin.into(),
            class,
            text: text.into(),
        }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Not a speaker: the list of tool definitions, as the provider renders it.
    Tools,
    /// Instructions of the application.
    System,
    /// The person, or text put in the person's name.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// The name on the wire and in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// How long a marked cache entry is asked to live.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub enum Ttl {
    /// Five minutes, the default; not written on the wire.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// An hour; written as `ttl: 1h`.
    #[serde(rename = "1h")]
    Hour,
}

/// Asks the provider to end a cache entry behind a block. Not content: it is
/// left out of every comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheMarker {
    /// How long the entry is asked to live.
    pub ttl: Ttl,
}

/// One picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// For example `image/png`.
    pub media_type: Arc<str>,
    /// The bytes in base64.
    pub data: Span,
}

/// A call of a tool, made by the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The id that the result refers to.
    pub id: Arc<str>,
    /// The tool.
    pub name: Span,
    /// Its arguments, as JSON text.
    pub arguments: Span,
}

/// What a block holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text, as the spans whose concatenation it is.
    Text(Vec<Span>),
    /// A picture.
    Image(Image),
    /// A call of a tool; only in assistant messages.
    Call(ToolCall),
    /// Reasoning that goes back to the model; only in assistant messages.
    Reasoning(Vec<Span>),
}

/// A content block of a message or of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it holds.
    pub content: Content,
    /// A cache marker behind it.
    pub marker: Option<CacheMarker>,
}

impl Block {
    /// A text block without a marker.
    pub fn text(spans: Vec<Span>) -> Self {
        Self {
            content: Content::Text(spans),
            marker: None,
        }
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its blocks; a single unmarked text block goes out as a plain string
    /// where the dialect has that form.
    pub blocks: Vec<Block>,
    /// Of a [`Role::Tool`] message: the call that it answers.
    pub tool_call_id: Option<Arc<str>>,
}

impl Message {
    /// A message of one text block.
    pub fn text(role: Role, spans: Vec<Span>) -> Self {
        Self {
            role,
            blocks: vec![Block::text(spans)],
            tool_call_id: None,
        }
    }
}

/// A tool definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: Arc<str>,
    /// What it does, for the model. The nonce goes in front of it, as a span of
    /// its own, where the provider renders tools first.
    pub description: Vec<Span>,
    /// JSON schema of its parameters, as compact JSON text.
    pub parameters: Span,
    /// A cache marker behind it.
    pub marker: Option<CacheMarker>,
}

/// What a configuration asks of the provider beside the content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// `prompt_cache_key` of OpenAI-like bodies.
    pub prompt_cache_key: Option<String>,
    /// Mark the body as explicitly cached only (`prompt_cache_options`).
    pub explicit_cache: bool,
    /// Headers that pin a conversation to a server.
    pub affinity: Vec<(String, String)>,
}

/// A whole prompt, in the order in which strategies think of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Tool definitions.
    pub tools: Vec<Tool>,
    /// Blocks of the system prompt; may be empty.
    pub system: Vec<Block>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Wishes beside the content.
    pub hints: Hints,
    /// What the strategy wants a person to know (a source ignored, a changed
    /// hash); lowercase sentences without a full stop.
    pub warnings: Vec<String>,
}

impl Block {
    /// Bytes of its texts.
    fn bytes(&self) -> usize {
        let texts = |spans: &[Span]| spans.iter().map(|span| span.text.len()).sum();
        match &self.content {
            Content::Text(spans) | Content::Reasoning(spans) => texts(spans),
            Content::Image(image) => image.data.text.len(),
            Content::Call(call) => call.name.text.len() + call.arguments.text.len(),
        }
    }
}

impl Prompt {
    /// Bytes of all its texts: a little less than a body of it has.
    pub fn bytes(&self) -> usize {
        let tools = self.tools.iter().map(|tool| {
            let described = tool.description.iter().map(|span| span.text.len());
            described.sum::<usize>() + tool.parameters.text.len()
        });
        let of_messages = self.messages.iter().flat_map(|message| &message.blocks);
        let blocks = self.system.iter().chain(of_messages).map(Block::bytes);
        tools.chain(blocks).sum()
    }
}

/// What a request says of its own cache entries as a whole, where a service lets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheAsked {
    /// Only marked places are read and written (OpenAI's mode `explicit`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub explicit: bool,
    /// How long entries live, in milliseconds; `None`: as the service's do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime_ms: Option<u64>,
}

impl CacheAsked {
    /// Whether nothing is asked.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What part of a message a placed span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text of a message, or of a tool's description.
    Text,
    /// Name of a tool definition.
    ToolName,
    /// Parameters of a tool definition: JSON that stands unescaped in the body.
    ToolSchema,
    /// Base64 of a picture.
    Image,
    /// Name of the tool in a call.
    CallName,
    /// Arguments of a call.
    CallArguments,
    /// Reasoning that goes back to the model.
    Reasoning,
}

/// A span and where its bytes stand in the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedSpan {
    /// The span.
    pub span: Span,
    /// What part of its message it is.
    pub part: Part,
    /// First byte in the body (of the escaped text, behind the quote).
    pub start: usize,
    /// One behind the last byte.
    pub end: usize,
}

/// A message as the provider renders it: tools, system, then the conversation,
/// every tool result a message of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedMessage {
    /// Who speaks.
    pub role: Role,
    /// Its spans in rendering order; their texts' concatenation is its text.
    pub spans: Vec<PlacedSpan>,
    /// Where cache markers stand: behind so many of its spans, ascending. Not
    /// content: left out of every comparison.
    pub marks: Vec<usize>,
    /// Those of them whose entries are asked to live an hour.
    pub long_marks: Vec<usize>,
}

impl PlacedMessage {
    /// Hash of role and texts: equal for messages that a template renders alike.
    pub fn digest(&self) -> Digest {
        let mut bytes = Vec::with_capacity(1 + self.spans.len() * 33);
        bytes.extend_from_slice(self.role.as_str().as_bytes());
        for placed in &self.spans {
            bytes.push(placed.part as u8);
            bytes.extend_from_slice(&placed.span.text.digest().0);
        }
        Digest::of(&bytes)
    }
}
