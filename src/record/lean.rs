//! Records as far as tables and results need them, borrowed from their lines.
//!
//! A record is mostly its prompt, which no table shows. Left where it is, it is
//! checked to be JSON and nothing is made of it: a million records are read in
//! seconds, and none is ever whole in memory.

use super::BoundRecord;
use super::lines::{Dated, LineError, VersionedLine as _, settled};
use super::request::{Break, EventLabel, Outcome, RequestRecord, Stamps};
use crate::chat::{Digest, UsageOrigin};
use crate::units::{Bytes, Money, Tokens};
use memchr::memmem;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// A text that is borrowed where its line holds it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name<'a>(Cow<'a, str>);

impl Deref for Name<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Name<'_> {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a str> for Name<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

// By hand, since serde borrows a text in a list or an option only so.
impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Texts)
    }
}

/// [`EventLabel`], borrowed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeanEvent<'a> {
    /// What it is called.
    #[serde(borrow)]
    pub label: Name<'a>,
    #[serde(rename = "line")]
    _line: usize,
    #[serde(default, rename = "rewrites")]
    _rewrites: IgnoredAny,
}

/// [`crate::chat::Usage`] without the server's own object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeanUsage {
    /// The whole prompt.
    pub total: Option<Tokens>,
    /// Taken from the cache.
    pub read: Option<Tokens>,
    /// Newly cached for the short lifetime.
    pub write: Option<Tokens>,
    /// Newly cached for the long lifetime.
    pub write_long: Option<Tokens>,
    /// Generated.
    pub output: Option<Tokens>,
    /// Of these, reasoning.
    pub reasoning: Option<Tokens>,
    /// Origin of `read`.
    pub origin: UsageOrigin,
    #[serde(default, rename = "raw")]
    _raw: IgnoredAny,
}

/// [`RequestRecord`] without its prompt. The fields mean the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "they are those of the whole record")]
pub struct LeanRecord<'a> {
    v: u32,
    #[serde(borrow)]
    pub scenario: Name<'a>,
    #[serde(borrow)]
    pub group: Name<'a>,
    #[serde(borrow)]
    pub configuration: Name<'a>,
    #[serde(borrow)]
    pub target: Name<'a>,
    #[serde(borrow)]
    pub model: Name<'a>,
    #[serde(borrow)]
    pub load: Name<'a>,
    pub repeat: u32,
    #[serde(borrow)]
    pub conversation: Name<'a>,
    pub turn: u32,
    pub request: u32,
    pub attempt: u32,
    #[serde(borrow)]
    pub events: Vec<LeanEvent<'a>>,
    pub outcome: Outcome,
    pub status: Option<u16>,
    #[serde(borrow)]
    pub flags: Vec<Name<'a>>,
    #[serde(default, rename = "error")]
    _error: IgnoredAny,
    pub usage: LeanUsage,
    pub stamps: Stamps,
    pub bytes_sent: Bytes,
    #[serde(default, rename = "salt")]
    _salt: IgnoredAny,
    #[serde(rename = "nonce")]
    _nonce: IgnoredAny,
    #[serde(default, rename = "epoch")]
    _epoch: IgnoredAny,
    #[serde(rename = "scenario_ms")]
    _scenario_ms: i64,
    #[serde(default, rename = "cache")]
    _cache: IgnoredAny,
    #[serde(rename = "prompt")]
    _prompt: IgnoredAny,
    #[serde(default, rename = "output_sha256")]
    _output_sha256: IgnoredAny,
    #[serde(default, rename = "output_ids")]
    _output_ids: IgnoredAny,
    #[serde(default, rename = "finish")]
    _finish: IgnoredAny,
    #[serde(borrow)]
    pub served_by: Option<Name<'a>>,
    #[serde(default, rename = "headers")]
    _headers: IgnoredAny,
}

impl LeanRecord<'_> {
    /// Puts the name of its run in front of target and conversation, as in a
    /// report over several runs.
    pub fn label(&mut self, label: Option<&str>) {
        if let Some(label) = label {
            for name in [&mut self.target, &mut self.conversation] {
                *name = Name(Cow::Owned(format!("{label}: {}", &**name)));
            }
        }
    }
}

