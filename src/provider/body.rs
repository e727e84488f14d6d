//! Writes a request body and remembers where each span stands in it.
//!
//! The JSON is written once, from left to right, and nothing reads it again: the
//! byte range of a span is known because the writer has just written it. Fields
//! come in a fixed order, so the same prompt gives the same bytes.
//!
//! Invariants: `start..end` of a placed span is its JSON-escaped text without
//! the quotes (or, for [`BodyWriter::json`], the JSON itself), and the ranges of
//! the placed messages follow one another.

use super::{Body, RequestParams};
use crate::chat::{
    Block, CacheAsked, Class, Content, Origin, Part, PlacedMessage, PlacedSpan, Role, Span, Tool,
    ToolCall, Ttl, escape,
};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// A body under construction.
pub(super) struct BodyWriter<'a> {
    out: String,
    messages: Vec<PlacedMessage>,
    cache: CacheAsked,
    extra: &'a Map<String, Value>,
}

impl<'a> BodyWriter<'a> {
    /// Opens the body's object; `params.extra` will replace what it names. `bytes`
    /// are those of the prompt's texts, so that the body grows once at most.
    pub(super) fn new(params: &'a RequestParams, bytes: usize) -> Self {
        // Line ends and quotes are escaped, and there is something around the texts.
        let mut out = String::with_capacity(bytes + bytes / 16 + 512);
        out.push('{');
        Self {
            out,
            messages: Vec::new(),
            cache: CacheAsked::default(),
            extra: &params.extra,
        }
    }

    /// Writes the extra fields and closes the body. An extra field that is null
    /// is not written: it takes the field of that name out of the body.
    pub(super) fn finish(mut self) -> Body {
        for (name, value) in self.extra {
            if !value.is_null() {
                self.key(name);
                self.value(value);
            }
        }
        self.out.push('}');
        Body {
            text: self.out,
            messages: self.messages,
            cache: self.cache,
        }
    }

    /// Writes the name of a field of the body itself, unless the extra fields
    /// replace it: then it gives false and the value must not be written.
    pub(super) fn field(&mut self, name: &str) -> bool {
        let ours = !self.extra.contains_key(name);
        if ours {
            self.key(name);
        }
        ours
    }

    /// A field of the body itself with a short text.
    pub(super) fn text_field(&mut self, name: &str, text: &str) {
        if self.field(name) {
            self.string(text);
        }
    }

    /// A field of the body itself with any other value, as JSON.
    pub(super) fn json_field(&mut self, name: &str, json: &str) {
        if self.field(name) {
            self.out.push_str(json);
        }
    }

    /// Opens an object, as a value or an element.
    pub(super) fn object(&mut self) {
        self.separate();
        self.out.push('{');
    }

    /// Closes an object.
    pub(super) fn end_object(&mut self) {
        self.out.push('}');
    }

    /// Opens an array.
    pub(super) fn array(&mut self) {
        self.separate();
        self.out.push('[');
    }

    /// Closes an array.
    pub(super) fn end_array(&mut self) {
        self.out.push(']');
    }

    /// Writes the name of a field.
    pub(super) fn key(&mut self, name: &str) {
        self.string(name);
        self.out.push(':');
    }

    /// A field with a short text.
    pub(super) fn pair(&mut self, name: &str, text: &str) {
        self.key(name);
        self.string(text);
    }

    /// A field with any other value, as JSON.
    pub(super) fn pair_json(&mut self, name: &str, json: &str) {
        self.key(name);
        self.out.push_str(json);
    }

    /// Begins the next message as the provider renders it; the spans written
    /// from here on belong to it.
    pub(super) fn place(&mut self, role: Role) {
        self.messages.push(PlacedMessage {
            role,
            spans: Vec::new(),
            marks: Vec::new(),
            long_marks: Vec::new(),
        });
    }

    /// Notes a cache marker behind what was placed last. Of two at one place the one
    /// that lives longer counts.
    pub(super) fn mark(&mut self, ttl: Ttl) {
        let Some(message) = self.messages.last_mut() else {
            return;
        };
        let behind = message.spans.len();
        let note = |marks: &mut Vec<usize>| {
            if marks.last() != Some(&behind) {
                marks.push(behind);
            }
        };
        note(&mut message.marks);
        if ttl == Ttl::Hour {
            note(&mut message.long_marks);
        }
    }

    /// Notes what the body asks of the cache beside its markers.
    pub(super) fn asks(&mut self, cache: CacheAsked) {
        self.cache = cache;
    }

    /// Spans as one string.
    pub(super) fn spans(&mut self, part: Part, spans: &[Span]) {
        self.prefixed("", part, spans);
    }

    /// Spans as one string behind a prefix that belongs to no span.
    pub(super) fn prefixed(&mut self, prefix: &str, part: Part, spans: &[Span]) {
        self.separate();
        self.out.push('"');
        escape(prefix, &mut self.out);
        for span in spans {
            let start = self.out.len();
            self.out.push_str(span.text.json());
            self.placed(part, span, start);
        }
        self.out.push('"');
    }

