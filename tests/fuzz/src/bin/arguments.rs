//! The fuzz target `arguments` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::arguments::run(data);
});
