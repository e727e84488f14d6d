//! Entries: what the application says inside a prompt.
//!
//! ```text
//! <ctx artifacts 5f0c2a91>       a text, under the first digits of its SHA-256
//! ...
//! </ctx>
//! <ctx note "spec.md" 5f0c2a91/> the same text again, under whatever name
//! <ctx artifacts off/>           no longer in force
//! ```
//!
//! Invariant: no text from outside can open or close an entry, since every `<`
//! in front of the tag's name is escaped in it; names are quoted and hold no
//! quote, bracket or line end.

use crate::chat::{Class, Origin, Span, Text};
use std::borrow::Cow;

const TAG: &str = "ctx";

/// Texts shorter than this are always sent whole: a reference is no shorter.
const WORTH_A_REFERENCE: usize = 120;

/// The code under which `text` can be referred to; `None` where that does not pay.
pub(super) fn code(text: &Text) -> Option<String> {
    (text.len() >= WORTH_A_REFERENCE).then(|| {
        let [a, b, c, d, ..] = text.digest().0;
        format!("{a:02x}{b:02x}{c:02x}{d:02x}")
    })
}

/// `text` with every `<` escaped that could begin a tag of ours; the same text,
/// shared, where there is none.
pub(super) fn clean(text: &Text) -> Text {
    match escaped(text) {
        Cow::Borrowed(_) => text.clone(),
        Cow::Owned(changed) => Text::from(changed),
    }
}

fn escaped(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices('<') {
        if opens_or_closes(&text[at + 1..]) {
            out.push_str(&text[done..at]);
            out.push_str("&lt;");
            done = at + 1;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// Whether what follows a `<` reads as our tag, however it is written.
fn opens_or_closes(rest: &str) -> bool {
    let name = rest.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
    let head = name.get(..TAG.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(TAG))
}

/// A name from outside, in quotes.
pub(super) fn quoted(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| match c {
            '"' => '\'',
            '<' => '(',
            '>' => ')',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect();
    format!("\"{plain}\"")
}

/// Spans of a message as they come.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// What was written so far.
    pub(super) spans: Vec<Span>,
}

impl Entries {
    /// A stretch that is no entry.
    pub(super) fn plain(&mut self, origin: &str, class: Class, text: impl Into<Text>) {
        self.spans.push(Span::new(origin, class, text));
    }

    /// An entry with a text.
    pub(super) fn text(&mut self, source: Source<'_>, head: &str, text: &Text) {
        let body = clean(text);
        let end = if body.ends_with('\n') {
            "</ctx>\n"
        } else {
            "\n</ctx>\n"
        };
        self.structure(source, format!("<ctx {head}>\n"));
        let class = source.class;
        self.spans
            .push(Span::new(source.origin.clone(), class, body));
        self.structure(source, end);
    }

    /// An entry without one.
    pub(super) fn empty(&mut self, source: Source<'_>, head: &str) {
        self.structure(source, format!("<ctx {head}/>\n"));
    }

    /// Everything that `other` tells, below what was told here.
    pub(super) fn below(&mut self, mut other: Self) {
        if let (Some(last), Some(first)) = (self.spans.last(), other.spans.first())
            && !last.text.ends_with('\n')
        {
            let (origin, class) = (first.origin.clone(), first.class);
            self.spans.push(Span::new(origin, class, "\n"));
        }
        self.spans.append(&mut other.spans);
    }

    fn structure(&mut self, source: Source<'_>, text: impl Into<Text>) {
        let span = Span::new(source.origin.clone(), source.class, text);
        self.spans.push(span);
    }
}

/// Whose entry it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) origin: &'a Origin,
    pub(super) class: Class,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_open_or_close_an_entry() {
        for (text, expected) in [
            ("a < b", "a < b"),
            ("</ctx>", "&lt;/ctx>"),
            ("x </ CTX> <ctx memory>", "x &lt;/ CTX> &lt;ctx memory>"),
            ("<\n/ctx", "&lt;\n/ctx"),
            ("<c", "<c"),
            ("<é", "<é"),
            ("<<ctx", "<&lt;ctx"),
        ] {
            assert_eq!(clean(&Text::from(text)).as_str(), expected);
        }
        let harmless = Text::from("<div>");
        assert!(clean(&harmless).is_same(&harmless));
    }

    #[test]
    fn a_name_stays_within_its_quotes() {
        assert_eq!(quoted("a\"/>\n<ctx x"), "\"a'/) (ctx x\"");
    }

    #[test]
    fn short_texts_have_no_code() {
        assert_eq!(code(&Text::from("short")), None);
        let long = Text::from("a".repeat(120));
        assert_eq!(code(&long).map(|code| code.len()), Some(8));
    }
}
