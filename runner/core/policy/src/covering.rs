//! Which profile covers a command that a module has started, and the names that it has to bind for it: the way from what a module
//! did to the rule that permits it.

use std::sync::LazyLock;

use modbox_vocabulary::GrantSource;

use crate::outside::{BoundNames, Kind, Operand, OutsideGrant, RuleProgram, canonical};
use crate::run::STANDARD_DIRECTORIES;
use crate::written::profile::Profile;

/// Maximum number of names of one command.
const MAX_NAMES: usize = 512;

/// The profiles in the order in which they are tried. What only refreshes lists needs no profile that installs.
const TRIED: [Profile; 8] = [
    Profile::ManageServices,
    Profile::ManageUsers,
    Profile::ManageCron,
    Profile::ManageKernel,
    Profile::ManageHost,
    Profile::ManageFirewall,
    Profile::UpdatePackages,
    Profile::ManagePackages,
];

/// The profile that covers a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covering {
    /// What the policy file has to name for the command to be granted.
    pub profile: Profile,
    /// The names that it has to bind for this command: as far as they are known by its words.
    pub names: Vec<String>,
    /// Whether only the profile without names covers it, since it changes all things at once.
    pub is_whole: bool,
    /// The arguments that are files with settings, whose keys are more names.
    pub settings: Vec<String>,
}

/// The rules of a profile that are for one program.
struct ProfileRules {
    profile: Profile,
    bound: Vec<OutsideGrant>,
    unbound: Vec<OutsideGrant>,
}

static RULES: LazyLock<Vec<ProfileRules>> = LazyLock::new(|| {
    let grants = |profile: Profile, is_bound: bool| {
        let rules = profile.commands().map(|commands| commands.rules(is_bound)).unwrap_or_default();
        rules.into_iter().map(|shipped| OutsideGrant {
            programs: match shipped.rule.program() {
                RuleProgram::Named(name) => STANDARD_DIRECTORIES.map(|folder| format!("{folder}/{name}").into()).into(),
                RuleProgram::Script => Vec::new(),
            },
            rule: shipped.rule,
            names: BoundNames::default(),
            is_query: shipped.is_query,
            is_shipped: true,
            source: GrantSource::named("profile"),
        })
    };
    let rules = |profile| ProfileRules {
        profile,
        bound: grants(profile, true).collect(),
        unbound: grants(profile, false).collect(),
    };
    TRIED.map(rules).into()
});

/// Returns the profile that covers a command; `None` if no shipped rule does. `program` is the absolute path or the name by which
/// it is called, `arguments` are the words after the first one, and `user` is the name of the user as which it runs.
#[must_use]
pub fn covering(program: &str, arguments: &[String], user: &str) -> Option<Covering> {
    RULES.iter().find_map(|rules| covered_by(rules, program, arguments, user))
}

fn covered_by(rules: &ProfileRules, program: &str, arguments: &[String], user: &str) -> Option<Covering> {
    let commands = rules.profile.commands()?;
    let (bound, unbound) = (&rules.bound, &rules.unbound);
    bound
        .iter()
        .find(|grant| grant.is_for(program).is_some())
        .or_else(|| unbound.iter().find(|grant| grant.is_for(program).is_some()))?;
    let candidates = candidates(program, arguments, user, commands.kinds);
    let texts: Vec<&str> = candidates.iter().map(String::as_str).collect();
    let names = BoundNames::new(&texts, commands.kinds).ok().filter(|_| !candidates.is_empty());
    // What such a command changes is in its input, and names bind no input.
    let is_by_input = |grant: &OutsideGrant| {
        let text = grant.rule.to_string();
        commands.by_input.iter().any(|start| text.starts_with(start))
    };
    let by_name = names.and_then(|names| {
        bound.iter().filter(|grant| !is_by_input(grant)).find_map(|grant| {
            let grant = OutsideGrant { names: names.clone(), ..grant.clone() };
            let command = grant.covers(program, arguments, user)?;
            let mut named = operand_names(&command.operands);
            if let RuleProgram::Script = grant.rule.program() {
                named.extend(script_unit(program));
            }
            let is_crontab = program.rsplit('/').next() == Some("crontab");
            if is_crontab && !command.operands.iter().any(|operand| operand.kind == Kind::User) {
                named.push(user.to_owned());
            }
            Some(covering_of(rules.profile, named, false, &command.operands))
        })
    });
    by_name.or_else(|| {
        unbound.iter().find_map(|grant| {
            let command = grant.covers(program, arguments, user)?;
            let is_whole = is_by_input(grant) || !bound.iter().any(|other| other.rule == grant.rule);
            Some(covering_of(rules.profile, operand_names(&command.operands), is_whole, &command.operands))
        })
    })
}

fn covering_of(profile: Profile, mut names: Vec<String>, is_whole: bool, operands: &[Operand]) -> Covering {
    names.sort();
    names.dedup();
    let settings = operands.iter().filter(|operand| operand.kind == Kind::Settings);
    Covering { profile, names, is_whole, settings: settings.map(|operand| operand.value.clone()).collect() }
}

/// Returns the names that operands stand for.
fn operand_names(operands: &[Operand]) -> Vec<String> {
    let of = |operand: &Operand| match operand.kind {
        Kind::Users => operand.value.split(',').map(str::to_owned).collect(),
        kind if kind.is_bound() => vec![canonical(kind, &operand.value)],
        _ => Vec::new(),
    };
    operands.iter().flat_map(of).collect()
}

