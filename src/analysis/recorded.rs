//! Recorded prompts as chat templates see them.

use crate::chat::{Part, PlacedMessage, Role};
use crate::record::{RecordedMessage, RequestRecord, SpanStore};
use crate::tokens::{Piece, TemplateMessage};

/// The prompt of a record with its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPrompt {
    messages: Vec<Message>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    role: Role,
    text: String,
    pieces: Vec<Piece>,
    /// Its cache markers; `None`: not recorded.
    marks: Option<Vec<Mark>>,
}

/// A cache marker in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Bytes of the message's text in front of it.
    pub bytes: usize,
    /// Whether its entry is asked to live an hour.
    pub long: bool,
}

impl RecordedPrompt {
    /// `None` where a text was not kept. `dialect` is the target's.
    pub fn of(record: &RequestRecord, spans: &SpanStore, dialect: &str) -> Option<Self> {
        let messages = record
            .prompt
            .iter()
            .map(|message| Message::of(message, spans))
            .collect::<Option<Vec<_>>>()?;
        Some(Self::on(messages, dialect))
    }

    fn on(mut messages: Vec<Message>, dialect: &str) -> Self {
        match dialect {
            "anthropic" => messages.iter_mut().for_each(Message::translate),
            "bedrock" => messages = joined_sides(messages),
            _ => {}
        }
        Self { messages }
    }

    /// The prompt of a request that was rendered and not sent, as it stands in its body.
    pub fn rendered(messages: &[PlacedMessage], dialect: &str) -> Self {
        let messages = messages.iter().map(|message| {
            let spans = message.spans.iter().map(|placed| {
                let text = placed.span.text.as_str();
                (text, placed.part, placed.start, placed.end)
            });
            Message::joined(
                message.role,
                Some((&message.marks, &message.long_marks)),
                &spans.collect::<Vec<_>>(),
            )
        });
        Self::on(messages.collect(), dialect)
    }

    /// Its messages, in the order in which they were sent.
    pub fn messages(&self) -> Vec<TemplateMessage<'_>> {
        let messages = self.messages.iter().map(|message| TemplateMessage {
            role: message.role.as_str(),
            text: &message.text,
            pieces: &message.pieces,
        });
        messages.collect()
    }

    /// Cache markers in order, each with the message that it stands in. `None` where
    /// they were not recorded.
    pub fn marks(&self) -> Option<Vec<(usize, Mark)>> {
        let mut all = Vec::new();
        for (at, message) in self.messages.iter().enumerate() {
            let marks = message.marks.as_ref()?.iter();
            all.extend(marks.map(|&mark| (at, mark)));
        }
        Some(all)
    }

    /// Who speaks in each of them.
    pub fn roles(&self) -> Vec<Role> {
        self.messages.iter().map(|message| message.role).collect()
    }
}

/// What is rendered of a Converse body: messages in a row of one side are the
/// blocks of one message. Results of tools stay apart, and what a system says
/// amid the chat is the user's.
fn joined_sides(messages: Vec<Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::with_capacity(messages.len());
    let mut chat = false;
    for mut message in messages {
        if chat && message.role == Role::System {
            message.role = Role::User;
        }
        match joined.last_mut() {
            Some(last) if chat && last.role == message.role && message.role != Role::Tool => {
                last.append(message);
            }
            _ => {
                // The definitions and the system text stand in fields of their own.
                chat |= message.role != Role::Tools;
                joined.push(message);
            }
        }
    }
    joined
}

impl Message {
    /// Puts another message's text, pieces and markers behind its own.
    fn append(&mut self, other: Self) {
        let before = self.text.len();
        self.text.push_str(&other.text);
        let pieces = other.pieces.into_iter();
        self.pieces.extend(pieces.map(|piece| Piece {
            end: piece.end + before,
            ..piece
        }));
        let known = other.marks.is_some();
        let more = other.marks.into_iter().flatten().map(|mark| Mark {
            bytes: mark.bytes + before,
            ..mark
        });
        self.marks = match (self.marks.take(), known) {
            (Some(mut marks), true) => {
                marks.extend(more);
                Some(marks)
            }
            _ => None,
        };
    }

    fn of(recorded: &RecordedMessage, spans: &SpanStore) -> Option<Self> {
        let spans = recorded.spans.iter().map(|span| {
            let text = spans.text(span.sha256)?.as_str();
            Some((text, span.part, span.start, span.end))
        });
        let spans = spans.collect::<Option<Vec<_>>>()?;
        let marks = recorded.marks.as_deref();
        Some(Self::joined(
            recorded.role,
            marks.map(|marks| (marks, recorded.long_marks.as_slice())),
            &spans,
        ))
    }

