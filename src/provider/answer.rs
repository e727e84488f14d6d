//! The events of one answer, folded.

use crate::chat::{ChatEvent, FinishReason, Usage, UsageOrigin};
use crate::units::Tokens;

/// The server's own words for a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerError {
    /// For a person.
    pub message: String,
    /// The server's word for the kind; [`MALFORMED`] where the answer broke its
    /// own format.
    pub kind: Option<String>,
}

/// Kind of an [`AnswerError`] that we found and no server named.
pub const MALFORMED: &str = "malformed";

/// A call of a tool, put together from its pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerCall {
    /// Id that the result must name.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, JSON text as the server sent it.
    pub arguments: String,
}

/// What an answer came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The answer's text; `None` where the server sent none (an empty text is a text).
    pub text: Option<String>,
    /// Reasoning, as far as it was shown.
    pub reasoning: String,
    /// Calls of tools, in the server's order.
    pub tool_calls: Vec<AnswerCall>,
    /// Token ids of everything that was generated; `None` where the server did
    /// not name them.
    pub output_ids: Option<Vec<u32>>,
    /// The last counts, as they stand in the answer.
    pub usage: Option<Usage>,
    /// Whether what was read, and what was written, is only a zero that was sent before
    /// anything had been counted.
    pub unsaid: (bool, bool),
    /// Why it ended; `None` where the server did not say, so that a stream is cut.
    pub finish: Option<FinishReason>,
    /// The first failure.
    pub error: Option<AnswerError>,
    /// Who served it.
    pub served_by: Option<String>,
    /// Whether the end marker came.
    pub done: bool,
}

/// More calls than this are no answer but an attack on our memory.
const MOST_CALLS: usize = 1_024;

/// Room for the text of a short answer, so that its pieces need not make it one by one.
const SHORT_ANSWER: usize = 256;

impl Answer {
    /// The counts that somebody made: without zeros that were sent before anything had
    /// been counted.
    pub fn counted(&self) -> Option<Usage> {
        let mut usage = self.usage.clone()?;
        let (read, write) = self.unsaid;
        if write {
            (usage.write, usage.write_long) = (None, None);
        }
        let nothing = usage.total == Some(Tokens(0));
        if read && (nothing || usage.origin == UsageOrigin::Reported) {
            usage.read = None;
            usage.total = usage.total.filter(|_| !nothing);
            usage.origin = UsageOrigin::Absent;
        }
        Some(usage)
    }

    /// Takes a piece of the answer's text.
    pub fn take_text(&mut self, piece: &str) {
        let text = self.text.get_or_insert_with(|| {
            // Most answers come in pieces.
            String::with_capacity(SHORT_ANSWER)
        });
        text.push_str(piece);
    }

    /// Takes the next event.
    pub fn take(&mut self, event: ChatEvent) {
        match event {
            ChatEvent::Text(piece) => self.take_text(&piece),
            ChatEvent::Reasoning(piece) => self.reasoning.push_str(&piece),
            ChatEvent::ToolCall {
                index,
                id,
                name,
                arguments,
            } if index < MOST_CALLS => {
                if self.tool_calls.len() <= index {
                    self.tool_calls.resize_with(index + 1, AnswerCall::default);
                }
                let call = &mut self.tool_calls[index];
                call.id = id.unwrap_or_else(|| std::mem::take(&mut call.id));
                call.name = name.unwrap_or_else(|| std::mem::take(&mut call.name));
                call.arguments.push_str(&arguments);
            }
            ChatEvent::TokenIds(ids) => self.output_ids.get_or_insert_default().extend(ids),
            // An object in which nothing can be read says less than one before it.
            ChatEvent::Usage(usage) if self.usage.is_none() || usage.says_anything() => {
                self.usage = Some(usage);
            }
            ChatEvent::Unsaid { read, write } => self.unsaid = (read, write),
            ChatEvent::Finish(reason) => self.finish = Some(reason),
            ChatEvent::Error { message, kind } => {
                self.error.get_or_insert(AnswerError { message, kind });
            }
            ChatEvent::ServedBy(server) => self.served_by = Some(server),
            ChatEvent::Done => self.done = true,
            ChatEvent::ToolCall { .. } | ChatEvent::Usage(_) | ChatEvent::Other => {}
        }
    }
}

impl Extend<ChatEvent> for Answer {
    fn extend<I: IntoIterator<Item = ChatEvent>>(&mut self, events: I) {
        events.into_iter().for_each(|event| self.take(event));
    }
}

/// The neutral word for a reason, as records and `decode` write it; the
/// provider's own word where there is no neutral one.
pub fn finish_word(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::Other(word) => word,
    }
}
