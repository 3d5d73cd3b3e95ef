//! The fuzz target `manifest` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::manifest::run(data);
});
