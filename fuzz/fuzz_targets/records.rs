//! Record files: any bytes in `requests.jsonl` are read, or refused with an error
//! that names the line; a writer can go on behind them or says why not.

#![no_main]

use prefixbench::record::{Manifest, Run, RunWriter, Unfinished, files};
use std::collections::BTreeSet;
use std::fs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let manifest = Manifest::begin(1, "0 0 0 0 0 0 0 0");
    drop(RunWriter::create(&run, &manifest, true).expect("a run"));
    fs::write(run.join(files::REQUESTS), bytes).expect("written");
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
    match Run::read(&run).and_then(Run::contents) {
        Ok(contents) => assert!(contents.requests.len() <= lines),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(unfinished) = Unfinished::open(&run) {
        let from = unfinished.clock();
        let _goes_on = unfinished.go_on(&BTreeSet::new(), from);
    }
});
