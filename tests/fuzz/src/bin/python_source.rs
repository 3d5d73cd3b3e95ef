//! The fuzz target `python_source` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::python_source::run(data);
});
