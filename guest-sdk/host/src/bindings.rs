//! The calls into the host, made of the interfaces' text by `generate`. This is the only place with unsafe code: what crosses
//! the border of a component is memory by address and length.

#![allow(unsafe_code, reason = "generated: what crosses the border is memory by address and length")]
#![allow(unreachable_pub, missing_debug_implementations, clippy::all, clippy::error_impl_error, reason = "generated")]
#![allow(clippy::allow_attributes_without_reason, clippy::undocumented_unsafe_blocks, reason = "generated")]
#![allow(clippy::cast_possible_truncation, reason = "generated")]

include!("../bindings.rs");
