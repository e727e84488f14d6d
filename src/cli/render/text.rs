//! `render --format text`: a request as a person reads it.
//!
//! Every span stands in a line of its own with its layer or part, class, size
//! and hash, and with what became of it since the request before; cache markers
//! stand where they were set. Behind the
//! first difference nothing is `unchanged`: a text that was there before has
//! moved, since a prefix cache cannot return it any more.

use crate::chat::{Digest, Part, PlacedMessage, PlacedSpan, Role};
use crate::cli::requests::Rendered;
use crate::tokens::{Encoder, o200k};
use crate::units::grouped;
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;

/// Longest excerpt of a span, in characters.
const EXCERPT: usize = 60;

/// What became of a span since the request before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// In the same place, and everything in front of it as well.
    Unchanged,
    /// There before, but behind the first difference or elsewhere.
    Moved,
    /// Not there before.
    New,
    /// There before and no more.
    Gone,
}

impl Change {
    fn word(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Moved => "moved",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }

    /// How a terminal shows it; stripped where there is none.
    fn style(self) -> &'static str {
        match self {
            Self::Unchanged => "\u{1b}[2m",
            Self::Moved => "\u{1b}[33m",
            Self::New => "\u{1b}[32m",
            Self::Gone => "\u{1b}[31m",
        }
    }
}

const BOLD: &str = "\u{1b}[1m";
const RESET: &str = "\u{1b}[0m";

/// A span of the request before, as far as a line needs it.
struct Line {
    role: Role,
    digest: Digest,
    /// Tokens of its text; 0 for a picture, which is not counted.
    tokens: usize,
    /// Whether a cache marker stands behind it.
    marked: bool,
    /// Everything behind the change, ready to print.
    rest: String,
}

/// Prints the requests of one conversation, each against the one before.
#[derive(Default)]
pub(super) struct Reader {
    before: Vec<Line>,
    /// Tokens by hash; a text is counted once.
    counted: HashMap<Digest, usize>,
}

impl Reader {
    /// The next request.
    pub(super) fn read(
        &mut self,
        scenario: &str,
        configuration: &str,
        rendered: &Rendered,
    ) -> String {
        let now = self.lines(&rendered.body.messages);
        let (changes, left) = changes(&self.before, &now);
        let mut out = head(scenario, configuration, rendered, &now);
        let gone: Vec<&Line> = left.iter().filter_map(|at| self.before.get(*at)).collect();
        out.push_str(&sums(&now, &changes, &gone));
        let mut role = None;
        for (line, change) in now.iter().zip(&changes) {
            if role != Some(line.role) {
                let _infallible = writeln!(out, "  [{}]", line.role.as_str());
                role = Some(line.role);
            }
            row(&mut out, *change, &line.rest);
            if line.marked {
                let _infallible = writeln!(out, "  {BOLD}---------  cache marker{RESET}");
            }
        }
        if !left.is_empty() {
            let _infallible = writeln!(out, "  [no longer in the request]");
        }
        for line in gone {
            row(&mut out, Change::Gone, &line.rest);
        }
        self.before = now;
        out.push('\n');
        out
    }

    fn lines(&mut self, messages: &[PlacedMessage]) -> Vec<Line> {
        let mut lines = Vec::new();
        for message in messages {
            for (at, placed) in message.spans.iter().enumerate() {
                let tokens = self.tokens(placed);
                lines.push(Line {
                    role: message.role,
                    digest: placed.span.text.digest(),
                    tokens: tokens.unwrap_or(0),
                    marked: message.marks.contains(&(at + 1)),
                    rest: rest(placed, tokens),
                });
            }
        }
        lines
    }

    /// Tokens of a span's text; `None` for a picture.
    fn tokens(&mut self, placed: &PlacedSpan) -> Option<usize> {
        if placed.part == Part::Image {
            return None;
        }
        let text = &placed.span.text;
        let count = self.counted.entry(text.digest());
        Some(*count.or_insert_with(|| o200k().encode(text).len()))
    }
}

fn head(scenario: &str, configuration: &str, rendered: &Rendered, now: &[Line]) -> String {
    let pending = &rendered.pending;
    let tokens: usize = now.iter().map(|line| line.tokens).sum();
    let mut out = format!(
        "{BOLD}{scenario} / {configuration}   turn {}.{}   {}{RESET}   {} tokens in texts, {} bytes\n",
        pending.turn,
        pending.request,
        pending.purpose,
        grouped(tokens as u64),
        grouped(rendered.body.text.len() as u64),
    );
    for event in &pending.events {
        let _infallible = writeln!(out, "  after: {} (line {})", event.label, event.line);
    }
    out
}

