//! Modes and owners, wherever a module runs: by the kernel in a build for a Unix host, by `modbox:host/files` in a component with
//! the feature `host-files`. Elsewhere there are none, and every call says so. Other programs are in `process`, and what a
//! module does of itself at its start is in `start`.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(all(not(unix), target_family = "wasm", feature = "host-files"), path = "component.rs")]
#[cfg_attr(all(not(unix), not(all(target_family = "wasm", feature = "host-files"))), path = "nowhere.rs")]
mod here;

mod attributes;
pub(crate) mod process;
pub(crate) mod start;

pub use self::attributes::Attributes;
pub(crate) use self::here::{AVAILABLE, group_id, set_mode, set_owner, stat, umask, user_id};
