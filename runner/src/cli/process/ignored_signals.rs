//! The signals that this process was started to ignore, such as SIGHUP by `nohup`, or SIGINT in the background of a shell script.
//!
//! They stay ignored. A handler would end what was started to outlive a terminal.

use std::path::Path;

/// Most bytes of the file that are read. The kernel writes about 1.5 KB.
const MAX_STATUS: u64 = 64 << 10;

/// Set of signals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IgnoredSignals(u64);

impl IgnoredSignals {
    /// Reads what this process ignores. Without `/proc`, it is taken to ignore nothing.
    pub(crate) fn of_this_process() -> Self {
        let status = modbox_files::read_file(Path::new("/proc/self/status"), MAX_STATUS).unwrap_or_default();
        Self::parse(&String::from_utf8_lossy(&status)).unwrap_or(Self(0))
    }

    /// Parses the line `SigIgn:`, a mask in hexadecimal (proc_pid_status(5)).
    fn parse(status: &str) -> Option<Self> {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok().map(Self)
    }

    /// Returns whether a signal is ignored. Its number counts from 1.
    pub(crate) fn contains(self, signal: i32) -> bool {
        let bit = u32::try_from(signal - 1).ok().and_then(|bit| 1u64.checked_shl(bit));
        bit.is_some_and(|bit| self.0 & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    use super::*;

    #[test]
    fn the_mask_counts_from_the_first_signal() {
        let ignored = IgnoredSignals::parse("Name:\tmodbox\nSigIgn:\t0000000000001003\n").unwrap();
        assert_eq!([SIGHUP, SIGINT, SIGTERM].map(|signal| ignored.contains(signal)), [true, true, false]);
        assert!(IgnoredSignals::parse("Name:\tmodbox\n").is_none());
    }

    #[test]
    fn the_kernel_tells_what_this_process_ignores() {
        // The standard library makes it so for every program.
        assert!(IgnoredSignals::of_this_process().contains(signal_hook::consts::SIGPIPE));
    }
}
