//! Names the processor, as far as compiled code depends on it: a home folder may be shared by different machines.

/// Returns the extensions that the engine's compiler makes use of and that this processor has.
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

/// Elsewhere machines differ less, and code for another one is refused by the engine and compiled again.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn features() -> Vec<bool> {
    Vec::new()
}
