//! Guest crates, built by the author's cargo.

pub(crate) mod build;
pub(crate) mod cargo_flags;
pub(crate) mod dep_info;
pub(crate) mod local_paths;
pub(crate) mod messages;
pub(crate) mod package;
pub(crate) mod shared_output;
pub(crate) mod toolchain;
