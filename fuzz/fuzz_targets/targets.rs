//! Targets files: any text is refused as wrong input, or listed.

#![no_main]

use std::ffi::OsString;
use std::fs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("targets.yaml");
    fs::write(&file, bytes).expect("written");
    let words = ["prefixbench", "list", "targets", "--targets"].map(OsString::from);
    let code = prefixbench::cli::main(words.into_iter().chain([file.into_os_string()]));
    assert!(code == 0 || code == 2, "ended with {code}");
});
