//! Modules that no room can hold: what they do in their own process acts on the machine, and not on files.

use std::path::Path;

use modbox_vocabulary::{Capability, MODULE, ObservedCommand, Operation};

use crate::reports::suggestion::record::{RunRecord, Use};

/// Modules that are known to need the machine, by the last part of their names, with the reason.
const KNOWN: [(&str, &str); 14] = [
    ("dnf", "it installs in its own process"),
    ("dnf5", "it installs in its own process"),
    ("docker_container", "it talks to a daemon that gives root's power"),
    ("docker_image", "it talks to a daemon that gives root's power"),
    ("docker_network", "it talks to a daemon that gives root's power"),
    ("firewalld", "it talks to a daemon"),
    ("lvg", "it changes volumes in the kernel"),
    ("lvol", "it changes volumes in the kernel"),
    ("mount", "it mounts, and reads which mounts there are"),
    ("reboot", "it reboots the machine"),
    ("seboolean", "it changes the policy of SELinux"),
    ("sefcontext", "it changes the policy of SELinux"),
    ("selinux", "it changes the policy of SELinux"),
    ("yum", "it installs in its own process"),
];

/// System calls by which a process changes the machine itself. A room refuses others, too, which modules do without.
const CALLS: [&str; 22] = [
    "add_key",
    "bpf",
    "chroot",
    "clock_settime",
    "delete_module",
    "finit_module",
    "fsmount",
    "init_module",
    "keyctl",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "pivot_root",
    "reboot",
    "setdomainname",
    "sethostname",
    "setns",
    "settimeofday",
    "swapoff",
    "swapon",
    "umount2",
];

/// The socket by which programs change the tables of the firewall: `iptables` and `nft`.
const FIREWALL_SOCKET: &str = "socket(AF_NETLINK, NETLINK_NETFILTER)";

/// Returns whether a use is a system call that changes the machine itself.
pub(super) fn changes_machine(used: &Use<'_>) -> bool {
    let subject = used.missing.subject.as_str();
    let is_such = CALLS.contains(&subject) || subject == FIREWALL_SOCKET;
    is_such && used.is_for(Capability::Confinement) && used.is(Operation::Call)
}

/// Returns why no room can hold the module of a run.
pub(super) fn reason(record: &RunRecord) -> Option<String> {
    let name = record.name.as_deref().unwrap_or_default();
    let last = name.rsplit('.').next().unwrap_or(name);
    if let Some((_, why)) = KNOWN.iter().find(|(known, _)| *known == last)
        && !(record.missing.is_empty() && record.commands.is_empty())
    {
        return Some((*why).to_owned());
    }
    let own = || record.uses().filter(|used| used.is_by(MODULE));
    if let Some(call) = own().find(changes_machine) {
        return Some(format!("it calls `{}` in its own process", call.missing.subject));
    }
    let homes = new_homes(record);
    let is_within = |path: &str| homes.iter().any(|home| path != home && Path::new(path).starts_with(home));
    let in_new = own().find(|used| used.is_for(Capability::Write) && is_within(&used.missing.subject));
    in_new.map(|used| format!("it writes in a home that its own command makes: {}", used.missing.subject))
}

/// Returns the homes of the users that a run has made.
pub(super) fn new_homes(record: &RunRecord) -> Vec<String> {
    let made = record.commands.iter().filter(|command| command.program.ends_with("/useradd"));
    let home = |command: &ObservedCommand| {
        let mut words = command.words.iter();
        let named = words.by_ref().find(|word| *word == "-d").and_then(|_| words.next());
        named.cloned().or_else(|| command.words.last().map(|user| format!("/home/{user}")))
    };
    made.filter_map(home).collect()
}
