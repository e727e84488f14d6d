//! A targets file as a message may quote it: without values that may be secret.
//!
//! A mistake is shown with the lines around it, and any of them may hold a key, be
//! it where none belongs. So only the values of known, innocent keys are shown;
//! all others, and comments, become asterisks of the same length, so that places
//! stay right. It works on text, since the file may be no YAML at all.

use crate::scenario::{Mistake, ScenarioError};
use miette::NamedSource;
use std::sync::Arc;

/// Keys whose values say nothing secret.
const SHOWN: &[&str] = &[
    "preset",
    "url",
    "model",
    "dialect",
    "wire",
    "ca",
    "proxy",
    "cache_model",
    "lifetime",
    "prices",
    "input",
    "read",
    "write",
    "write_long",
    "output",
    "requests_per_minute",
    "tokens_per_minute",
    "metrics",
    "tools_first",
    "salt",
    "affinity",
    "header",
    "field",
    "tolerance",
    "unreliable",
    "absent_means_zero",
    "evidence",
];

/// The error with the file's text masked.
pub(super) fn masked(error: ScenarioError) -> ScenarioError {
    match error {
        ScenarioError::Mistake {
            mut mistake,
            text,
            at,
        } => {
            if let Mistake::WrongType { found, .. } = &mut *mistake {
                // It may quote the value.
                found.take_if(|found| found.contains('`'));
            }
            let shown = NamedSource::new(text.name(), mask(text.inner()));
            ScenarioError::Mistake {
                mistake,
                text: Arc::new(shown),
                at,
            }
        }
        read @ ScenarioError::Read { .. } => read,
    }
}

/// The text with everything masked that may be secret; as many bytes as before.
fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut shown = false;
    for line in text.split_inclusive('\n') {
        let body = line.trim_start_matches([' ', '\t', '-']);
        out.push_str(&line[..line.len() - body.len()]);
        if body.starts_with(['{', '[']) {
            flow(body, shown, &mut out);
        } else if let Some((key, rest)) = pair(body) {
            shown = SHOWN.contains(&bare(key));
            out.push_str(key);
            value(rest, shown, &mut out);
        } else {
            // A value that goes on, or an element of a list.
            value(body, shown, &mut out);
        }
    }
    out
}

/// A key with its colon, and what follows it.
fn pair(text: &str) -> Option<(&str, &str)> {
    let quoted = text
        .chars()
        .next()
        .filter(|first| matches!(first, '"' | '\''));
    let from = match quoted {
        Some(quote) => text[1..].find(quote)? + 2,
        None => 0,
    };
    let mut colons = text[from..].match_indices(':').map(|(at, _)| from + at + 1);
    let end = colons.find(|&end| {
        let next = text[end..].chars().next();
        next.is_none_or(char::is_whitespace) || (quoted.is_some() && end == from + 1)
    })?;
    let (key, rest) = text.split_at(end);
    (!key.starts_with('#') && !key.contains([' ', '/'])).then_some((key, rest))
}

fn bare(key: &str) -> &str {
    key.trim_matches([':', '"', '\'', ' '])
}

/// A value up to the line's end.
fn value(text: &str, shown: bool, out: &mut String) {
    if text.trim_start().starts_with(['{', '[']) {
        return flow(text, shown, out);
    }
    let comment = text.find(" #").map_or(text.len(), |at| at + 1);
    let (said, comment) = if text.starts_with('#') {
        text.split_at(0)
    } else {
        text.split_at(comment)
    };
    if shown {
        address(said, out);
    } else {
        stars(said, out);
    }
    stars(comment, out);
}

