//! Profiles: named lists of what modules need that ask a machine what it has, or that manage it.
//!
//! A module that asks finds nothing in a room without the machine's files, and calls that a success. The profiles for such modules
//! grant reading alone. They have no path that holds secrets on a machine as its distribution makes it. The profiles that manage
//! add rules for commands outside. An operator grants one to a module or a task; modbox never does.

use std::fmt;

use crate::outside::{BoundNames, shipped};

/// A profile that is granted, with the names that it binds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedProfile {
    /// The profile.
    pub profile: Profile,
    /// The names; none for all but the reserved ones.
    pub names: BoundNames,
}

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
    /// Tables of cron.
    ManageCron,
    /// Rules of the firewall.
    ManageFirewall,
    /// The name, the clock, the languages and the alternatives.
    ManageHost,
    /// Parameters and modules of the kernel.
    ManageKernel,
    /// Which packages are installed.
    ManagePackages,
    /// Which services run.
    ManageServices,
    /// Users and groups.
    ManageUsers,
    /// The lists of packages.
    UpdatePackages,
}

const FACTS: &[&str] = &[
    "/.dockerenv",
    "/.dockerinit",
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
    "/run/systemd/container",
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
    "/var/cache/apt",
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
    pub const ALL: [Self; 12] = [
        Self::Facts,
        Self::Packages,
        Self::Services,
        Self::Users,
        Self::ManageCron,
        Self::ManageFirewall,
        Self::ManageHost,
        Self::ManageKernel,
        Self::ManagePackages,
        Self::ManageServices,
        Self::ManageUsers,
        Self::UpdatePackages,
    ];

    /// Returns the word that files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Facts => "facts",
            Self::Packages => "packages",
            Self::Services => "services",
            Self::Users => "users",
            Self::ManageCron => "manage-cron",
            Self::ManageFirewall => "manage-firewall",
            Self::ManageHost => "manage-host",
            Self::ManageKernel => "manage-kernel",
            Self::ManagePackages => "manage-packages",
            Self::ManageServices => "manage-services",
            Self::ManageUsers => "manage-users",
            Self::UpdatePackages => "update-packages",
        }
    }

    /// Returns the paths that the profile grants for reading, where they exist.
    #[must_use]
    pub fn paths(self) -> &'static [&'static str] {
        match self {
            Self::Facts => FACTS,
            Self::Packages | Self::ManagePackages | Self::UpdatePackages => PACKAGES,
            Self::Services | Self::ManageServices => SERVICES,
            Self::Users | Self::ManageUsers => USERS,
            Self::ManageCron | Self::ManageFirewall | Self::ManageHost | Self::ManageKernel => &[],
        }
    }

    /// Returns the paths that the profile grants for writing, where they exist. `apt` refreshes its lists in its own process.
    #[must_use]
    pub fn written_paths(self) -> &'static [&'static str] {
        match self {
            Self::UpdatePackages => &["/var/cache/apt", "/var/lib/apt/lists"],
            _ => &[],
        }
    }

    /// Returns the rules for commands outside, if the profile has some.
    #[must_use]
    pub fn commands(self) -> Option<&'static shipped::ShippedRules> {
        match self {
            Self::Facts | Self::Packages | Self::Services | Self::Users => None,
            Self::ManageCron => Some(&shipped::CRON),
            Self::ManageFirewall => Some(&shipped::FIREWALL),
            Self::ManageHost => Some(&shipped::HOST),
            Self::ManageKernel => Some(&shipped::KERNEL),
            Self::ManagePackages => Some(&shipped::PACKAGES),
            Self::ManageServices => Some(&shipped::SERVICES),
            Self::ManageUsers => Some(&shipped::ACCOUNTS),
            Self::UpdatePackages => Some(&shipped::UPDATES),
        }
    }

    /// Returns why the profile is as powerful as root with any names, if it is.
    #[must_use]
    pub fn as_powerful_as_root(self) -> Option<&'static str> {
        (self == Self::UpdatePackages)
            .then_some("package managers believe their lists and their cache, which it may write")
    }

    /// Returns the words of all profiles, for messages.
    fn list() -> String {
        Self::ALL.map(|profile| format!("`{profile}`")).join(", ")
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
        found.ok_or_else(|| format!("unknown profile `{text}`; expected one of {}", Self::list()))
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
        let error = "all".parse::<Profile>().unwrap_err();
        assert!(error.contains("`all`") && error.ends_with("`manage-users`, `update-packages`"), "{error}");
    }
}
