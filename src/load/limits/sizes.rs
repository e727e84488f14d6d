//! How many tokens a body has, before its answer says so.

/// Tokens a byte, learned from answers.
#[derive(Default)]
pub(super) struct Sizes {
    most: f64,
    tokens: u64,
    bytes: u64,
}

impl Sizes {
    /// A quarter of the bytes until something is known: the usual English text.
    pub(super) fn likely(&self, bytes: u64) -> u64 {
        let share = if self.bytes == 0 {
            0.25
        } else {
            self.tokens as f64 / self.bytes as f64
        };
        scaled(bytes, share)
    }

    /// Half of the bytes until something is known, then a little more than ever seen.
    pub(super) fn at_most(&self, bytes: u64) -> u64 {
        let share = if self.bytes == 0 {
            0.5
        } else {
            self.most * 1.1
        };
        scaled(bytes, share)
    }

    /// An answer counted so many.
    pub(super) fn learn(&mut self, bytes: u64, tokens: u64) {
        if bytes > 0 {
            self.most = self.most.max(tokens as f64 / bytes as f64);
            self.tokens += tokens;
            self.bytes += bytes;
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; a float above what a u64 holds becomes the largest"
)]
fn scaled(bytes: u64, share: f64) -> u64 {
    (bytes as f64 * share).ceil() as u64
}
