//! The files that name lookup reads: the system's configuration, and the libraries of the configured services. They are
//! allowed only if connecting is granted, and without their directories.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::plan::{Absent, Links, PathRule, Rights};

/// The configuration files of the C library.
const CONFIGURATION: [&str; 7] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/ld.so.cache",
];

/// The directories of the C library, by distribution.
const LIBRARIES: [&str; 6] = [
    "/lib64",
    "/usr/lib64",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
];

/// The longest configuration of name services.
const MAX_CONFIGURATION: u64 = 64 << 10;

/// Lists the files. The C library does not need a file that does not exist.
pub(super) fn rules() -> Vec<PathRule> {
    let mut text = String::new();
    if let Ok(file) = File::open("/etc/nsswitch.conf") {
        // If the file cannot be read here, the C library cannot read it either.
        let _ = file.take(MAX_CONFIGURATION).read_to_string(&mut text);
    }
    let libraries = services(&text).flat_map(|service| {
        LIBRARIES.iter().map(move |folder| PathBuf::from(format!("{folder}/libnss_{service}.so.2")))
    });
    let rule = |path| PathRule { path, rights: Rights::ReadFile, links: Links::Follow, absent: Absent::Nothing };
    CONFIGURATION.iter().map(PathBuf::from).chain(libraries).map(rule).collect()
}

/// Returns the services that the configuration names for hosts, or the C library's default.
fn services(configuration: &str) -> impl Iterator<Item = &str> {
    let line = configuration.lines().find_map(|line| line.trim_start().strip_prefix("hosts:"));
    let line = line.map_or("dns files", |line| line.split('#').next().unwrap_or_default());
    let name = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    // `[NOTFOUND=return]` is a rule after a service, not a service.
    line.split_whitespace().filter(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_those_of_the_hosts_line() {
        let services = |text| services(text).collect::<Vec<_>>();
        let text =
            "passwd: files systemd\n# hosts: none\nhosts:  files mdns4_minimal [NOTFOUND=return] dns # ../evil\n";
        assert_eq!(services(text), ["files", "mdns4_minimal", "dns"]);
        assert_eq!(services(""), ["dns", "files"]);
        assert_eq!(services("hosts: ../../x files\n"), ["files"]);
    }
}
