//! The fuzz target `saved_changes` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::saved_changes::run(data);
});
