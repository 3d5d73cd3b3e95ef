//! The fuzz target `lock_file` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::lock_file::run(data);
});