/// Tokens by what became of them since the request before; nothing for a first
/// request, in which everything is new.
fn sums(now: &[Line], changes: &[Change], gone: &[&Line]) -> String {
    let all = [Change::Unchanged, Change::Moved, Change::New];
    let sum = |wanted: Change| -> usize {
        let lines = now.iter().zip(changes);
        let lines = lines.filter(|(_, change)| **change == wanted);
        lines.map(|(line, _)| line.tokens).sum()
    };
    let mut parts: Vec<(Change, usize)> = all.map(|change| (change, sum(change))).to_vec();
    parts.push((Change::Gone, gone.iter().map(|line| line.tokens).sum()));
    if sum(Change::New) == now.iter().map(|line| line.tokens).sum::<usize>() {
        return String::new();
    }
    let shown = parts.iter().filter(|(_, tokens)| *tokens > 0);
    let shown = shown.map(|(change, tokens)| {
        let style = change.style();
        format!(
            "{style}{} {}{RESET}",
            grouped(*tokens as u64),
            change.word()
        )
    });
    format!("  {}\n", shown.collect::<Vec<_>>().join(", "))
}

fn rest(placed: &PlacedSpan, tokens: Option<usize>) -> String {
    let span = &placed.span;
    let tokens = tokens.map_or_else(|| "-".to_owned(), |count| grouped(count as u64));
    format!(
        "{:<28} {:<12} {tokens:>7} tok  {}  {}",
        span.origin,
        span.class.as_str(),
        &span.text.digest().to_string()[..8],
        excerpt(&span.text),
    )
}

fn row(out: &mut String, change: Change, rest: &str) {
    let style = change.style();
    let _infallible = writeln!(out, "  {style}{:<9}{RESET}  {rest}", change.word());
}

/// What became of each span of `now`, and which of `before` are left over. A text
/// that stands several times is matched as often as it was there.
fn changes(before: &[Line], now: &[Line]) -> (Vec<Change>, Vec<usize>) {
    let same = before
        .iter()
        .zip(now)
        .take_while(|(a, b)| (a.role, a.digest) == (b.role, b.digest))
        .count();
    let mut there: HashMap<Digest, VecDeque<usize>> = HashMap::new();
    for (at, line) in before.iter().enumerate().skip(same) {
        there.entry(line.digest).or_default().push_back(at);
    }
    let mut changes = vec![Change::Unchanged; same];
    changes.extend(now.iter().skip(same).map(|line| {
        let known = there.get_mut(&line.digest).and_then(VecDeque::pop_front);
        known.map_or(Change::New, |_| Change::Moved)
    }));
    let mut left: Vec<usize> = there.into_values().flatten().collect();
    left.sort_unstable();
    (changes, left)
}

fn excerpt(text: &str) -> String {
    // A long text is not read to its end for the sake of its first words.
    let head: String = text.chars().take(EXCERPT * 4).collect();
    let flat: String = head.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= EXCERPT && head.len() == text.len() {
        return flat;
    }
    let head: String = flat.chars().take(EXCERPT - 1).collect();
    format!("{head}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(role: Role, text: &str) -> Line {
        Line {
            role,
            digest: Digest::of(text.as_bytes()),
            tokens: text.len(),
            marked: false,
            rest: text.to_owned(),
        }
    }

    #[test]
    fn behind_the_first_difference_a_known_text_has_moved() {
        let before = [
            line(Role::System, "agent"),
            line(Role::User, "hi"),
            line(Role::Assistant, "hello"),
        ];
        let now = [
            line(Role::System, "agent"),
            line(Role::System, "artifacts"),
            line(Role::User, "hi"),
        ];
        let (found, left) = changes(&before, &now);
        assert_eq!(found, [Change::Unchanged, Change::New, Change::Moved]);
        assert_eq!(left, [2], "the answer is gone");
    }

    #[test]
    fn tokens_are_summed_by_what_became_of_them() {
        let before = [line(Role::System, "agent"), line(Role::User, "hi")];
        let now = ["agent", "artifacts"].map(|text| line(Role::System, text));
        let (found, left) = changes(&before, &now);
        let gone: Vec<&Line> = left.iter().map(|at| &before[*at]).collect();
        let shown = anstream::adapter::strip_str(&sums(&now, &found, &gone)).to_string();
        assert_eq!(shown, "  5 unchanged, 9 new, 2 gone\n");
        let (found, _) = changes(&[], &now);
        assert_eq!(sums(&now, &found, &[]), "", "a first request");
    }

    #[test]
    fn a_text_that_stands_once_more_is_new() {
        let before = [line(Role::User, "a"), line(Role::User, "end")];
        let now = ["a", "end", "b", "end"].map(|text| line(Role::User, text));
        let (found, left) = changes(&before, &now);
        assert_eq!(found[2..], [Change::New, Change::New]);
        assert!(left.is_empty());
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("a\n  b"), "a b");
        let long = "word ".repeat(1000);
        assert_eq!(excerpt(&long).chars().count(), EXCERPT);
    }
}
