//! Names of the directories of runs.

use std::path::Path;
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

/// Prefix of a run's directory. Ansible names a task's directory so, and some modules look for the `-tmp-`.
pub(crate) const PREFIX: &str = "ansible-tmp-";

pub(crate) const KEPT_PREFIX: &str = "kept-ansible-tmp-";

/// Prefix of a directory that belongs to the guest alone, so that links in it are not records of modbox.
pub(crate) const GUEST_PREFIX: &str = "ansible-tmp-guest-";

/// Prefix of files that a run makes outside its directory and records in it by a link. The sweep removes no other files
/// there.
pub const LEFTOVER_PREFIX: &str = ".modbox-tmp-";

/// Returns whether a directory belongs to the guest alone.
pub(crate) fn is_guests(dir: &Path) -> bool {
    dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with(GUEST_PREFIX))
}

/// Returns a new name with a prefix.
pub(crate) fn unique_name(prefix: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut random = [0; 8];
    // Without random bytes the pid and the time still make the name unique, and `mkdir` refuses an existing name.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let random = u64::from_le_bytes(random);
    format!("{prefix}{}.{:09}-{}-{random:016x}", now.as_secs(), now.subsec_nanos(), process::id())
}
