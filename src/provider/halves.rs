//! JSON whose strings hold one half of a character that UTF-16 writes as two: what a
//! server sends that cuts text where it likes.

use serde_json::Value;
use std::ops::Range;

/// Length of an escape: `\ud83d`.
const ESCAPE: usize = 6;

/// The value of a text. A half of a character whose other half does not follow it becomes
/// U+FFFD, as bytes that are no UTF-8 do.
///
/// # Errors
///
/// Where it is no JSON all the same.
pub(super) fn parse(json: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(json).or_else(|error| {
        let mended = mended(json).ok_or(error)?;
        serde_json::from_slice(&mended)
    })
}

/// The text with its lone halves replaced; `None` where it has none.
fn mended(json: &[u8]) -> Option<Vec<u8>> {
    let mut mended = None;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', json.get(at..)?) {
        at += found;
        let first = half(json, at);
        let second = half(json, at + ESCAPE);
        at += match (first, second) {
            (Some(first), Some(second)) if HIGH.contains(&first) && LOW.contains(&second) => {
                2 * ESCAPE
            }
            (Some(_), _) => {
                let mended = mended.get_or_insert_with(|| json.to_vec());
                mended[at..at + ESCAPE].copy_from_slice(br"\ufffd");
                ESCAPE
            }
            // Whatever stands behind a backslash is no beginning of another escape.
            (None, _) => 2,
        };
    }
    mended
}

/// First halves.
const HIGH: Range<u16> = 0xD800..0xDC00;
/// Second halves.
const LOW: Range<u16> = 0xDC00..0xE000;

/// The half of a character that is escaped at this place.
fn half(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE)?.strip_prefix(br"\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (HIGH.contains(&unit) || LOW.contains(&unit)).then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_without_its_other_one_is_replaced_and_nothing_else_is() {
        let cases = [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ude00b""#, "\u{fffd}b"),
            (r#""\ud83d\ude00\ud83d""#, "\u{1f600}\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\\ud83d \ud83d\n""#, "\\ud83d \u{fffd}\n"),
            (r#""\ud83d\\ude00""#, "\u{fffd}\\ude00"),
            (r#""\u00e9""#, "é"),
        ];
        for (json, expected) in cases {
            let value = parse(json.as_bytes());
            assert_eq!(value.ok(), Some(Value::from(expected)), "{json}");
        }
        for json in [
            r#""\ud83"#,
            r#""\u+83d""#,
            "\"a\\",
            r#"{"a":}"#,
            r#"{"a": "\ud83d"#,
        ] {
            assert!(parse(json.as_bytes()).is_err(), "{json}");
        }
    }
}
