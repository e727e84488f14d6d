//! The shipped fonts: how wide letters are, and how they are put into pixels.
//!
//! Names come in any script. A letter is drawn in the usual font, else in one of
//! Chinese, Japanese and Korean letters, else as a box: what cannot be shown must
//! not look like nothing. This holds for pixels; in an SVG text stays text, and
//! its reader has fonts of his own.
//!
//! Invariant: the same text gives the same widths and pixels on every machine.

use ab_glyph::{Font as _, FontRef, PxScale, ScaleFont as _, point};
use std::sync::OnceLock;

/// The usual font.
pub(super) const REGULAR: &[u8] = include_bytes!("font/Inter-Regular.subset.otf");
/// The usual font in its heavier weight.
pub(super) const BOLD: &[u8] = include_bytes!("font/Inter-SemiBold.subset.otf");
/// Letters that the usual one lacks; it has no heavier weight.
const WIDE: &[u8] = include_bytes!("font/NotoSansSCKR-Regular.subset.ttf");
/// What stands for a letter that no font has.
const BOX: char = '\u{25A1}';
/// How far below the middle of a line its letters stand, in em: half the height of an `x`.
const BELOW: f64 = 0.273;

/// The fonts of a weight, the one that is asked first in front.
fn fonts(bold: bool) -> &'static [FontRef<'static>] {
    static FONTS: [OnceLock<Vec<FontRef<'static>>>; 2] = [OnceLock::new(), OnceLock::new()];
    FONTS[usize::from(bold)].get_or_init(|| {
        let files = [if bold { BOLD } else { REGULAR }, WIDE];
        let read = files.into_iter().map(FontRef::try_from_slice);
        #[expect(clippy::expect_used, reason = "a test draws with each shipped font")]
        read.map(|font| font.expect("a shipped font is well-formed"))
            .collect()
    })
}

/// The font that has the letter, and what is drawn of it.
fn shown(letter: char, bold: bool) -> (&'static FontRef<'static>, char) {
    let fonts = fonts(bold);
    let has = |font: &&FontRef<'static>| font.glyph_id(letter).0 != 0;
    match fonts.iter().find(has) {
        Some(font) => (font, letter),
        None => (&fonts[0], BOX),
    }
}

/// Whether a letter takes no room: it joins letters, or says in which direction they run.
fn is_silent(letter: char) -> bool {
    matches!(letter, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

/// Width of `text` at `size` pixels to the em: the sum of its letters, since nothing is kerned.
///
/// A letter's width is looked up once, since laying out measures the same letters again and again.
pub(super) fn text_width(text: &str, size: f64, bold: bool) -> f64 {
    static ASCII: OnceLock<[[f64; 128]; 2]> = OnceLock::new();
    let known = ASCII.get_or_init(|| {
        let table = |bold| std::array::from_fn(|code| letter_width(u8_letter(code), bold));
        [table(false), table(true)]
    });
    let known = &known[usize::from(bold)];
    let width = |letter: char| match known.get(letter as usize) {
        Some(width) => *width,
        None => letter_width(letter, bold),
    };
    text.chars().map(width).sum::<f64>() * size
}

fn u8_letter(code: usize) -> char {
    u8::try_from(code).map_or(' ', char::from)
}

/// Width of one letter in em, in whole thousandths; a letter that no font has gets an em, which
/// is what most fonts would need for it.
fn letter_width(letter: char, bold: bool) -> f64 {
    if is_silent(letter) {
        return 0.0;
    }
    let (font, drawn) = shown(letter, bold);
    let em = f64::from(font.units_per_em().unwrap_or(1_000.0));
    let own = f64::from(font.h_advance_unscaled(font.glyph_id(drawn))) / em;
    let whole = (own * 1_000.0).floor() / 1_000.0;
    if drawn == letter {
        whole
    } else {
        whole.max(1.0)
    }
}

/// A pixel of some letters, and how much of it they cover.
pub(super) type Pixel = ((i32, i32), f32);

/// The pixels of a line of text that starts at `left`, with `middle` as the middle of the line.
pub(super) fn pixels(text: &str, left: f64, middle: f64, size: f64, bold: bool) -> Vec<Pixel> {
    let mut pixels = Vec::new();
    let mut x = left;
    for letter in text.chars() {
        let (font, drawn) = shown(letter, bold);
        let scale =
            f64::from(font.height_unscaled() / font.units_per_em().unwrap_or(1_000.0)) * size;
        #[expect(clippy::cast_possible_truncation, reason = "a place on a picture")]
        let (scale, at) = (
            scale as f32,
            point(x as f32, (middle + BELOW * size).round() as f32),
        );
        let scaled = font.as_scaled(PxScale::from(scale));
        let glyph = scaled.glyph_id(drawn).with_scale_and_position(scale, at);
        if let Some(outline) = font.outline_glyph(glyph).filter(|_| !is_silent(letter)) {
            let corner = outline.px_bounds().min;
            outline.draw(|right, down, covered| {
                pixels.push((pixel(corner.x, right, corner.y, down), covered));
            });
        }
        x += letter_width(letter, bold) * size;
    }
    pixels
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a place on a picture"
)]
fn pixel(left: f32, right: u32, top: f32, down: u32) -> (i32, i32) {
    (left as i32 + right as i32, top as i32 + down as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_of_any_script_is_drawn_and_what_no_font_has_is_a_box() {
        let cases = [
            ("ï", false),
            ("Ж", false),
            ("前", false),
            ("の", false),
            ("한", false),
            ("ש", true),
            ("🙂", true),
        ];
        for (letter, boxed) in cases {
            for bold in [false, true] {
                let drawn = pixels(letter, 10.0, 20.0, 24.0, bold);
                assert!(drawn.iter().any(|(_, covered)| *covered > 0.5), "{letter}");
                let as_box = drawn == pixels("\u{25A1}", 10.0, 20.0, 24.0, bold);
                assert_eq!(as_box, boxed, "{letter}");
            }
        }
        assert_eq!(
            pixels(" \u{202E}\u{200D}", 10.0, 20.0, 24.0, false),
            Vec::new()
        );
    }

    #[test]
    fn letters_lie_within_the_width_that_they_are_given() {
        for text in ["größe-Ünïcode", "前缀缓存配置", "jWqf", "שלום"] {
            let right = 10.0 + text_width(text, 24.0, false);
            for ((x, y), _) in pixels(text, 10.0, 50.0, 24.0, false) {
                assert!(
                    (7.0..=right + 3.0).contains(&f64::from(x)),
                    "{text}: {x} of {right}"
                );
                assert!((20..=80).contains(&y), "{text}: {y}");
            }
        }
    }
}
