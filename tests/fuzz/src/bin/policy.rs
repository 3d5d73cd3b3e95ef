//! The fuzz target `policy` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::policy::run(data);
});
