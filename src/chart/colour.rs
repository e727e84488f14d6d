//! Colours that the colour-blind can tell apart.
//!
//! Hues are those of Okabe and Ito ("Color Universal Design", 2008), which stay
//! apart under the common kinds of colour blindness, and a few darker ones for
//! the case that there are more than eight things. Colour is never the only
//! sign: lines have marker shapes, spans have names, read and computed differ
//! by filling.
//!
//! Invariant: the neutral colours are used for nothing but paper, ink and grid,
//! so that a dark page can exchange them by value (see [`DARK`]).

/// An opaque colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour(pub(super) u8, pub(super) u8, pub(super) u8);

/// The paper.
pub(super) const PAPER: Colour = Colour(0xFF, 0xFF, 0xFF);
/// Text and axes.
pub(super) const INK: Colour = Colour(0x1B, 0x1F, 0x24);
/// Text of second rank.
pub(super) const MUTED: Colour = Colour(0x57, 0x60, 0x6A);
/// Grid lines.
pub(super) const GRID: Colour = Colour(0xD8, 0xDE, 0xE4);

/// Neutral colours and what stands for them on a dark page.
pub(super) const DARK: &[(Colour, Colour)] = &[
    (PAPER, Colour(0x0D, 0x11, 0x17)),
    (INK, Colour(0xE6, 0xED, 0xF3)),
    (MUTED, Colour(0x9D, 0xA7, 0xB3)),
    (GRID, Colour(0x30, 0x36, 0x3D)),
];

const BLUE: Colour = Colour(0x00, 0x72, 0xB2);
const VERMILLION: Colour = Colour(0xD5, 0x5E, 0x00);
const GREEN: Colour = Colour(0x00, 0x9E, 0x73);
const PURPLE: Colour = Colour(0xCC, 0x79, 0xA7);
const ORANGE: Colour = Colour(0xE6, 0x9F, 0x00);
const SKY: Colour = Colour(0x56, 0xB4, 0xE9);
const OLIVE: Colour = Colour(0x8A, 0x7A, 0x00);
const GREY: Colour = Colour(0x7F, 0x7F, 0x7F);
const WINE: Colour = Colour(0x99, 0x3C, 0x5E);
const INDIGO: Colour = Colour(0x5A, 0x4F, 0xCF);
const YELLOW: Colour = Colour(0xF0, 0xE4, 0x42);
const TEAL: Colour = Colour(0x44, 0xAA, 0x99);

const CONFIGURATIONS: &[Colour] = &[
    BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, OLIVE, GREY, WINE, INDIGO,
];

const SOURCES: &[Colour] = &[
    BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW, GREY, INDIGO, OLIVE, WINE, TEAL,
];

/// The colour of the `index`-th configuration of a figure; they repeat after ten.
pub(super) fn configuration(index: usize) -> Colour {
    CONFIGURATIONS[index % CONFIGURATIONS.len()]
}

/// The colour of the `index`-th source of a figure; they repeat after twelve.
pub(super) fn source(index: usize) -> Colour {
    SOURCES[index % SOURCES.len()]
}

impl Colour {
    /// `#0072B2`.
    pub(super) fn hex(self) -> String {
        format!("#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }

    /// Black or nearly white, whichever reads better on this colour.
    ///
    /// Neither is one of the neutral colours, so a dark page leaves both alone.
    pub(super) fn text_on(self) -> Self {
        let contrast = |light: f64, dark: f64| (light + 0.05) / (dark + 0.05);
        let own = self.luminance();
        if contrast(1.0, own) > contrast(own, 0.0) {
            Self(0xFE, 0xFE, 0xFE)
        } else {
            Self(0, 0, 0)
        }
    }

    /// Relative luminance, 0 to 1.
    ///
    /// # Source
    ///
    /// WCAG 2.2, "relative luminance".
    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_stands_out_from_light_and_dark_paper_but_yellow_which_is_only_for_spans() {
        let contrast = |one: Colour, other: Colour| {
            let (one, other) = (one.luminance(), other.luminance());
            (one.max(other) + 0.05) / (one.min(other) + 0.05)
        };
        let dark = DARK[0].1;
        for &colour in CONFIGURATIONS {
            assert!(contrast(colour, PAPER) > 2.0, "{colour:?} on light");
            assert!(contrast(colour, dark) > 2.5, "{colour:?} on dark");
        }
        for &(light, dark_one) in &DARK[1..3] {
            assert!(contrast(light, PAPER) > 4.5 && contrast(dark_one, dark) > 4.5);
        }
    }

    #[test]
    fn text_in_a_span_contrasts_with_its_colour() {
        for &colour in SOURCES {
            let (text, own) = (colour.text_on().luminance(), colour.luminance());
            let ratio = (text.max(own) + 0.05) / (text.min(own) + 0.05);
            assert!(ratio > 4.5, "{colour:?}: {ratio}");
        }
    }
}
