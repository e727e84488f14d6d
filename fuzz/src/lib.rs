//! What several fuzz targets have in common.

#![forbid(unsafe_code)]

use prefixbench::provider::sse::{SseEvent, SseLimits, SseParser, SseTooLarge};
use prefixbench::provider::{decode, failure, find};

/// Limits small enough for a fuzzer to reach.
pub const LIMITS: SseLimits = SseLimits {
    line: 1 << 10,
    event: 1 << 12,
};

/// Everything that a stream's bytes say, given in pieces of `piece` bytes.
///
/// # Errors
///
/// [`SseTooLarge`] where a line or an event is over [`LIMITS`].
pub fn events(bytes: &[u8], piece: usize) -> Result<Vec<SseEvent>, SseTooLarge> {
    let mut parser = SseParser::new(LIMITS);
    let mut events = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        parser.push(piece, &mut events)?;
    }
    parser.finish(&mut events);
    Ok(events)
}

/// Reads `bytes` as an answer in the dialect of that name, and as a failure.
///
/// # Panics
///
/// Where there is no such dialect, or where what was read cannot be.
pub fn answer(dialect: &str, bytes: &[u8]) {
    let dialect = find(dialect).expect("a known dialect");
    let decoded = decode(dialect, bytes);
    if let Some(usage) = &decoded.usage
        && let (Some(total), Some(read)) = (usage.total, usage.read)
    {
        // A count may contradict itself, but reading it must not change it.
        assert_eq!(decode(dialect, bytes).usage.and_then(|again| again.read), Some(read));
        let _shown = format!("{total} {read}");
    }
    let text = decoded.text.map_or(0, |text| text.len());
    // An invalid byte becomes a character of three.
    assert!(text <= bytes.len() * 3, "more text than was sent");
    let _described = failure(500, bytes);
}
