//! How wide text is, and where it is broken into lines.

use super::letters::text_width;

/// Room for a fallback font that is wider than the shipped one: an SVG is shown
/// with whatever sans-serif font its reader has.
const SLACK: f64 = 1.10;

/// Width of a line of text in pixels, with room for a wider fallback font.
pub(super) fn width(text: &str, size: f64, bold: bool) -> f64 {
    text_width(text, size, bold) * SLACK
}

/// Breaks `text` into lines of at most `limit` pixels.
///
/// Breaks at blanks, else behind `-`, `_`, `/`, `.`, `:` or `,`, else anywhere. Nothing is left
/// out; a limit below one letter still puts one letter on each line. Always gives a line.
pub(super) fn wrap(text: &str, size: f64, bold: bool, limit: f64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for piece in pieces(text) {
        let mut joined = line.clone();
        joined.push_str(&piece);
        if width(joined.trim(), size, bold) <= limit {
            line = joined;
            continue;
        }
        push(&mut lines, &line);
        line = String::new();
        for letter in piece.trim_start().chars() {
            line.push(letter);
            if width(&line, size, bold) > limit && line.chars().count() > 1 {
                line.pop();
                push(&mut lines, &line);
                line = letter.to_string();
            }
        }
    }
    push(&mut lines, &line);
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn push(lines: &mut Vec<String>, line: &str) {
    if !line.trim().is_empty() {
        lines.push(line.trim().to_owned());
    }
}

/// Cuts behind every place where a line may end: not within a number, nor before its unit.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if let Some(last) = pieces.last_mut() {
            last.push(letter);
        }
        let next = letters.peek().copied().unwrap_or(' ');
        let ends = match letter {
            '.' | ',' | ':' => !next.is_ascii_digit(),
            '\u{a0}' => false,
            letter if letter.is_whitespace() => next != '%',
            letter => "-_/".contains(letter),
        };
        if ends {
            pieces.push(String::new());
        }
    }
    pieces
}

/// The widest of some lines, in pixels; 0 for none.
pub(super) fn widest(lines: &[String], size: f64) -> f64 {
    lines
        .iter()
        .map(|line| width(line, size, false))
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_text_loses_nothing_and_fits() {
        let cases = [
            "turn-context-with-a-very-long-name-that-someone-chose-for-it",
            "one two three four five six seven eight nine ten eleven twelve",
            "Donaudampfschifffahrtsgesellschaftskapitaenswitwenrente",
            "x",
            "From 70.4 % to 1,024 tokens, 2.41 ms",
        ];
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        for text in cases {
            for limit in [60.0, 120.0, 300.0] {
                let lines = wrap(text, 12.0, false, limit);
                assert_eq!(bare(&lines.concat()), bare(text));
                for line in lines {
                    assert!(width(&line, 12.0, false) <= limit, "{line} at {limit}");
                }
            }
        }
    }

    #[test]
    fn a_line_ends_neither_within_a_number_nor_before_its_sign() {
        let text = "reads 70.4 % of 12,500 tokens (model.name)";
        for limit in 60..300 {
            let lines = wrap(text, 12.0, false, f64::from(limit));
            for whole in ["70.4 %", "12,500"] {
                assert!(lines.iter().any(|line| line.contains(whole)), "{lines:?}");
            }
        }
    }

    #[test]
    fn letters_that_the_font_lacks_have_the_room_that_another_font_needs() {
        assert!(width("前缀缓存", 10.0, false) >= 40.0);
        assert!(width("iiii", 10.0, false) < 20.0);
    }

    #[test]
    fn an_empty_text_is_one_empty_line() {
        assert_eq!(wrap("", 12.0, false, 100.0), [""]);
        assert_eq!(wrap("ab", 12.0, false, 0.0), ["a", "b"]);
    }
}