/// Returns the unit whose script a program is.
fn script_unit(program: &str) -> Option<String> {
    program.strip_prefix("/etc/init.d/").map(str::to_owned)
}

/// Returns every word that may be a name.
fn candidates(program: &str, arguments: &[String], user: &str, kinds: &[Kind]) -> Vec<String> {
    let is_name = |word: &&str| kinds.iter().any(|kind| kind.has_form(word));
    let with_key = |word: &str| canonical(Kind::Setting, word);
    let words = arguments.iter().flat_map(|word| word.split(',').chain([word.as_str()]));
    let keys: Vec<String> = arguments.iter().filter(|word| word.contains('=')).map(|word| with_key(word)).collect();
    let all = words.chain(keys.iter().map(String::as_str)).chain([user]);
    let mut found: Vec<String> = all.filter(is_name).map(str::to_owned).collect();
    found.extend(script_unit(program).filter(|unit| kinds.iter().any(|kind| kind.has_form(unit))));
    found.sort();
    found.dedup();
    found.truncate(MAX_NAMES);
    found
}

/// Returns the keys of a file that `sysctl -p` reads, in their order.
#[must_use]
pub fn setting_keys(content: &str) -> Vec<String> {
    let lines = content.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    let key = |line: &str| line.split_once('=').map(|(key, _)| key.trim().trim_start_matches('-').trim().to_owned());
    let keys = lines.filter_map(key).filter(|key| Kind::Key.has_form(key));
    keys.map(|key| canonical(Kind::Key, &key)).take(MAX_NAMES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(line: &str) -> Option<(Profile, Vec<String>, bool)> {
        let words = modbox_vocabulary::quoting::split(line).unwrap();
        covering(&words[0], &words[1..], "root").map(|it| (it.profile, it.names, it.is_whole))
    }

    #[test]
    fn commands_of_modules_are_covered_with_their_names() {
        for (line, profile, names, is_whole) in [
            ("/usr/bin/systemctl restart nginx", Profile::ManageServices, &["nginx"][..], false),
            ("/etc/init.d/cron status", Profile::ManageServices, &["cron"], false),
            ("/usr/sbin/service nginx start", Profile::ManageServices, &["nginx"], false),
            ("/usr/sbin/useradd -g webadm -s /bin/bash -m deploy", Profile::ManageUsers, &["deploy", "webadm"], false),
            ("/usr/sbin/usermod -G sudo,adm deploy", Profile::ManageUsers, &["adm", "deploy", "sudo"], false),
            ("/usr/bin/crontab -u deploy /tmp/x", Profile::ManageCron, &["deploy"], false),
            ("/usr/bin/crontab /tmp/x", Profile::ManageCron, &["root"], false),
            ("/usr/bin/crontab -l", Profile::ManageCron, &["root"], false),
            (
                "/usr/bin/apt-get -y install git nginx-light=1.2",
                Profile::ManagePackages,
                &["git", "nginx-light"],
                false,
            ),
            ("/usr/bin/apt-get update", Profile::UpdatePackages, &[], false),
            ("/usr/bin/apt-get -y dist-upgrade", Profile::ManagePackages, &[], true),
            ("/usr/bin/dpkg --set-selections", Profile::ManagePackages, &[], true),
            ("/usr/sbin/sysctl -w vm.swappiness=10", Profile::ManageKernel, &["vm.swappiness"], false),
            ("/usr/sbin/modprobe dummy", Profile::ManageKernel, &["dummy"], false),
            ("/usr/bin/timedatectl set-timezone UTC", Profile::ManageHost, &[], false),
        ] {
            let names = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
            assert_eq!(covered(line), Some((profile, names, is_whole)), "{line}");
        }
    }

    #[test]
    fn other_commands_are_not_covered() {
        for line in [
            "/usr/bin/apt-get -o APT::Update::Pre-Invoke::=id update",
            "/usr/sbin/visudo -cf /tmp/x",
            "/srv/bin/systemctl restart nginx",
            "/bin/sh -c 'systemctl restart nginx'",
            "/usr/bin/dpkg -i /tmp/x.deb",
        ] {
            assert_eq!(covered(line), None, "{line}");
        }
    }

    #[test]
    fn the_names_are_enough_for_the_command() {
        let words: Vec<String> = ["-G", "sudo", "deploy"].map(str::to_owned).into();
        let found = covering("/usr/sbin/usermod", &words, "root").unwrap();
        let names: Vec<&str> = found.names.iter().map(String::as_str).collect();
        let commands = found.profile.commands().unwrap();
        let names = BoundNames::new(&names, commands.kinds).unwrap();
        let passes = |names: &BoundNames| {
            commands.rules(true).iter().any(|shipped| {
                shipped.rule.program() == &RuleProgram::Named("usermod".to_owned())
                    && shipped.rule.matches(&["-G", "sudo", "deploy"], names).is_some()
            })
        };
        assert!(passes(&names) && !passes(&BoundNames::new(&["deploy"], commands.kinds).unwrap()));
    }

    #[test]
    fn keys_of_settings_are_names() {
        assert_eq!(
            setting_keys("# a\nvm.swappiness = 10\n-net.ipv4.ip_forward=1\nx\n; b=1\n"),
            ["vm.swappiness", "net.ipv4.ip_forward"]
        );
    }
}