    /// A message of spans: text, part, first byte in the body and one behind the last;
    /// `marks` are the spans that cache markers stand behind, and those of them whose
    /// entries live an hour.
    fn joined(
        role: Role,
        marks: Option<(&[usize], &[usize])>,
        spans: &[(&str, Part, usize, usize)],
    ) -> Self {
        let (mut text, mut pieces) = (String::new(), Vec::<Piece>::new());
        let mut behind = None;
        let mut ends = vec![0];
        for &(content, part, from, to) in spans {
            text.push_str(content);
            // Spans of one string follow one another without a byte between.
            let goes_on = behind == Some((part, from));
            behind = Some((part, to));
            let end = text.len();
            ends.push(end);
            match pieces.last_mut().filter(|_| goes_on) {
                Some(piece) => piece.end = end,
                None => pieces.push(Piece { part, end }),
            }
        }
        let marks = marks.map(|(all, long)| {
            let mark = |behind: &usize| {
                let bytes = ends.get(*behind).or(ends.last()).copied()?;
                let long = long.contains(behind);
                Some(Mark { bytes, long })
            };
            all.iter().filter_map(mark).collect()
        });
        Self {
            role,
            text,
            pieces,
            marks,
        }
    }

    /// What engines make of Anthropic's form: the blocks of a system prompt
    /// become one text, and empty blocks go. Source: vLLM 0.32,
    /// `entrypoints/anthropic/serving.py`.
    fn translate(&mut self) {
        if self.role == Role::System {
            self.pieces.clear();
            return;
        }
        let mut start = 0;
        self.pieces.retain(|piece| {
            let from = std::mem::replace(&mut start, piece.end);
            piece.part != Part::Text || piece.end > from
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing;
    use crate::chat::{Class, Origin, Text};
    use crate::record::RecordedSpan;

    /// A message of `(text, first byte)`, as the body had them.
    fn message(role: Role, texts: &[(&str, usize)], spans: &mut SpanStore) -> RecordedMessage {
        let mut placed = Vec::new();
        for &(text, start) in texts {
            let text = Text::from(text);
            placed.push(RecordedSpan {
                origin: Origin::from("s"),
                class: Class::Static,
                part: Part::Text,
                sha256: text.digest(),
                start,
                end: start + text.len(),
            });
            spans.insert(text);
        }
        RecordedMessage {
            role,
            spans: placed,
            marks: None,
            long_marks: Vec::new(),
        }
    }

    fn texts(prompt: &RecordedPrompt) -> Vec<Vec<&str>> {
        let messages = prompt.messages.iter().map(|message| {
            let message = TemplateMessage {
                role: message.role.as_str(),
                text: &message.text,
                pieces: &message.pieces,
            };
            message.parts().map(|(_, text)| text).collect()
        });
        messages.collect()
    }

    #[test]
    fn messages_of_one_side_are_one_where_the_wire_makes_them_one() {
        use Role::{Assistant, System, Tool, Tools, User};
        let mut spans = SpanStore::default();
        let mut record = testing::blank("dev", 1);
        let roles = [
            Tools, System, User, System, User, Assistant, Tool, Tool, User,
        ];
        record.prompt = roles
            .iter()
            .zip("abcdefghi".chars())
            .map(|(role, text)| RecordedMessage {
                marks: Some(vec![1]),
                ..message(*role, &[(&text.to_string(), 10)], &mut spans)
            })
            .collect();
        let joined = RecordedPrompt::of(&record, &spans, "bedrock").expect("all texts are kept");
        let texts: Vec<_> = joined
            .messages()
            .iter()
            .map(|message| message.text.to_owned())
            .collect();
        assert_eq!(texts, ["a", "b", "cde", "f", "g", "h", "i"]);
        assert_eq!(
            joined.roles(),
            [Tools, System, User, Assistant, Tool, Tool, User]
        );
        let marks = joined.marks().expect("recorded");
        let places: Vec<_> = marks.iter().map(|(at, mark)| (*at, mark.bytes)).collect();
        assert_eq!(places[2..5], [(2, 1), (2, 2), (2, 3)]);
        let apart = RecordedPrompt::of(&record, &spans, "anthropic").expect("all texts are kept");
        assert_eq!(apart.messages().len(), roles.len());
    }

    #[test]
    fn blocks_are_told_apart_by_where_they_stood_in_the_body() {
        let mut spans = SpanStore::default();
        let blocks = [("ab", 10), ("cd", 12), ("", 14), ("ef", 20), ("", 30)];
        let mut record = testing::blank("dev", 1);
        record.prompt = vec![
            message(Role::System, &blocks, &mut spans),
            message(Role::User, &blocks, &mut spans),
        ];
        let as_sent = RecordedPrompt::of(&record, &spans, "openai-chat").unwrap();
        assert_eq!(texts(&as_sent), [["abcd", "ef", ""], ["abcd", "ef", ""]]);
        let translated = RecordedPrompt::of(&record, &spans, "anthropic").unwrap();
        assert_eq!(texts(&translated), [vec!["abcdef"], vec!["abcd", "ef"]]);
        assert_eq!(RecordedPrompt::of(&record, &SpanStore::default(), ""), None);
    }
}