    /// A span that is JSON itself, as it stands. A text that is no JSON goes out
    /// as a string, so that the body stays whole and the server says what is wrong.
    pub(super) fn json(&mut self, part: Part, span: &Span) {
        if serde_json::from_str::<IgnoredAny>(&span.text).is_err() {
            return self.spans(part, std::slice::from_ref(span));
        }
        self.separate();
        let start = self.out.len();
        self.out.push_str(&span.text);
        self.placed(part, span, start);
    }

    fn placed(&mut self, part: Part, span: &Span, start: usize) {
        if let Some(message) = self.messages.last_mut() {
            message.spans.push(PlacedSpan {
                span: span.clone(),
                part,
                start,
                end: self.out.len(),
            });
        }
    }

    fn string(&mut self, text: &str) {
        self.separate();
        self.out.push('"');
        escape(text, &mut self.out);
        self.out.push('"');
    }

    fn value(&mut self, value: &Value) {
        self.out.push_str(&value.to_string());
    }

    /// A comma, unless this is the first thing in its container or a value.
    fn separate(&mut self) {
        if !matches!(self.out.as_bytes().last(), Some(b'{' | b'[' | b':')) {
            self.out.push(',');
        }
    }
}

/// Notes the marker that a field of the body itself puts behind the last block:
/// automatic caching, which a target asks for by an extra field.
pub(super) fn top_level_marker(out: &mut BodyWriter<'_>, params: &RequestParams) {
    let asked = params.extra.get("cache_control");
    if let Some(asked) = asked.filter(|value| !value.is_null()) {
        out.mark(match asked.get("ttl").and_then(Value::as_str) {
            Some("1h") => Ttl::Hour,
            _ => Ttl::FiveMinutes,
        });
    }
}

/// The spans of the one text block that goes out as a plain string; `None`
/// where the blocks need a list (several, a marker, a picture).
pub(super) fn plain_text<'b>(blocks: &[&'b Block]) -> Option<&'b [Span]> {
    match blocks {
        [block] if block.marker.is_none() => match &block.content {
            Content::Text(spans) => Some(spans),
            _ => None,
        },
        _ => None,
    }
}

/// The name of a tool as a span of the tool list.
pub(super) fn tool_name(tool: &Tool) -> Span {
    Span::new(Origin::TOOLS, Class::Static, &*tool.name)
}

/// The calls among the blocks of an assistant message.
pub(super) fn calls(blocks: &[Block]) -> impl Iterator<Item = &ToolCall> {
    blocks.iter().filter_map(|block| match &block.content {
        Content::Call(call) => Some(call),
        _ => None,
    })
}

/// The reasoning among the blocks of an assistant message.
pub(super) fn reasoning(blocks: &[Block]) -> Vec<Span> {
    let spans = blocks.iter().filter_map(|block| match &block.content {
        Content::Reasoning(spans) => Some(spans),
        _ => None,
    });
    spans.flatten().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_comes_back_as_it_went_out_and_stands_where_it_is_said(
            texts in proptest::collection::vec(any::<String>(), 1..5),
        ) {
            let params = RequestParams::default();
            let mut writer = BodyWriter::new(&params, 0);
            let spans: Vec<Span> =
                texts.iter().map(|text| Span::new("s", Class::Static, text.as_str())).collect();
            writer.place(Role::User);
            writer.key("content");
            writer.spans(Part::Text, &spans);
            let body = writer.finish();
            let read: Value = serde_json::from_str(&body.text).expect("JSON");
            let all = texts.concat();
            prop_assert_eq!(read["content"].as_str(), Some(all.as_str()));
            for placed in &body.messages[0].spans {
                let quoted = format!("\"{}\"", &body.text[placed.start..placed.end]);
                let text: String = serde_json::from_str(&quoted).expect("escaped text");
                prop_assert_eq!(text.as_str(), placed.span.text.as_str());
            }
        }
    }

    #[test]
    fn extra_fields_go_last_replace_and_remove() {
        let extra = serde_json::json!({"b": [1], "c": null, "z": "y"});
        let params = RequestParams {
            extra: extra.as_object().expect("object").clone(),
            ..RequestParams::default()
        };
        let mut writer = BodyWriter::new(&params, 0);
        for name in ["a", "b", "c"] {
            writer.json_field(name, "0");
        }
        assert_eq!(writer.finish().text, r#"{"a":0,"b":[1],"z":"y"}"#);
    }

    #[test]
    fn what_is_no_json_does_not_break_the_body() {
        let params = RequestParams::default();
        let mut writer = BodyWriter::new(&params, 0);
        writer.place(Role::Tools);
        writer.key("a");
        writer.json(
            Part::ToolSchema,
            &Span::new("t", Class::Static, "{\"x\":1}"),
        );
        writer.key("b");
        writer.json(Part::ToolSchema, &Span::new("t", Class::Static, "{oops"));
        assert_eq!(writer.finish().text, r#"{"a":{"x":1},"b":"{oops"}"#);
    }
}
