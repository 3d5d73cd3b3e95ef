//! What the static build has in place of its C library's memory, which musl keeps small and simple: what that costs a short
//! run is said where each begins. How bytes are copied and compared there is the crate `modbox-bytes`. The default build
//! has glibc, which needs nothing of this; its tests are the tests of these rooms.

mod heaps;
mod start;

#[cfg_attr(test, expect(unused_imports, reason = "the default build has the allocator of its C library"))]
pub(crate) use self::heaps::Heaps;
