//! How wide text is, and where it is broken into lines.

use super::render;

/// Room for a fallback font that is wider than the shipped one: an SVG is shown
/// with whatever sans-serif font its reader has.
const SLACK: f64 = 1.10;

/// Width of a line of text in pixels, with room for a wider fallback font.
pub(super) fn width(text: &str, size: f64, bold: bool) -> f64 {
    render::text_width(text, size, bold) * SLACK
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

/// Cuts behind every place where a line may end.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for letter in text.chars() {
        if let Some(last) = pieces.last_mut() {
            last.push(letter);
        }
        if letter.is_whitespace() || "-_/.:,".contains(letter) {
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
