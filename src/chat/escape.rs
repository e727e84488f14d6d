//! Text as it stands between the quotes of a JSON string.

/// Appends `text` as it stands inside a JSON string.
pub(crate) fn escape(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.reserve(text.len());
    let mut rest = text;
    while let Some(at) = first_special(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let byte = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0C => out.push_str("\\f"),
            _ => {
                out.push_str("\\u00");
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
    out.push_str(rest);
}

/// Where the first byte stands that cannot be in a JSON string as it is.
fn first_special(bytes: &[u8]) -> Option<usize> {
    let (blocks, _) = bytes.as_chunks::<32>();
    let clean = blocks.iter().take_while(|block| !any_special(block));
    let clean = clean.count() * 32;
    let further = bytes[clean..].iter().position(|&byte| is_special(byte))?;
    Some(clean + further)
}

/// Whether one of these is. Without a branch for each all are compared at once, which
/// makes long prompts, of which few bytes are special, several times as fast to write.
fn any_special(block: &[u8; 32]) -> bool {
    let any = |any, &byte: &u8| any | u8::from(is_special(byte));
    block.iter().fold(0, any) != 0
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_written_as_the_library_does_wherever_it_stands() {
        for special in (0..=0x22)
            .map(char::from)
            .chain(['\\', '/', '\u{7f}', 'é', '😀'])
        {
            for at in 0..100 {
                let text = format!("{}{special}{}", "a".repeat(at), "b".repeat(40));
                let mut written = String::new();
                escape(&text, &mut written);
                let expected = serde_json::to_string(&text).expect("a string");
                assert_eq!(format!("\"{written}\""), expected, "{special:?} at {at}");
            }
        }
    }
}
