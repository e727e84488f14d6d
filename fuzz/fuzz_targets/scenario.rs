//! Scenario files: any text is refused with an error that can be shown, or read.

#![no_main]

use prefixbench::scenario::{LoadOptions, load_str};
use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios"));
    if let Err(error) = load_str("fuzz.yaml", text, folder, &LoadOptions::default()) {
        assert!(!error.to_string().is_empty());
    }
});