/// Maps and lists in one line: keys stay, and values of innocent keys.
fn flow(text: &str, mut shown: bool, out: &mut String) {
    let outer = shown;
    let mut rest = text;
    let mut opens = true;
    while let Some(first) = rest.chars().next() {
        if matches!(
            first,
            '{' | '[' | '}' | ']' | ',' | ' ' | '\n' | '\r' | '\t'
        ) {
            opens |= matches!(first, '{' | ',');
            if first == ',' {
                shown = outer;
            }
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = scalar_end(rest);
        let Some((key, behind)) = pair(&rest[..end]).filter(|_| opens) else {
            said(&rest[..end], shown, out);
            rest = &rest[end..];
            continue;
        };
        shown = SHOWN.contains(&bare(key));
        opens = false;
        out.push_str(key);
        rest = &rest[key.len()..];
        // A map or list in its place comes next.
        if !behind.trim_start().is_empty() {
            said(behind, shown, out);
            rest = &rest[behind.len()..];
        }
    }
}

/// A scalar, shown or masked.
fn said(text: &str, shown: bool, out: &mut String) {
    if shown {
        address(text, out);
    } else {
        stars(text, out);
    }
}

/// Where a scalar, or a key with its value, ends inside a flow: quotes hold it together.
fn scalar_end(text: &str) -> usize {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, ',' | '}' | ']' | '{' | '[') if at > 0 => return at,
            _ => {}
        }
    }
    text.len()
}

/// Words of a value that is shown; of addresses neither user nor query.
fn address(text: &str, out: &mut String) {
    for word in text.split_inclusive([' ', '"', '\'', '\n', ',']) {
        let Some(start) = word.find("://").map(|at| at + 3) else {
            out.push_str(word);
            continue;
        };
        out.push_str(&word[..start]);
        let rest = &word[start..];
        let behind = rest.rfind('@').unwrap_or(0);
        stars(&rest[..behind], out);
        let query = rest[behind..]
            .find(['?', '#'])
            .map_or(rest.len(), |at| behind + at);
        out.push_str(&rest[behind..query]);
        stars(&rest[query..], out);
    }
}

/// Asterisks for everything but blanks, as many bytes as before.
fn stars(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            ' ' | '\n' | '\r' | '\t' => out.push(c),
            c => out.extend(std::iter::repeat_n('*', c.len_utf8())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_innocent_values_are_shown() {
        let cases = [
            (
                "url: http://u:p@h:1/v1?key=k\n",
                "url: http://***@h:1/v1******\n",
            ),
            ("  model: gpt-5.5 # sk-1\n", "  model: gpt-5.5 * ****\n"),
            (
                "headers: {Authorization: Bearer abc}",
                "headers: {Authorization: ****** ***}",
            ),
            (
                "headers: {x-a: \"b, c: d\", url: plain}",
                "headers: {x-a: *** ** **, url: plain}",
            ),
            (
                "  Authorization: Bearer a: b",
                "  Authorization: ****** ** *",
            ),
            ("key_env: sk-abc-é", "key_env: *********"),
            ("  - sk-abc\n", "  - ******\n"),
            ("# Authorization: Bearer abc", "* ************** ****** ***"),
            (
                "x-secret: >\n  sk-abc\nmodel: m",
                "x-secret: *\n  ******\nmodel: m",
            ),
            ("\"api-key\": \"sk\"", "\"api-key\": ****"),
            (
                "{\"targets\": {\"a\": {\"url\": \"http://h\", \"token\": \"sk\"}}}",
                "{\"targets\": {\"a\": {\"url\": \"http://h\", \"token\": ****}}}",
            ),
            (
                "metrics: [http://u:p@h/m, http://h/m]",
                "metrics: [http://***@h/m, http://h/m]",
            ),
            (
                "proxy: http://user:sec/ret@h",
                "proxy: http://************@h",
            ),
            ("modle: x", "modle: *"),
            (
                "targets: {mine: {url: http://h, headers: {a: b, sk}}}",
                "targets: {mine: {url: http://h, headers: {a: *, **}}}",
            ),
            ("", ""),
            ("{", "{"),
            ("\"", "*"),
        ];
        for (text, expected) in cases {
            assert_eq!(mask(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn places_stay_where_they_are(text in "[a-z:{}\\[\\],\"'# \\né@/?-]{0,60}") {
            let masked = mask(&text);
            proptest::prop_assert_eq!(masked.len(), text.len());
            let ends = |text: &str| text.match_indices('\n').map(|(at, _)| at).collect::<Vec<_>>();
            proptest::prop_assert_eq!(ends(&masked), ends(&text));
        }
    }
}
