//! Answers in the dialect `gemini`: no bytes make it panic or hang.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prefixbench_fuzz::answer("gemini", bytes));
