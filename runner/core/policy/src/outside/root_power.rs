//! Which grants are as powerful as root, so that operators see it before a run does.
//!
//! The list warns; it proves nothing about grants that are not in it.

use std::path::Path;

use modbox_vocabulary::GrantSource;

use crate::access::Access;
use crate::grants::{PathGrant, Shape};
use crate::outside::kinds::Kind;
use crate::outside::outside_grant::OutsideGrant;
use crate::outside::reserved::{canonical, is_reserved};
use crate::outside::rule::{Item, OutsideRule, RuleProgram};

/// A grant that is as powerful as root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootPower {
    /// The grant: its capability and its subject.
    pub what: String,
    /// The reason.
    pub why: String,
    /// The source of the grant.
    pub source: GrantSource,
}

/// Paths whose files root runs or believes. A `*` stands for the rest of a name.
const BELIEVED: [&str; 46] = [
    "/bin",
    "/boot",
    "/dev/mem",
    "/dev/nvme*",
    "/dev/sd*",
    "/dev/vd*",
    "/etc/apt",
    "/etc/cron*",
    "/etc/dbus-1",
    "/etc/default",
    "/etc/dnf",
    "/etc/environment",
    "/etc/fstab",
    "/etc/group",
    "/etc/gshadow",
    "/etc/init.d",
    "/etc/ld.so*",
    "/etc/modprobe.d",
    "/etc/modules*",
    "/etc/pam.d",
    "/etc/passwd",
    "/etc/polkit-1",
    "/etc/profile*",
    "/etc/rc*",
    "/etc/security",
    "/etc/shadow",
    "/etc/ssh",
    "/etc/sudo*",
    "/etc/sysctl*",
    "/etc/systemd",
    "/etc/udev",
    "/etc/yum*",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/root",
    "/run/systemd",
    "/sbin",
    "/sys",
    "/usr",
    "/var/cache/apt",
    "/var/lib/apt",
    "/var/lib/dpkg",
    "/var/lib/systemd",
    "/var/spool/cron",
];

/// Programs that run, load or place what an argument names.
const CARRIERS: [&str; 62] = [
    "at",
    "awk",
    "bash",
    "batch",
    "busybox",
    "chmod",
    "chown",
    "chpasswd",
    "chroot",
    "cp",
    "crontab",
    "dash",
    "dd",
    "docker",
    "dpkg",
    "dpkg-deb",
    "env",
    "find",
    "gawk",
    "gem",
    "git",
    "insmod",
    "install",
    "ip",
    "ln",
    "make",
    "mawk",
    "mount",
    "mv",
    "node",
    "npm",
    "nsenter",
    "patch",
    "perl",
    "php",
    "pip",
    "pip3",
    "podman",
    "python",
    "python3",
    "rpm",
    "rsync",
    "ruby",
    "runuser",
    "sed",
    "setpriv",
    "sh",
    "socat",
    "ssh",
    "su",
    "sudo",
    "systemd-run",
    "tar",
    "tee",
    "unshare",
    "unzip",
    "usermod",
    "vipw",
    "visudo",
    "xargs",
    "zsh",
    "ksh",
];

impl RootPower {
    /// Returns the power of a granted path, if it is as powerful as root.
    #[must_use]
    pub fn of_path(grant: &PathGrant) -> Option<Self> {
        let host = grant.host.to_str()?;
        let is_inside = |believed: &str| match believed.strip_suffix('*') {
            Some(beginning) => host.starts_with(beginning),
            None => grant.host.starts_with(believed),
        };
        let is_around =
            |believed: &str| grant.shape == Shape::Directory && Path::new(believed).starts_with(&grant.host);
        let believed =
            BELIEVED.iter().find(|it| is_inside(it) || is_around(it)).filter(|_| grant.access == Access::Write)?;
        Some(Self {
            what: format!("write {host}"),
            why: format!("root runs or believes what is in `{believed}`"),
            source: grant.source.clone(),
        })
    }

    /// Returns the powers of a granted command that are as powerful as root.
    #[must_use]
    pub fn of_command(grant: &OutsideGrant) -> Vec<Self> {
        let power =
            |why: String| RootPower { what: format!("outside {}", grant.shown()), why, source: grant.source.clone() };
        // All rules of a profile reach the same names.
        let named = |name: &str| Self {
            what: format!("the name `{name}`"),
            why: "it is reserved, since it stops the machine or gives root's rights".to_owned(),
            source: grant.source.clone(),
        };
        let kinds: Vec<Kind> = grant.rule.kinds().filter(|kind| kind.is_bound()).collect();
        let mut powers: Vec<Self> = grant.names.reserved(&kinds).into_iter().map(named).collect();
        let spelled = spelled_names(&grant.rule).into_iter();
        powers.extend(spelled.map(|name| power(format!("it spells the reserved name `{name}`"))));
        if grant.is_own_rule() && carries_operands(&grant.rule) {
            powers.push(power("the program runs, loads or places what an argument names".to_owned()));
        }
        powers
    }
}

/// Returns the name of the program, without its folder.
fn program_name(rule: &OutsideRule) -> &str {
    match rule.program() {
        RuleProgram::Named(program) => program.rsplit('/').next().unwrap_or(program),
        RuleProgram::Script => "service",
    }
}

fn carries_operands(rule: &OutsideRule) -> bool {
    CARRIERS.contains(&program_name(rule)) && rule.kinds().next().is_some()
}

/// Returns the reserved names among the words of a rule.
fn spelled_names(rule: &OutsideRule) -> Vec<String> {
    let kind = match program_name(rule) {
        "systemctl" | "service" | "invoke-rc.d" | "update-rc.d" | "rc-service" => Kind::Unit,
        "sysctl" => Kind::Setting,
        "useradd" | "usermod" | "userdel" | "groupadd" | "groupmod" | "groupdel" | "gpasswd" | "passwd" | "chage"
        | "crontab" | "adduser" | "addgroup" | "chpasswd" => Kind::User,
        _ => return Vec::new(),
    };
    let words = rule.items.iter().flat_map(|item| match item {
        Item::Word(word) => vec![word],
        Item::Repeated(_) => Vec::new(),
        Item::One(group) | Item::Any(group) => group.alternatives().iter().flatten().collect(),
    });
    let names = words.flat_map(|word| word.before.split(','));
    names.filter(|name| is_reserved(kind, &canonical(kind, name))).map(str::to_owned).collect()
}
