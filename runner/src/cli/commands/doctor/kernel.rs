//! The kernel's parts that confine modules: Landlock, seccomp, namespaces, control groups.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::check::Check;
use super::trial::Trial;
use crate::cli::process::environment::Environment;

/// Bytes of a file of the kernel that are read; each is one line.
const MAX_SETTING: u64 = 4096;

/// Settings that can turn namespaces off for ordinary users: the file, the value that does, and the remedy.
const SETTINGS: [(&str, &str, &str); 3] = [
    ("/proc/sys/user/max_user_namespaces", "0", "run `sysctl user.max_user_namespaces=15000` as root"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "run `sysctl kernel.unprivileged_userns_clone=1` as root"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "give modbox an AppArmor profile with `userns`, or run \
         `sysctl kernel.apparmor_restrict_unprivileged_userns=0` as root",
    ),
];

/// What tells a container engine: a variable that it sets, or a file that it makes.
#[derive(Debug, Clone, Copy)]
enum Sign {
    Variable(&'static str),
    File(&'static str),
}

/// Container engines, and what gives a container namespaces there. The first that is found counts.
const ENGINES: [(Sign, &str); 3] = [
    (
        Sign::Variable("KUBERNETES_SERVICE_HOST"),
        "give the container `procMount: Unmasked` and `seccompProfile: {type: Unconfined}`",
    ),
    (
        Sign::File("/.dockerenv"),
        "start the container with `docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined`",
    ),
    (Sign::File("/run/.containerenv"), "start the container with `podman run --security-opt unmask=ALL`"),
];

/// Returns the checks of the kernel.
pub(super) fn checks(environment: &Environment, native: &Trial) -> Vec<Check> {
    let probe = modbox_kernel::probe();
    vec![kernel(), landlock(&probe), seccomp(&probe), notification(), namespaces(environment, native), control_groups()]
}

fn kernel() -> Check {
    let release = setting("/proc/sys/kernel/osrelease");
    match release {
        Some(release) => Check::ok("kernel", format!("Linux {} on {}", release.trim(), std::env::consts::ARCH)),
        None => Check::missing("kernel", "`/proc` is not there", "mount it: runs read it"),
    }
}

fn landlock(probe: &modbox_kernel::Probe) -> Check {
    let name = "Landlock";
    let is_complete = modbox_kernel::Probe { seccomp: true, ..probe.clone() }.level() >= modbox_kernel::DEFAULT_LEAST;
    match &probe.landlock {
        Ok(version) if is_complete => Check::ok(name, format!("version {version}")),
        Ok(version) => {
            let found = format!("version {version} does not cover every change of a file");
            Check::missing(name, found, "use Linux 6.2 or newer, or accept less with `--min-confinement 1`")
        }
        Err(cause) => {
            let remedy = "use Linux 6.2 or newer with `landlock` in the boot parameter `lsm=`, or accept less with \
                          `--min-confinement 1`";
            Check::missing(name, cause.clone(), remedy)
        }
    }
}

fn seccomp(probe: &modbox_kernel::Probe) -> Check {
    match probe.seccomp {
        true => Check::ok("seccomp", "filters of system calls can be installed"),
        false => Check::missing(
            "seccomp",
            "filters of system calls cannot be installed",
            "use a kernel with CONFIG_SECCOMP_FILTER, or accept less with `--min-confinement 1`",
        ),
    }
}

fn notification() -> Check {
    let name = "seccomp notifications";
    let actions = setting("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    match actions.split_whitespace().any(|action| action == "user_notif") {
        true => Check::ok(name, "refused system calls of native modules are named"),
        false => Check::note(
            name,
            "not available, so refused system calls of native modules are not named",
            "use Linux 5.0 or newer",
        ),
    }
}

fn namespaces(environment: &Environment, native: &Trial) -> Check {
    let name = "user namespaces";
    let mut layers = native.layers().iter();
    if layers.any(|layer| layer.is_namespace()) {
        return Check::ok(name, "native modules run in their own users, mounts, processes and network");
    }
    if native.layers().is_empty() && native.failure().is_some() {
        return Check::note(name, "not tried, since no native module ran", "see below");
    }
    let off = SETTINGS.iter().find(|(file, off, _)| setting(file).is_some_and(|value| value.trim() == *off));
    let missing = native.missing();
    match off {
        Some((file, value, remedy)) => Check::note(name, format!("refused by `{file}`, which is {value}"), remedy),
        None if missing.is_empty() => Check::note(name, "not available to this user", remedy(environment)),
        None => Check::note(name, missing, remedy(environment)),
    }
}

/// Returns what gives this container namespaces.
fn remedy(environment: &Environment) -> &'static str {
    let is_here = |sign: Sign| match sign {
        Sign::Variable(name) => environment.variable(name).is_some(),
        Sign::File(path) => Path::new(path).exists(),
    };
    let engine = ENGINES.iter().find(|(sign, _)| is_here(*sign));
    engine.map_or("in a container, allow it `unshare` and `mount`", |(_, remedy)| remedy)
}

fn control_groups() -> Check {
    let name = "control groups";
    match modbox_native::control_groups() {
        groups if groups.is_empty() => Check::note(
            name,
            "none is delegated to this user, so memory is counted by modbox itself",
            "start modbox with `systemd-run --user --scope -p Delegate=yes`, or as root",
        ),
        groups => Check::ok(name, groups.join("; ")),
    }
}

fn setting(path: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_SETTING).read_to_string(&mut text).ok()?;
    Some(text)
}
