//! Events of a stream that differ from an earlier one in a text alone.
//!
//! Most events of most streams are such. What stands before and behind the text is
//! the same bytes again, and to compare bytes costs a small part of what it costs to
//! read them as JSON.

use memchr::memchr;

/// What stands around the text of an event that has been read as JSON.
#[derive(Debug, Default)]
pub(super) struct Alike {
    before: String,
    behind: String,
}

impl Alike {
    /// Remembers an event whose meaning is `text`, which is a part of `data`: what
    /// stands between the quotes of a JSON string. A text from elsewhere, as one with
    /// escapes is, is not remembered, and neither is an event of several lines.
    pub(super) fn learn(&mut self, data: &str, text: &str) {
        let start = (text.as_ptr() as usize).wrapping_sub(data.as_ptr() as usize);
        let around = data.get(..start).zip(
            start
                .checked_add(text.len())
                .and_then(|end| data.get(end..)),
        );
        let Some((before, behind)) = around else {
            return;
        };
        let one_line = memchr(b'\n', data.as_bytes()).is_none();
        if one_line && before.ends_with('"') && behind.starts_with('"') {
            before.clone_into(&mut self.before);
            behind.clone_into(&mut self.behind);
        }
    }

    /// The text of an event that is like the remembered one but for its text. `None`:
    /// it may be anything.
    pub(super) fn text<'d>(&self, data: &'d str) -> Option<&'d str> {
        let (text, length) = self.start(data.as_bytes())?;
        (length == data.len()).then_some(text)
    }

    /// The text and the length of such an event at the start of `bytes`. It has one line.
    pub(super) fn start<'b>(&self, bytes: &'b [u8]) -> Option<(&'b str, usize)> {
        if self.before.is_empty() {
            return None;
        }
        let rest = bytes.strip_prefix(self.before.as_bytes())?;
        // Between quotes of JSON only these mean something else than themselves.
        let plain = |byte: u8| byte != b'"' && byte != b'\\' && byte >= 0x20;
        let end = rest.iter().position(|&byte| !plain(byte))?;
        let (text, behind) = rest.split_at(end);
        if !behind.starts_with(self.behind.as_bytes()) {
            return None;
        }
        let length = self.before.len() + end + self.behind.len();
        Some((std::str::from_utf8(text).ok()?, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn learned() -> Alike {
        let data = r#"{"a":1,"text":"one","b":[{"text":"x"}]}"#;
        let mut alike = Alike::default();
        alike.learn(data, &data[15..18]);
        alike
    }

    proptest! {
        #[test]
        fn what_is_taken_for_the_text_is_what_json_says(
            text in r#"[ -~\n\u{e9}]{0,12}|[a-z\\"]{0,8}|one","text":"two"#,
            end in r#"","b":\[\{"text":"x"\}\]\}|","b":1\}|"\}"#,
        ) {
            let data = format!(r#"{{"a":1,"text":"{text}{end}"#);
            if let Some(taken) = learned().text(&data) {
                let value: Value = serde_json::from_str(&data).expect("JSON");
                prop_assert_eq!(value["text"].as_str(), Some(taken));
                prop_assert_eq!(&value["b"][0]["text"], "x");
            }
        }
    }

    #[test]
    fn only_what_is_the_same_but_for_a_plain_text_is_alike() {
        let alike = learned();
        for (text, expected) in [
            ("", Some("")),
            ("two é", Some("two é")),
            (r"two\n", None),
            (r#"two","c":""#, None),
            ("two\n", None),
        ] {
            let data = format!(r#"{{"a":1,"text":"{text}","b":[{{"text":"x"}}]}}"#);
            assert_eq!(alike.text(&data), expected, "{text}");
        }
        for other in [
            r#"{"a":2,"text":"two","b":[{"text":"x"}]}"#,
            r#"{"a":1,"text":"two","b":[{"text":"y"}]}"#,
            r#"{"a":1,"text":""#,
            "",
        ] {
            assert_eq!(alike.text(other), None, "{other}");
        }
    }

    #[test]
    fn one_at_the_start_of_more_is_found_with_its_length() {
        let data = r#"{"a":1,"text":"two \u{e9}","b":[{"text":"x"}]}"#.replace("\\u{e9}", "\u{e9}");
        for more in ["", "\n\n", "\n\ndata: {}", "}"] {
            let bytes = format!("{data}{more}");
            let expected = Some(("two \u{e9}", data.len()));
            assert_eq!(learned().start(bytes.as_bytes()), expected, "{more:?}");
        }
        let cut = &data.as_bytes()[..data.len() - 1];
        assert_eq!(learned().start(cut), None);
        let mut spoilt = data.into_bytes();
        spoilt[20] = 0xFF;
        assert_eq!(learned().start(&spoilt), None, "no text");
    }

    #[test]
    fn a_text_from_elsewhere_is_not_remembered() {
        let mut alike = Alike::default();
        for (data, text) in [(r#"{"text":"one"}"#, "one"), (r#""one""#, ""), ("", "one")] {
            let elsewhere = text.to_owned();
            alike.learn(data, &elsewhere);
            assert_eq!(alike.text(r#"{"text":"one"}"#), None, "{data}");
        }
        let lines = "{\n\"text\":\"one\"}";
        alike.learn(lines, &lines[10..13]);
        assert_eq!(alike.text(lines), None, "two lines");
        let data = "one";
        alike.learn(data, &data[1..2]);
        assert_eq!(alike.text("oxe"), None, "no quotes around it");
    }
}
