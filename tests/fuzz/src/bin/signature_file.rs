//! The fuzz target `signature_file` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::signature_file::run(data);
});
