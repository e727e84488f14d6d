//! How large a scenario may be.

/// Bounds on what a scenario may ask for, so that a slip of the pen ends in a
/// message and not in a full memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes of the scenario file.
    pub(super) scenario: u64,
    /// Bytes of a file that it names.
    pub(super) file: u64,
    /// Bytes of a file of finished bodies.
    pub(super) raw: u64,
    /// Tokens of one generated text.
    pub(super) tokens: u64,
    /// Steps, those within `approve` included.
    pub(super) steps: usize,
    /// Bytes of all texts together.
    pub(super) total: u64,
}

const MIB: u64 = 1 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            scenario: MIB,
            file: 16 * MIB,
            raw: 256 * MIB,
            tokens: 2_000_000,
            steps: 100_000,
            total: 256 * MIB,
        }
    }
}

/// `16 MiB`, `512 bytes`.
pub(super) fn size(bytes: u64) -> String {
    if bytes >= MIB && bytes.is_multiple_of(MIB) {
        format!("{} MiB", bytes / MIB)
    } else {
        format!("{bytes} bytes")
    }
}
