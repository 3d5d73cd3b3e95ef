//! Which managers of services and packages this machine has, for plays that are explained: the facts by which `service` and `package`
//! choose their modules. A run asks `setup`.

use std::path::Path;

use modbox_contract::{Dict, Value};

/// The most bytes of a process's name and the line end after it (Linux, `TASK_COMM_LEN`).
const MAX_PROCESS_NAME: u64 = 16;

/// Folders that systemd makes when it runs the machine.
const OF_SYSTEMD: [&str; 3] = ["/run/systemd/system", "/dev/.run/systemd", "/dev/.systemd"];

/// First processes that say nothing of the manager; neither does a shell.
const NAMELESS: [&str; 2] = ["init", "COMMAND"];

/// Managers by the name of the first process.
const BY_PROCESS: [(&str, &str); 4] =
    [("procd", "openwrt_init"), ("runit-init", "runit"), ("svscan", "svc"), ("openrc-init", "openrc")];

/// Managers of packages by their programs.
const BY_PROGRAM: [(&str, &str); 7] = [
    ("/usr/bin/apt-get", "apt"),
    ("/usr/bin/dnf5", "dnf5"),
    ("/usr/bin/dnf", "dnf"),
    ("/usr/bin/yum", "dnf"),
    ("/sbin/apk", "apk"),
    ("/usr/bin/pacman", "pacman"),
    ("/usr/bin/zypper", "zypper"),
];

pub(crate) fn facts() -> Dict {
    let service = ("ansible_service_mgr".to_owned(), Value::from(service_manager()));
    let package = BY_PROGRAM.iter().find(|(program, _)| Path::new(program).exists());
    let package = package.map(|(_, manager)| ("ansible_pkg_mgr".to_owned(), Value::from(*manager)));
    std::iter::once(service).chain(package).collect()
}

/// Returns the manager of services, as ansible-core 2.19 names it.
fn service_manager() -> String {
    let first = modbox_files::read_file(Path::new("/proc/1/comm"), MAX_PROCESS_NAME).unwrap_or_default();
    let first = String::from_utf8_lossy(&first);
    let first = first.trim();
    if !first.is_empty() && !first.ends_with("sh") && !NAMELESS.contains(&first) {
        return BY_PROCESS.iter().find(|(name, _)| *name == first).map_or(first, |(_, manager)| manager).to_owned();
    }
    let there = |path: &&str| Path::new(path).exists();
    match (OF_SYSTEMD.iter().any(there), there(&"/sbin/openrc"), there(&"/etc/init.d")) {
        (true, ..) => "systemd".to_owned(),
        (_, true, _) => "openrc".to_owned(),
        (_, _, true) => "sysvinit".to_owned(),
        _ => "service".to_owned(),
    }
}
