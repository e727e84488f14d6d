//! Text as the modelled program counts it: in UTF-16 code units.
//!
//! Every threshold of that program is a number of code units, and its trimming
//! knows the white space of ECMAScript, which is neither Unicode's nor ASCII's.
//! Where a cut falls between the halves of a surrogate pair, the half that is
//! left becomes U+FFFD, which is also what a lone surrogate hashes as.

use std::borrow::Cow;

/// Length in UTF-16 code units.
pub(super) fn len16(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Whether ECMAScript counts `c` as white space or a line end. U+200B and
/// U+0085 are not.
pub(super) fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202f}'
                | '\u{205f}'
                | '\u{3000}'
                | '\u{feff}'
    )
}

/// `text` without ECMAScript white space at both ends.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `text` without ECMAScript white space at its end.
pub(super) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// `text` without ECMAScript white space at its start.
pub(super) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// The first `limit` code units of `text`; half a surrogate pair becomes U+FFFD.
pub(super) fn head16(text: &str, limit: usize) -> Cow<'_, str> {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        let next = used + c.len_utf16();
        if next > limit {
            return if used < limit {
                Cow::Owned(format!("{}\u{fffd}", &text[..at]))
            } else {
                Cow::Borrowed(&text[..at])
            };
        }
        used = next;
    }
    Cow::Borrowed(text)
}

/// `text` with the five characters of XML escaped.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            other => out.push(other),
        }
    }
    out
}

/// JSON text with every escaped surrogate that has no partner replaced by
/// `\ufffd`, so that a parser that insists on Unicode reads it.
///
/// Lengths in code units and hashes stay what they were, since a lone surrogate
/// is one unit and is encoded as U+FFFD.
pub fn repair_surrogates(json: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        let here = at + found;
        let Some(unit) = escaped_unit(json, here) else {
            at = here + 1 + json[here + 1..].chars().next().map_or(0, char::len_utf8);
            continue;
        };
        let paired = matches!(unit, 0xd800..=0xdbff)
            && matches!(escaped_unit(json, here + 6), Some(0xdc00..=0xdfff));
        if paired {
            at = here + 12;
            continue;
        }
        at = here + 6;
        if matches!(unit, 0xd800..=0xdfff) {
            out.push_str(&json[copied..here]);
            out.push_str("\\ufffd");
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[copied..]);
    Cow::Owned(out)
}

/// The unit of a `\uXXXX` escape that stands at byte `at`.
fn escaped_unit(json: &str, at: usize) -> Option<u32> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimming_knows_ecmascript_white_space_only() {
        let cases = [
            ("\u{feff}\u{a0}a\u{3000}\u{2029}", "a"),
            ("\u{200b}a\u{85}", "\u{200b}a\u{85}"),
            (" \r\n\u{b}\u{c} ", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(trim(text), expected);
        }
        assert_eq!((trim_start(" a "), trim_end(" a ")), ("a ", " a"));
    }

    #[test]
    fn lengths_and_cuts_are_in_code_units() {
        assert_eq!(len16("aä🌱"), 4);
        let cases = [
            ("ab🌱c", 2, "ab"),
            ("ab🌱c", 3, "ab\u{fffd}"),
            ("ab🌱c", 4, "ab🌱"),
            ("ab", 9, "ab"),
        ];
        for (text, limit, expected) in cases {
            assert_eq!(head16(text, limit), expected, "{limit}");
        }
    }

    #[test]
    fn surrogates_without_a_partner_become_the_replacement_character() {
        let cases = [
            (r#""\ud83c\udf31""#, "🌱"),
            (r#""\ud83c""#, "\u{fffd}"),
            (r#""a\udf31\ud83cb""#, "a\u{fffd}\u{fffd}b"),
            (r#""\\ud83c""#, "\\ud83c"),
            (r#""ä\\\ud83c""#, "ä\\\u{fffd}"),
        ];
        for (json, expected) in cases {
            let read: String = serde_json::from_str(&repair_surrogates(json)).unwrap();
            assert_eq!(read, expected, "{json}");
        }
    }
}
