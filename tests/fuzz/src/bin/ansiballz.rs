//! The fuzz target `ansiballz` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::ansiballz::run(data);
});
