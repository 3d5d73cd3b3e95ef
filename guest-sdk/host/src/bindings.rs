//! The calls into the host, generated from the interfaces by the script `generate`. This is the only place with unsafe
//! code: calls pass memory by address and length.

#![allow(unsafe_code, reason = "generated: calls pass memory by address and length")]
#![allow(unreachable_pub, missing_debug_implementations, clippy::all, clippy::error_impl_error, reason = "generated")]
#![allow(clippy::allow_attributes_without_reason, clippy::undocumented_unsafe_blocks, reason = "generated")]
#![allow(clippy::cast_possible_truncation, reason = "generated")]

include!("../bindings.rs");
