//! The fuzz target `parcels` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::parcels::run(data);
});
