#![no_main]

#[path = "../entries.rs"]
mod entries;
#[path = "../harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(init: harness::begin(), |bytes: &[u8]| entries::xlsx(bytes));
