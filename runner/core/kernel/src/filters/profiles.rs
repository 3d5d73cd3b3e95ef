//! The allow list of each kind of confined process. Calls outside the list are refused.
//!
//! `seccomp` makes filters from the lists.

use syscalls::Sysno;

use crate::filters::calls::{CallGroup, calls};
use crate::filters::{compiler_calls, guest_calls, namespace_calls, native_calls, on_host_calls, transfer_calls};
use crate::profile::Profile;

/// Lists the allowed calls of a profile, by group.
pub fn allowed_calls(profile: Profile) -> impl Iterator<Item = &'static CallGroup> {
    let (list, more): (&[CallGroup], &[CallGroup]) = match profile {
        Profile::Guest => (guest_calls::ALLOWED, &[]),
        Profile::Native => (native_calls::ALLOWED, namespace_calls::ALLOWED),
        Profile::NativeOnHost => (native_calls::ALLOWED, on_host_calls::ALLOWED),
        Profile::Compiler => (compiler_calls::ALLOWED, &[]),
        Profile::Transfer => (transfer_calls::ALLOWED, &[]),
    };
    list.iter().chain(more)
}

/// Lists calls that fail as if the kernel lacked them, so that a C library uses an older call.
///
/// `clone3` and `openat2` have flags and modes in memory, which a filter cannot read. `file_getattr` and `file_setattr`
/// are the newer form of `ioctl` requests that are refused.
#[must_use]
pub fn hidden_calls(profile: Profile) -> &'static [Sysno] {
    match profile {
        Profile::Guest | Profile::Compiler | Profile::Transfer => calls![clone3],
        Profile::Native | Profile::NativeOnHost => calls![clone3, openat2, file_getattr, file_setattr],
    }
}

/// Lists calls that fail with `EOPNOTSUPP`, as on a file system without them, so that programs do without.
///
/// `fallocate` reserves space without writing it, and only what is written is counted. Without it, the C library's
/// `posix_fallocate` writes.
#[must_use]
pub fn unsupported_calls(profile: Profile) -> &'static [Sysno] {
    match profile {
        Profile::Guest | Profile::Compiler | Profile::Transfer => &[],
        Profile::Native | Profile::NativeOnHost => calls![fallocate],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PROFILES: [Profile; 5] =
        [Profile::Guest, Profile::Native, Profile::NativeOnHost, Profile::Compiler, Profile::Transfer];

    fn names(profile: Profile) -> BTreeSet<&'static str> {
        allowed_calls(profile).flat_map(|group| group.calls).map(Sysno::name).collect()
    }

    #[test]
    fn a_call_is_allowed_once_and_for_a_reason() {
        for profile in PROFILES {
            let mut seen = BTreeSet::new();
            for group in allowed_calls(profile) {
                assert!(group.reason.len() > 10, "{profile:?}: `{}` is too short for a reason", group.reason);
                for call in group.calls {
                    assert!(seen.insert(call.id()), "{profile:?}: {call} twice");
                    let failing = [hidden_calls(profile), unsupported_calls(profile)].concat();
                    assert!(!failing.contains(call), "{profile:?}: {call} fails as well");
                }
            }
        }
    }

    #[test]
    fn no_list_has_a_call_that_takes_more_than_the_process() {
        let dangerous = [
            "acct",
            "add_key",
            "adjtimex",
            "bpf",
            "chroot",
            "clock_adjtime",
            "clock_settime",
            "clone3",
            "delete_module",
            "fanotify_init",
            "fanotify_mark",
            "finit_module",
            "fsconfig",
            "fsmount",
            "fsopen",
            "fspick",
            "init_module",
            "io_uring_enter",
            "io_uring_register",
            "io_uring_setup",
            "ioperm",
            "iopl",
            "kcmp",
            "kexec_file_load",
            "kexec_load",
            "keyctl",
            "lookup_dcookie",
            "migrate_pages",
            "modify_ldt",
            "mount",
            "mount_setattr",
            "move_mount",
            "move_pages",
            "name_to_handle_at",
            "nfsservctl",
            "open_by_handle_at",
            "open_tree",
            "open_tree_attr",
            "perf_event_open",
            "personality",
            "pidfd_getfd",
            "pivot_root",
            "process_madvise",
            "process_vm_readv",
            "process_vm_writev",
            "ptrace",
            "quotactl",
            "quotactl_fd",
            "reboot",
            "request_key",
            "setdomainname",
            "sethostname",
            "setns",
            "settimeofday",
            "swapoff",
            "swapon",
            "syslog",
            "umount2",
            "unshare",
            "userfaultfd",
            "uselib",
            "ustat",
            "vhangup",
        ];
        for profile in PROFILES {
            let allowed = names(profile);
            let found: Vec<_> = dangerous.iter().filter(|name| allowed.contains(*name)).collect();
            assert!(found.is_empty(), "{profile:?}: {found:?}");
        }
    }

    #[test]
    fn processes_of_modbox_have_only_a_part_of_what_a_native_module_has() {
        let native = names(Profile::Native);
        for (profile, most) in [(Profile::Guest, 140), (Profile::Compiler, 45), (Profile::Transfer, 45)] {
            let own = names(profile);
            assert!(own.len() < most, "{profile:?}: {} calls", own.len());
            let more: Vec<_> = own.difference(&native).filter(|name| **name != "openat2").collect();
            assert!(more.is_empty(), "{profile:?}: {more:?}");
        }
        let guest = names(Profile::Guest);
        for call in ["execve", "execveat", "fork", "vfork", "socketpair", "chmod", "fchmodat", "fchownat", "setuid"] {
            assert!(!guest.contains(call), "{call}");
        }
        let on_host = names(Profile::NativeOnHost);
        assert!(on_host.is_subset(&native) && !on_host.contains("fchmodat") && native.contains("fchmodat"));
    }
}
