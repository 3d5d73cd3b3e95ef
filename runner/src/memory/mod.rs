//! What the static build has in place of its C library's: memory, and copying and comparing it.
//!
//! musl keeps both small and simple. What it costs a short run is measured where each begins. The default build has glibc,
//! which needs nothing of this; its tests are the tests of these rooms.

#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
mod bytes;
mod heaps;
mod start;

#[cfg_attr(test, expect(unused_imports, reason = "the default build has the allocator of its C library"))]
pub(crate) use self::heaps::Heaps;
