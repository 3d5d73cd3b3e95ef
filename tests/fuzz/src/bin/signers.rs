//! The fuzz target `signers` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::signers::run(data);
});
