//! Pieces of rendering that several strategies share.
//!
//! Invariants: text that is not changed is shared, never copied; a separator is
//! a span of its own and belongs to the source that follows it; text from
//! outside cannot close a block.

use super::configuration::Reasoning;
use super::phrases::Phrases;
use super::registry;
use super::view::{AssistantTurn, Attachment, Note, Round};
use crate::chat::{
    Block, Class, Content, Hints, Image, MarkerRule, Message, Origin, Role, Span, Text, ToolCall,
};
use std::sync::Arc;

/// Joins `items` with `separator`, leaving out those without any text.
pub fn join(separator: &str, items: impl IntoIterator<Item = Vec<Span>>) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for item in items {
        append(&mut out, separator, item);
    }
    out
}

/// Appends `item` to `out`, with `separator` between them where both have text.
pub fn append(out: &mut Vec<Span>, separator: &str, item: Vec<Span>) {
    let Some(first) = item.iter().find(|span| !span.text.is_empty()) else {
        return;
    };
    if !out.is_empty() {
        out.push(Span {
            text: Text::from(separator),
            ..first.clone()
        });
    }
    out.extend(item.into_iter().filter(|span| !span.text.is_empty()));
}

/// The same text without white space at either end. Spans that are nothing but
/// such white space go; one with some of it is copied.
pub fn trim(mut spans: Vec<Span>) -> Vec<Span> {
    let blank = |span: &Span| span.text.trim().is_empty();
    let start = spans.iter().position(|span| !blank(span));
    let end = spans.iter().rposition(|span| !blank(span));
    let (Some(start), Some(end)) = (start, end) else {
        return Vec::new();
    };
    spans.truncate(end + 1);
    spans.drain(..start);
    if let Some(first) = spans.first_mut()
        && first.text.trim_start().len() < first.text.len()
    {
        first.text = Text::from(first.text.trim_start());
    }
    if let Some(last) = spans.last_mut()
        && last.text.trim_end().len() < last.text.len()
    {
        last.text = Text::from(last.text.trim_end());
    }
    spans
}

/// The same spans with another class.
pub fn reclass(mut spans: Vec<Span>, class: Class) -> Vec<Span> {
    for span in &mut spans {
        span.class = class;
    }
    spans
}

