//! The runtime base: the paths of this machine that every confined native module may read. `modbox policy show` prints
//! the same list.
//!
//! It contains the system's programs and libraries, and the files of `/etc` that programs need to start, to look up
//! names and to check certificates. It contains no home folders, no passwords, no sockets of daemons, nothing of `/var`
//! and `/run`, and from `/sys` only the number of processors. A link is a link in the base, too; missing paths are left
//! out.

/// Folders with programs and libraries. On many systems most of them are links into the first.
pub const PROGRAMS: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// Files and folders of the configuration that programs and their libraries read.
const OF_PROGRAMS: [&str; 18] = [
    // Starting programs.
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld-musl-x86_64.path",
    "/etc/ld-musl-aarch64.path",
    "/etc/alternatives",
    // Looking up names.
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/locale.alias",
    // Certificates of authorities, without their keys.
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates",
    // Interpreters.
    "/etc/python3",
    // Number of processors.
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/possible",
];

/// Files of the configuration that modules read by themselves, too, also those that start no program.
pub const INFORMATION: [&str; 17] = [
    // Users and their shells.
    "/etc/passwd",
    "/etc/group",
    "/etc/shells",
    // Place and language.
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.conf",
    "/etc/hostname",
    // The system's release.
    "/etc/os-release",
    "/etc/lsb-release",
    "/etc/debian_version",
    "/etc/redhat-release",
    "/etc/alpine-release",
    // Names and services.
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/mime.types",
];

/// Files of the configuration that commands of a system change: a room whose module runs commands outside has copies, which
/// follow the machine's files.
pub const CHANGED_BY_COMMANDS: [&str; 6] =
    ["/etc/passwd", "/etc/group", "/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/hostname"];

/// Maximum size of such a copy in bytes, longer than any list of users that people maintain.
pub(crate) const MAX_COPY: u64 = 4 << 20;

/// Devices without hardware.
pub const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Files with the certificates of all authorities that the machine trusts; each system has one of them.
const AUTHORITIES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
];

/// Folders of the system in which Ansible looks for further authorities (ansible-core 2.19, `get_ca_certs`).
pub const AUTHORITY_FOLDERS: [&str; 3] =
    ["/etc/pki/ca-trust/extracted/pem", "/etc/pki/tls/certs", "/usr/share/ca-certificates/cacert.org"];

/// Returns the file with the certificates of the authorities that this machine trusts.
#[must_use]
pub fn authorities() -> Option<&'static str> {
    AUTHORITIES.into_iter().find(|path| std::path::Path::new(path).is_file())
}

/// Returns whether a file has a size to be copied into a room.
pub(crate) fn is_copied(stat: &rustix::fs::Stat) -> bool {
    u64::try_from(stat.st_size).is_ok_and(|size| size <= MAX_COPY)
}

/// Returns whether a path is one of the devices.
pub fn is_device(path: &std::path::Path) -> bool {
    DEVICES.iter().any(|device| path == std::path::Path::new(device))
}

/// Returns the files and folders of the configuration.
pub fn configuration() -> impl Iterator<Item = &'static str> {
    OF_PROGRAMS.into_iter().chain(INFORMATION)
}

/// Returns the paths of the base.
pub fn paths() -> impl Iterator<Item = &'static str> {
    PROGRAMS.into_iter().chain(configuration())
}
