//! Wire formats of model servers.
//!
//! A [`Dialect`] only translates: it turns a prompt into a body that knows for
//! every byte range the span it came from, and a server's bytes into
//! [`ChatEvent`]s. It opens no connection and reads no clock: one transport does
//! both for all dialects, so that two providers' latencies are taken at the same
//! points of the code and can be compared.
//!
//! A new dialect is a file here and a line in [`DIALECTS`].

mod alike;
mod answer;
mod anthropic;
mod bedrock;
mod body;
mod counts;
mod decoded;
mod failure;
mod fields;
pub mod gateway;
mod gemini;
mod halves;
mod openai_chat;
mod openai_responses;
mod path;
mod reading;
pub mod sse;
pub mod usage;
mod usual;

pub use answer::{Answer, AnswerCall, AnswerError, MALFORMED, finish_word};
pub use decoded::{Decoded, DecodedUsage, decode};
pub use failure::{Failure, failure};

use crate::chat::{CacheAsked, ChatEvent, Family, PlacedMessage, Prompt};
use body::BodyWriter;
use serde_json::{Map, Value};

/// What is said of a stream that ends before its finish marker.
pub const CUT: &str = "the stream ended before its finish marker";

/// What a request asks beside its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestParams {
    /// Model name.
    pub model: String,
    /// Limit of output tokens.
    pub max_tokens: u32,
    /// Stream the answer.
    pub stream: bool,
    /// `cache_salt` of servers that have one.
    pub salt: Option<String>,
    /// Further body fields, as the target wants them. They go last and replace
    /// fields of the same name; null takes a field out.
    pub extra: Map<String, Value>,
}

/// A request body and what stands where in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// The exact bytes.
    pub text: String,
    /// Every span with its byte range, in the order in which the provider
    /// renders them: tools, system, messages.
    pub messages: Vec<PlacedMessage>,
    /// What it asks of the cache beside its markers.
    pub cache: CacheAsked,
}

/// Reads one answer, event by event.
pub trait Decoder: Send {
    /// The text of an event whose data stand at the start of `bytes` and are like those
    /// of an earlier one but for their text, and the length of the data. `None`: it may be
    /// anything, and is read by [`Decoder::event`], which says [`ChatEvent::Text`] of such
    /// an event and nothing else.
    ///
    /// Most events of most streams are such, and need neither a copy nor a look for
    /// their end.
    fn piece<'b>(&self, bytes: &'b [u8]) -> Option<(&'b str, usize)>;

    /// Reads the data of one server-sent event and appends what it means.
    ///
    /// `event` is the event's name, empty where the server gave none. Data that
    /// breaks the format becomes [`ChatEvent::Error`] of kind `malformed`.
    fn event(&mut self, event: &str, data: &str, out: &mut Vec<ChatEvent>);

    /// Reads a whole body, streamed or not, of a request that was answered with
    /// `status`. Bodies of failures become [`ChatEvent::Error`] whatever their
    /// shape (object, string, `detail`, plain text, HTML).
    fn whole(&mut self, status: u16, body: &[u8], out: &mut Vec<ChatEvent>);
}

/// A server's dialect of chat.
pub trait Dialect: Sync {
    /// Name by which targets choose it; lowercase, unique.
    fn name(&self) -> &'static str;

    /// One sentence for `prefixbench list dialects`.
    fn about(&self) -> &'static str;

    /// What is appended to the base URL, with its leading slash.
    fn path(&self, model: &str, stream: bool) -> String;

    /// Whether its answers can be read as a stream; else they come in one piece, with
    /// counts and without a time to the first token.
    fn streams(&self) -> bool {
        true
    }

    /// Headers that every request needs beside a key (a version of the format).
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Headers that carry the key, each with what stands before it in the value,
    /// unless the target says otherwise.
    fn key_headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("authorization", "Bearer ")]
    }

    /// The family whose wire is used unless a person says otherwise.
    fn family(&self) -> Family;

    /// The body that asks for an answer to `prompt`.
    fn body(&self, prompt: &Prompt, params: &RequestParams) -> Body;

    /// A reader for one answer.
    fn decoder(&self) -> Box<dyn Decoder>;
}

/// Every dialect that a target can name.
pub static DIALECTS: &[&dyn Dialect] = &[
    &openai_chat::OpenAiChat,
    &openai_responses::OpenAiResponses,
    &anthropic::Anthropic,
    &gemini::Gemini,
    &bedrock::Bedrock,
];

/// The dialect of that name.
pub fn find(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS
        .iter()
        .copied()
        .find(|dialect| dialect.name() == name)
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod body_tests;
#[cfg(test)]
#[path = "decoder_tests.rs"]
mod decoder_tests;
