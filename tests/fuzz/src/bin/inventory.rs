//! The fuzz target `inventory` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::inventory::run(data);
});
