//! Server-sent events: no bytes make the parser panic or hold more than its
//! limits, and how they were split does not matter.

#![no_main]

use prefixbench_fuzz::{LIMITS, events};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&piece, bytes)) = bytes.split_first() else {
        return;
    };
    let whole = events(bytes, bytes.len());
    let pieces = events(bytes, usize::from(piece));
    assert_eq!(whole.is_ok(), pieces.is_ok());
    if let (Ok(whole), Ok(pieces)) = (whole, pieces) {
        assert_eq!(whole, pieces);
        // An invalid byte becomes a character of three.
        assert!(whole.iter().all(|event| event.data.len() <= LIMITS.event * 3));
    }
});
