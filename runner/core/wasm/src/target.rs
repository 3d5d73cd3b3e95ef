//! Features of the processor that compiled code depends on. A home folder, and with it the cache, may be shared by
//! different machines.

/// Returns which of the instruction set extensions that the engine's compiler uses this processor has.
#[cfg(target_arch = "x86_64")]
pub(super) fn features() -> Vec<bool> {
    use std::arch::is_x86_feature_detected as has;
    vec![
        has!("sse3"),
        has!("ssse3"),
        has!("sse4.1"),
        has!("sse4.2"),
        has!("popcnt"),
        has!("avx"),
        has!("avx2"),
        has!("fma"),
        has!("bmi1"),
        has!("bmi2"),
        has!("avx512bitalg"),
        has!("avx512dq"),
        has!("avx512f"),
        has!("avx512vl"),
        has!("avx512vbmi"),
        has!("lzcnt"),
        has!("cmpxchg16b"),
    ]
}

/// Returns nothing: other architectures differ less, and the engine refuses code for another processor, which is then
/// compiled again.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn features() -> Vec<bool> {
    Vec::new()
}
