//! Platform-dependent code. Modes and owners come from the kernel in a build for a Unix host, and from
//! `modbox:host/files` in a component with the feature `host-files`; elsewhere, every call is an error. `process` runs
//! other programs, `start` prepares a module's start, and `write_error` finds the cause of a failed write.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(all(not(unix), target_family = "wasm", feature = "host-files"), path = "component.rs")]
#[cfg_attr(all(not(unix), not(all(target_family = "wasm", feature = "host-files"))), path = "nowhere.rs")]
mod here;

mod attributes;
mod names;
pub(crate) mod process;
#[cfg(not(all(target_family = "wasm", feature = "host-files")))]
mod standard_times;
pub(crate) mod start;
mod write_error;

#[cfg(not(all(target_family = "wasm", feature = "host-files")))]
pub(crate) use self::attributes::Lost;
pub use self::attributes::{Attributes, FileTime, NewTime, Special, Times};
pub(crate) use self::here::{
    AVAILABLE, REPLACES, allows, group_id, may_change_folder, may_make_beside, may_write, replace, restrict_new,
    set_id_bits, set_mode, set_owner, set_times, stat, times, umask, user, user_and_group, user_id, user_number,
};
pub(crate) use self::write_error::write_error;

pub(crate) fn host_bytes(path: &std::ffi::OsStr) -> std::borrow::Cow<'_, [u8]> {
    match path.to_str() {
        Some(text) if cfg!(target_family = "wasm") => names::to_host(text),
        _ => path.as_encoded_bytes().into(),
    }
}

/// Returns the path that bytes of the host have here, or `None` if no text can be it.
pub(crate) fn path_text(bytes: &[u8]) -> Option<String> {
    if cfg!(target_family = "wasm") { Some(names::to_guest(bytes)) } else { String::from_utf8(bytes.to_vec()).ok() }
}
#[cfg(all(target_family = "wasm", feature = "host-files"))]
pub(crate) use modbox_host::file_changes::Lost;
