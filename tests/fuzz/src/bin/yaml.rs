//! The fuzz target `yaml` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    modbox_fuzz::yaml::run(data);
});