/// `text` in which nothing opens or closes the element `tag`: the `<` of every
/// such place becomes `&lt;`. Shared where there is no such place.
///
/// Blanks and a slash behind the `<` and the case of letters make no difference.
pub fn escape(text: &Text, tag: &str) -> Text {
    let mut out = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices('<') {
        let rest = text.get(at + 1..).unwrap_or_default();
        let rest = rest.trim_start().trim_start_matches('/').trim_start();
        let names = rest
            .get(..tag.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(tag));
        if names {
            out.push_str(text.get(copied..at).unwrap_or_default());
            out.push_str("&lt;");
            copied = at + 1;
        }
    }
    if copied == 0 {
        return text.clone();
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Text::from(out)
}

/// What `attachments` say, as text: a heading, then each with its name. Pictures
/// are left out (see [`images`]). Empty where nothing is left.
pub fn file_context(attachments: &[Attachment], phrases: &Phrases) -> Vec<Span> {
    let mut files = join(
        "\n\n",
        attachments.iter().map(|item| attachment(item, phrases)),
    );
    if let Some(first) = files.first() {
        let heading = Span {
            text: Text::from(format!("{}\n\n", phrases.get("files.heading"))),
            ..first.clone()
        };
        files.insert(0, heading);
    }
    files
}

/// The key of an attachment, which is the origin of its spans.
pub fn attachment_key(attachment: &Attachment) -> String {
    match attachment {
        Attachment::Note { note, .. } => format!("notes/{}", note.path),
        Attachment::Url { url, .. } => format!("urls/{url}"),
        Attachment::Tab { url, .. } => format!("tabs/{url}"),
        Attachment::Selection { source, .. } => format!("selections/{source}"),
        Attachment::Tag { tag, .. } => format!("tags/{tag}"),
        Attachment::Folder { path, .. } => format!("folders/{path}"),
        Attachment::Image { name, .. } => format!("images/{name}"),
    }
}

/// One attachment as text, under a heading with its name; nothing for a picture.
pub fn attachment(attachment: &Attachment, phrases: &Phrases) -> Vec<Span> {
    let key = attachment_key(attachment);
    let active = |active: bool| {
        if active {
            phrases.get("files.active")
        } else {
            ""
        }
    };
    match attachment {
        Attachment::Note {
            note: it,
            active: on,
        } => note(&key, it, active(*on), phrases),
        Attachment::Url { url, text } => {
            titled(&key, &format!("{}{url}", phrases.get("files.page")), text)
        }
        Attachment::Tab {
            url,
            text,
            active: on,
        } => {
            let title = format!("{}{url}{}", phrases.get("files.tab"), active(*on));
            titled(&key, &title, text)
        }
        Attachment::Selection {
            source,
            lines,
            text,
            web: _,
        } => {
            let lines = lines.map_or_else(String::new, |(first, last)| {
                format!("{}{first}-{last}", phrases.get("files.lines"))
            });
            let title = format!("{}{source}{lines}", phrases.get("files.selection"));
            titled(&key, &title, text)
        }
        Attachment::Tag { tag, notes } => group(
            &key,
            &format!("{}#{tag}", phrases.get("files.tag")),
            notes,
            phrases,
        ),
        Attachment::Folder { path, notes } => group(
            &key,
            &format!("{}{path}", phrases.get("files.folder")),
            notes,
            phrases,
        ),
        Attachment::Image { .. } => Vec::new(),
    }
}

fn titled(key: &str, title: &str, text: &Text) -> Vec<Span> {
    vec![
        registry::span(key, format!("# {title}\n")),
        registry::span(key, text.clone()),
    ]
}

fn note(key: &str, note: &Note, mark: &str, phrases: &Phrases) -> Vec<Span> {
    let title = format!("\"{}\"{mark}", note.path);
    let text = note.text.clone();
    let text = text.unwrap_or_else(|| Text::from(phrases.get("files.unreadable")));
    titled(key, &title, &text)
}

fn group(key: &str, title: &str, notes: &[Note], phrases: &Phrases) -> Vec<Span> {
    let head = vec![registry::span(key, format!("# {title}"))];
    let notes = notes.iter().map(|it| {
        let key = format!("notes/{}", it.path);
        note(&key, it, "", phrases)
    });
    join("\n\n", std::iter::once(head).chain(notes))
}

/// The pictures among `attachments`, as blocks.
pub fn images(attachments: &[Attachment]) -> impl Iterator<Item = Block> {
    attachments.iter().filter_map(|item| match item {
        Attachment::Image {
            media_type, data, ..
        } => Some(Block {
            content: Content::Image(Image {
                media_type: Arc::clone(media_type),
                data: registry::span(&attachment_key(item), data.clone()),
            }),
            marker: None,
        }),
        _ => None,
    })
}

/// The messages of one round of a tool loop: the model's calls and a result each.
pub fn round(round: &Round) -> Vec<Message> {
    let span = |origin: &str, text: &Text| Span::new(origin, Class::Turn, text.clone());
    let text = Some(&round.text).filter(|text| !text.is_empty());
    let text = text.map(|text| Block::text(vec![span(Origin::REPLY, text)]));
    let calls = round.calls.iter().map(|call| Block {
        content: Content::Call(ToolCall {
            id: Arc::clone(&call.id),
            name: Span::new(Origin::TOOL_CALL, Class::Turn, &*call.name),
            arguments: span(Origin::TOOL_CALL, &call.arguments),
        }),
        marker: None,
    });
    let said = Message {
        role: Role::Assistant,
        blocks: text.into_iter().chain(calls).collect(),
        tool_call_id: None,
    };
    let results = round.calls.iter().map(|call| Message {
        role: Role::Tool,
        blocks: vec![Block::text(vec![span(Origin::TOOL_RESULT, &call.result)])],
        tool_call_id: Some(Arc::clone(&call.id)),
    });
    std::iter::once(said).chain(results).collect()
}

/// An answer of the model, word for word; `None` where it said nothing at all.
pub fn answer(turn: &AssistantTurn, reasoning: Reasoning) -> Option<Message> {
    let span = |text: &Text| vec![Span::new(Origin::REPLY, Class::Turn, text.clone())];
    let thought = turn.reasoning.as_ref().filter(|text| !text.is_empty());
    let thought = thought.filter(|_| reasoning == Reasoning::Keep);
    let thought = thought.map(|text| Block {
        content: Content::Reasoning(span(text)),
        marker: None,
    });
    let text = Some(&turn.text).filter(|text| !text.is_empty());
    let text = text.map(|text| Block::text(span(text)));
    let blocks: Vec<Block> = thought.into_iter().chain(text).collect();
    (!blocks.is_empty()).then_some(Message {
        role: Role::Assistant,
        blocks,
        tool_call_id: None,
    })
}

/// What `markers` ask of the provider beside the content. Keys and headers that
/// pin a conversation are the conversation's to set.
pub fn hints(markers: MarkerRule) -> Hints {
    Hints {
        explicit_cache: markers == MarkerRule::OpenaiExplicit,
        ..Hints::default()
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
