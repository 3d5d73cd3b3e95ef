//! The runtime base: what of this machine every confined native module sees, for reading. One list, also for people:
//! `modbox policy show` prints it.
//!
//! The system's programs and libraries, and the files of `/etc` that programs need to start, to look up names and to
//! check certificates. No home folders, no passwords, no sockets of daemons, nothing of `/var` and `/run`, and of `/sys`
//! the number of processors. A link is a link in the base, too; what is not there is left out.

/// Folders with programs and libraries. On many systems most of them are links into the first.
pub const PROGRAMS: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// Files and folders of the configuration.
pub const CONFIGURATION: [&str; 35] = [
    // Starting programs.
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld-musl-x86_64.path",
    "/etc/ld-musl-aarch64.path",
    "/etc/alternatives",
    "/etc/shells",
    // Who and where.
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/hostname",
    // Which system.
    "/etc/os-release",
    "/etc/lsb-release",
    "/etc/debian_version",
    "/etc/redhat-release",
    "/etc/alpine-release",
    // Names and services, for those who are granted a network.
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    // Certificates of authorities, without their keys.
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates",
    // Interpreters.
    "/etc/python3",
    "/etc/mime.types",
    // How many processors.
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/possible",
];

/// Devices that are no hardware.
pub const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Lists the paths of this machine that are in it.
pub fn paths() -> impl Iterator<Item = &'static str> {
    PROGRAMS.into_iter().chain(CONFIGURATION)
}
