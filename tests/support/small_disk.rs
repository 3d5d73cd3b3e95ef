//! A small file system for a command, in a mount namespace of its own.

use std::path::Path;
use std::process::Command;

use crate::prefixed;

/// Exit status of a command for which no file system could be mounted: that needs rights, which this machine may not give.
pub const NO_SMALL_DISK: i32 = 99;

/// Returns a command that runs another one with 64 KiB of space in a directory, where there is a file `file`.
pub fn with_small_disk(directory: &Path, command: &Command) -> Command {
    let mut unshare = Command::new("unshare");
    unshare.arg(if rustix::process::geteuid().is_root() { "-m" } else { "-rm" });
    let script =
        format!("mount -t tmpfs -o size=64k none \"$0\" || exit {NO_SMALL_DISK}; echo old > \"$0/file\"; exec \"$@\"");
    unshare.args(["sh", "-c", &script]).arg(directory);
    prefixed(unshare, command)
}
