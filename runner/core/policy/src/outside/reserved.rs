//! Names that patterns never reach: with them a module stops the machine, or becomes as powerful as root. A policy has to
//! spell them, and `policy show` says so.

use crate::outside::kinds::Kind;

/// Units that stop, restart or empty the machine, or that open a shell of root. Also scripts of System V with such effects.
const UNITS: [&str; 39] = [
    "basic",
    "console-shell",
    "ctrl-alt-del",
    "debug-shell",
    "default",
    "emergency",
    "exit",
    "factory-reset",
    "final",
    "graphical",
    "halt",
    "hibernate",
    "hybrid-sleep",
    "initrd",
    "initrd-switch-root",
    "kexec",
    "killprocs",
    "local-fs",
    "multi-user",
    "poweroff",
    "rc",
    "rcs",
    "reboot",
    "rescue",
    "sendsigs",
    "shutdown",
    "single",
    "sleep",
    "soft-reboot",
    "storage-target-mode",
    "suspend",
    "suspend-then-hibernate",
    "sysinit",
    "system-update",
    "systemd-exit",
    "umount",
    "umountfs",
    "umountnfs",
    "umountroot",
];

const UNIT_TYPES: [&str; 11] = [
    ".service",
    ".target",
    ".socket",
    ".timer",
    ".path",
    ".mount",
    ".automount",
    ".swap",
    ".slice",
    ".scope",
    ".device",
];

/// Users and groups that are root, may become root, or own what root runs or reads.
const USERS: [&str; 28] = [
    "_ssh",
    "adm",
    "admin",
    "bin",
    "crontab",
    "daemon",
    "disk",
    "docker",
    "incus",
    "incus-admin",
    "kmem",
    "libvirt",
    "libvirt-qemu",
    "libvirtd",
    "lpadmin",
    "lxd",
    "mem",
    "podman",
    "polkitd",
    "root",
    "shadow",
    "ssl-cert",
    "staff",
    "sudo",
    "sys",
    "toor",
    "tty",
    "wheel",
];

/// Kernel parameters by which the kernel runs a program or loads code, or drops a guard of set-id programs.
const KEYS: [&str; 12] = [
    "dev.tty.ldisc_autoload",
    "fs.binfmt_misc",
    "fs.suid_dumpable",
    "kernel.core_pattern",
    "kernel.core_pipe_limit",
    "kernel.hotplug",
    "kernel.modprobe",
    "kernel.modules_disabled",
    "kernel.poweroff_cmd",
    "kernel.sysrq",
    "kernel.unprivileged_userns_apparmor_policy",
    "kernel.usermodehelper",
];

/// Returns whether a name of a bound kind, in its [canonical form](canonical), is reserved. Other spellings of the case count.
pub(crate) fn is_reserved(kind: Kind, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    match kind {
        Kind::Unit => is_reserved_unit(&name),
        Kind::User | Kind::Users => USERS.contains(&&*name) || name.starts_with("systemd-"),
        Kind::Key | Kind::Setting => {
            KEYS.iter().any(|key| name.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
        }
        _ => false,
    }
}

fn is_reserved_unit(name: &str) -> bool {
    let stem = UNIT_TYPES.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let stem = stem.strip_suffix(".sh").unwrap_or(stem);
    // An instance of a template is one of its own kind of unit.
    let stem = stem.split_once('@').map_or(stem, |(template, _)| template);
    let plain = stem.strip_prefix("systemd-").unwrap_or(stem);
    let is_runlevel = plain.strip_prefix("runlevel").is_some_and(|level| level.len() == 1);
    is_runlevel || UNITS.contains(&stem) || UNITS.contains(&plain)
}

/// Returns the form of a name that is compared with bound names: `nginx` of `nginx.service`, the package of
/// `nginx:amd64=1.18`, the parameter of a setting, and `nf_nat` of the kernel module `nf-nat`.
pub(crate) fn canonical(kind: Kind, word: &str) -> String {
    match kind {
        Kind::Unit => word.strip_suffix(".service").unwrap_or(word).to_owned(),
        Kind::Package => word.split(['=', ':']).next().unwrap_or(word).to_owned(),
        Kind::Setting => word.split('=').next().unwrap_or(word).to_owned(),
        Kind::Module => word.replace('-', "_"),
        _ => word.to_owned(),
    }
}
