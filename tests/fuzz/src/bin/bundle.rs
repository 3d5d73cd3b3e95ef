//! The fuzz target `bundle` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::bundle::run(data);
});
