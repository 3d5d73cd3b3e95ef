//! Reads `gather_subset` by ansible-core's rules.

use std::collections::BTreeSet;

/// A subset of facts that are gathered together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subset {
    Platform,
    Distribution,
    DateTime,
    Env,
    Cmdline,
    Fips,
    Dns,
    LoadAvg,
    Hardware,
}

/// The names of each subset.
const NAMES: [(Subset, &[&str]); 9] = [
    (
        Subset::Platform,
        &["platform", "system", "kernel", "kernel_version", "machine", "python_version", "architecture", "machine_id"],
    ),
    (
        Subset::Distribution,
        &["distribution", "distribution_version", "distribution_release", "distribution_major_version", "os_family"],
    ),
    (Subset::DateTime, &["date_time"]),
    (Subset::Env, &["env"]),
    (Subset::Cmdline, &["cmdline"]),
    (Subset::Fips, &["fips"]),
    (Subset::Dns, &["dns"]),
    (Subset::LoadAvg, &["loadavg"]),
    (Subset::Hardware, &["hardware", "processor", "processor_cores", "processor_count", "mounts", "devices"]),
];

/// The subsets that are gathered unless they are left out by name.
const MINIMAL: [Subset; 7] =
    [Subset::Platform, Subset::Distribution, Subset::DateTime, Subset::Env, Subset::Cmdline, Subset::Fips, Subset::Dns];

/// Subsets of Ansible that a sandbox cannot gather. Their names are accepted and yield no facts.
const UNKNOWABLE: [&str; 30] = [
    "all_ipv4_addresses",
    "all_ipv6_addresses",
    "apparmor",
    "caps",
    "chroot",
    "default_ipv4",
    "default_ipv6",
    "facter",
    "fibre_channel_wwn",
    "interfaces",
    "is_chroot",
    "iscsi",
    "local",
    "lsb",
    "network",
    "nvme",
    "ohai",
    "pkg_mgr",
    "pkg_mgr_facts",
    "python",
    "selinux",
    "service_mgr",
    "ssh_pub_keys",
    "systemd",
    "user",
    "virtual",
    "virtualization_role",
    "virtualization_tech_guest",
    "virtualization_tech_host",
    "virtualization_type",
];

/// Returns the subsets that a list of names selects.
///
/// # Errors
///
/// A name is unknown.
pub(crate) fn chosen(names: &[String]) -> Result<BTreeSet<Subset>, String> {
    let all: BTreeSet<Subset> = NAMES.iter().map(|(subset, _)| *subset).collect();
    let minimal = BTreeSet::from(MINIMAL);
    let (mut wanted, mut excluded, mut named) = (BTreeSet::new(), BTreeSet::new(), false);
    let mut explicit = BTreeSet::new();
    for name in names {
        match name.as_str() {
            "all" => wanted.extend(&all),
            "min" => wanted.extend(&minimal),
            "!all" => excluded.extend(all.difference(&minimal)),
            "!min" => excluded.extend(&minimal),
            _ => match name.strip_prefix('!') {
                Some(name) => excluded.extend(subset(name)?),
                None => {
                    explicit.extend(subset(name)?);
                    // A name counts even if it yields no facts.
                    named = true;
                }
            },
        }
    }
    wanted.extend(&explicit);
    if wanted.is_empty() && !named {
        wanted.clone_from(&all);
    }
    wanted.retain(|subset| !excluded.contains(subset) || explicit.contains(subset));
    wanted.extend(minimal.difference(&excluded));
    Ok(wanted)
}

/// Returns the subset with a name, or `None` if it yields no facts.
fn subset(name: &str) -> Result<Option<Subset>, String> {
    let found = NAMES.iter().find(|(_, names)| names.contains(&name)).map(|(subset, _)| *subset);
    match found {
        None if !UNKNOWABLE.contains(&name) => {
            let known: Vec<&str> = NAMES.iter().map(|(_, names)| names[0]).collect();
            Err(format!(
                "Bad subset '{name}' given to Ansible. gather_subset options allowed: all, min, {}",
                known.join(", ")
            ))
        }
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], expect: &[Subset]) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(chosen(&names), Ok(BTreeSet::from_iter(expect.iter().copied())), "{names:?}");
    }

    #[test]
    fn names_choose_as_in_ansible() {
        let with = |more: &[Subset]| [&MINIMAL[..], more].concat();
        check(&["all"], &with(&[Subset::LoadAvg, Subset::Hardware]));
        check(&[], &with(&[Subset::LoadAvg, Subset::Hardware]));
        check(&["min"], &MINIMAL);
        check(&["!all"], &MINIMAL);
        check(&["!all", "!min"], &[]);
        check(&["!all", "hardware"], &with(&[Subset::Hardware]));
        check(&["!all", "!min", "hardware"], &[Subset::Hardware]);
        check(&["!hardware"], &with(&[Subset::LoadAvg]));
        check(&["network"], &MINIMAL);
        check(&["!min", "env"], &[Subset::Env]);
        assert!(chosen(&["nonsense".to_owned()]).unwrap_err().starts_with("Bad subset 'nonsense' given to Ansible."));
    }
}
