//! Profiles: named lists of what modules read that ask a machine what it has.
//!
//! A module that runs in a room without these files finds nothing, and calls that a success. Profiles grant reading alone.
//! They have no path that holds secrets on a machine as its distribution makes it. An operator grants one to a module, by its
//! name or its digest; modbox never does.

use std::fmt;

/// A named list of grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// What the machine is: hardware, distribution, names, mounts.
    Facts,
    /// Which packages are installed, and from where.
    Packages,
    /// Which services there are.
    Services,
    /// Which users and groups there are.
    Users,
}

const FACTS: &[&str] = &[
    "/etc/SuSE-release",
    "/etc/alpine-release",
    "/etc/ansible/facts.d",
    "/etc/arch-release",
    "/etc/debian_version",
    "/etc/fstab",
    "/etc/gentoo-release",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/iscsi/initiatorname.iscsi",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/machine-id",
    "/etc/mtab",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/redhat-release",
    "/etc/resolv.conf",
    "/etc/selinux/config",
    "/etc/ssh/ssh_host_dsa_key.pub",
    "/etc/ssh/ssh_host_ecdsa_key.pub",
    "/etc/ssh/ssh_host_ed25519_key.pub",
    "/etc/ssh/ssh_host_rsa_key.pub",
    "/etc/system-release",
    "/etc/timezone",
    "/run/systemd/system",
    "/sys",
    "/var/lib/dbus/machine-id",
];

const PACKAGES: &[&str] = &[
    "/etc/apk/repositories",
    "/etc/apk/world",
    "/etc/apt/apt.conf",
    "/etc/apt/apt.conf.d",
    "/etc/apt/preferences",
    "/etc/apt/preferences.d",
    "/etc/apt/sources.list",
    "/etc/apt/sources.list.d",
    "/etc/apt/trusted.gpg.d",
    "/etc/dnf/dnf.conf",
    "/etc/dpkg/dpkg.cfg",
    "/etc/dpkg/dpkg.cfg.d",
    "/etc/machine-id",
    "/etc/os-release",
    "/etc/pacman.conf",
    "/etc/rpm",
    "/etc/yum.conf",
    "/lib/apk/db",
    "/usr/lib/sysimage/rpm",
    "/var/lib/apt/extended_states",
    "/var/lib/apt/lists",
    "/var/lib/dpkg",
    "/var/lib/pacman",
    "/var/lib/rpm",
];

const SERVICES: &[&str] = &[
    "/etc/init",
    "/etc/init.d",
    "/etc/os-release",
    "/etc/rc0.d",
    "/etc/rc1.d",
    "/etc/rc2.d",
    "/etc/rc3.d",
    "/etc/rc4.d",
    "/etc/rc5.d",
    "/etc/rc6.d",
    "/etc/rcS.d",
    "/etc/systemd/system",
    "/run/systemd/system",
];

const USERS: &[&str] = &[
    "/etc/group",
    "/etc/login.defs",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/shells",
    "/etc/subgid",
    "/etc/subuid",
];

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 4] = [Self::Facts, Self::Packages, Self::Services, Self::Users];

    /// Returns the word that files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Facts => "facts",
            Self::Packages => "packages",
            Self::Services => "services",
            Self::Users => "users",
        }
    }

    /// Returns the paths that the profile grants for reading, where they exist.
    #[must_use]
    pub fn paths(self) -> &'static [&'static str] {
        match self {
            Self::Facts => FACTS,
            Self::Packages => PACKAGES,
            Self::Services => SERVICES,
            Self::Users => USERS,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|profile| profile.as_str() == text);
        found.ok_or_else(|| {
            format!("unknown profile `{text}`; expected one of `facts`, `packages`, `services`, `users`")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_lists_of_paths_without_repetitions() {
        for profile in Profile::ALL {
            assert_eq!(profile.to_string().parse(), Ok(profile));
            let paths = profile.paths();
            assert!(paths.is_sorted() && paths.iter().all(|path| path.starts_with('/')), "{profile}");
            assert!(!paths.iter().any(|path| path.contains("shadow") || *path == "/etc"), "{profile}");
        }
        assert!("all".parse::<Profile>().unwrap_err().contains("`all`"));
    }
}