impl<'a> From<&'a RequestRecord> for LeanRecord<'a> {
    fn from(record: &'a RequestRecord) -> Self {
        let event = |event: &'a EventLabel| LeanEvent {
            label: Name::from(&*event.label),
            _line: event.line,
            _rewrites: IgnoredAny,
        };
        let usage = &record.usage;
        Self {
            v: record.v,
            scenario: Name::from(&*record.scenario),
            group: Name::from(&*record.group),
            configuration: Name::from(&*record.configuration),
            target: Name::from(&*record.target),
            model: Name::from(&*record.model),
            load: Name::from(&*record.load),
            repeat: record.repeat,
            conversation: Name::from(&*record.conversation),
            turn: record.turn,
            request: record.request,
            attempt: record.attempt,
            events: record.events.iter().map(event).collect(),
            outcome: record.outcome,
            status: record.status,
            flags: record
                .flags
                .iter()
                .map(|flag| Name::from(&**flag))
                .collect(),
            _error: IgnoredAny,
            usage: LeanUsage {
                total: usage.total,
                read: usage.read,
                write: usage.write,
                write_long: usage.write_long,
                output: usage.output,
                reasoning: usage.reasoning,
                origin: usage.settled_origin(),
                _raw: IgnoredAny,
            },
            stamps: record.stamps.clone(),
            bytes_sent: record.bytes_sent,
            _salt: IgnoredAny,
            _nonce: IgnoredAny,
            _epoch: IgnoredAny,
            _scenario_ms: record.scenario_ms,
            _cache: IgnoredAny,
            _prompt: IgnoredAny,
            _output_sha256: IgnoredAny,
            _output_ids: IgnoredAny,
            _finish: IgnoredAny,
            served_by: record.served_by.as_deref().map(Name::from),
            _headers: IgnoredAny,
        }
    }
}

/// [`BoundRecord`], borrowed. The fields mean the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "they are those of the whole record")]
pub struct LeanBound<'a> {
    v: u32,
    #[serde(borrow)]
    pub conversation: Name<'a>,
    pub turn: u32,
    pub request: u32,
    pub attempt: u32,
    pub prompt: Option<Tokens>,
    pub eligible: Option<Tokens>,
    pub bound: Option<Tokens>,
    #[serde(borrow)]
    pub cache_model: Option<Name<'a>>,
    #[serde(borrow)]
    pub tokenizer: Option<Name<'a>>,
    #[serde(rename = "break")]
    pub broke: Option<Break>,
    pub cost: Option<Money>,
    #[serde(borrow)]
    pub flags: Vec<Name<'a>>,
}

impl<'a> From<&'a BoundRecord> for LeanBound<'a> {
    fn from(bound: &'a BoundRecord) -> Self {
        Self {
            v: bound.v,
            conversation: Name::from(&*bound.conversation),
            turn: bound.turn,
            request: bound.request,
            attempt: bound.attempt,
            prompt: bound.prompt,
            eligible: bound.eligible,
            bound: bound.bound,
            cache_model: bound.cache_model.as_deref().map(Name::from),
            tokenizer: bound.tokenizer.as_deref().map(Name::from),
            broke: bound.broke.clone(),
            cost: bound.cost,
            flags: bound.flags.iter().map(|flag| Name::from(&**flag)).collect(),
        }
    }
}

/// The hash of a stored span; its text is left where it is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeanSpan {
    /// Hash of its text.
    pub sha256: Digest,
    #[serde(rename = "bytes")]
    _bytes: Bytes,
    #[serde(default, rename = "tokens")]
    _tokens: IgnoredAny,
    #[serde(default, rename = "text")]
    _text: IgnoredAny,
}

/// A line without its prompt, which is most of it.
///
/// The prompt's key and the one behind it stand in a line only once as bytes:
/// within a text their quotes would be escaped. Where a line is built otherwise,
/// or is broken, it is read whole. What stands in the prompt is not looked at.
#[derive(Debug, Default)]
pub struct Shortened(Vec<u8>);

impl Shortened {
    /// The record of a line.
    ///
    /// # Errors
    ///
    /// [`LineError`] where it is none, or a newer one.
    pub fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<LeanRecord<'a>, LineError> {
        const PROMPT: &[u8] = b",\"prompt\":[";
        const BEHIND: &[u8] = b"],\"output_sha256\":";
        let from = memmem::find(line, PROMPT);
        let to = memmem::rfind(line, BEHIND);
        if let Some((from, to)) = from.zip(to).filter(|(from, to)| from < to) {
            self.0.clear();
            self.0.extend_from_slice(&line[..from + PROMPT.len()]);
            self.0.extend_from_slice(&line[to..]);
            let short: Result<LeanRecord<'_>, _> = serde_json::from_slice(&self.0);
            if let Ok(record) = short {
                return settled(record);
            }
        }
        LeanRecord::of(line)
    }
}

impl Dated for LeanRecord<'_> {
    const KNOWN: Option<u32> = <RequestRecord as Dated>::KNOWN;

    fn version(&self) -> Option<u32> {
        Some(self.v)
    }

    fn settle(&mut self) {
        let usage = &mut self.usage;
        let written = usage.write.unwrap_or_default().0;
        let written = written.saturating_add(usage.write_long.unwrap_or_default().0);
        usage.origin = usage
            .origin
            .beside(usage.total, usage.read, Tokens(written));
    }
}

impl Dated for LeanBound<'_> {
    const KNOWN: Option<u32> = <BoundRecord as Dated>::KNOWN;

    fn version(&self) -> Option<u32> {
        Some(self.v)
    }
}

impl Dated for LeanSpan {
    const KNOWN: Option<u32> = None;

    fn version(&self) -> Option<u32> {
        None
    }
}
