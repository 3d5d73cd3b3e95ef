//! What a module needs besides paths with its arguments, as far as a policy does not grant it.

use std::path::Path;

use modbox_argument_spec::Metadata;
use modbox_contract::Dict;
use modbox_policy::{Access, Policy, Profile};
use modbox_vocabulary::GrantSource;

use crate::grants::managed::names::{has_form, is_reserved, kinds, names_in};
use crate::modules::managed::line::{Line, Want, given};
use crate::modules::managed::managed_table::ManagedTable;

/// A profile that a run needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedNeed {
    /// The profile.
    pub profile: Profile,
    /// The names that it has to be bound to.
    pub names: Vec<String>,
    /// Whether the run needs it for all names.
    pub is_whole: bool,
    /// The options whose values are names, under all their names. If `names` is empty, giving one of them needs the profile.
    pub options: Vec<String>,
}

/// What a run needs besides paths, and lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagedNeeds {
    /// Qualified name of the module.
    pub module: String,
    /// The profiles.
    pub profiles: Vec<ManagedNeed>,
    /// Rules for commands outside that no profile has.
    pub outside: Vec<String>,
    /// Paths that the module chooses itself and writes.
    pub write: Vec<String>,
    /// Rules for hosts that the module chooses itself.
    pub net: Vec<String>,
    /// What no rule covers, and why.
    pub uncovered: Vec<String>,
    /// Why the module works unconfined alone.
    pub unconfined: Option<String>,
}

impl ManagedNeed {
    /// Returns the names that are reserved. A policy has to spell them, and they are as powerful as root.
    #[must_use]
    pub fn reserved(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).filter(|name| is_reserved(name, self.profile)).collect()
    }
}

/// What is known of a run: of its options, its arguments, and the name of its user.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownRun<'r> {
    pub(super) known: Option<&'r Metadata>,
    pub(super) args: &'r Dict,
}

impl<'r> KnownRun<'r> {
    /// Returns all names of an option of the table, `NAME/ALIAS`, the own one first.
    pub(super) fn names_of(self, option: &'r str) -> Vec<&'r str> {
        let written = option.split('/');
        let spec = self.known.and_then(|metadata| metadata.argument_spec.options.get(own_name(option)));
        let aliases = spec.map(|spec| spec.aliases.as_slice()).unwrap_or_default();
        written.chain(aliases.iter().map(String::as_str)).collect()
    }

    /// Returns whether the conditions of a line hold.
    pub(super) fn holds(self, line: &'r Line) -> bool {
        line.conditions.iter().all(|condition| condition.holds(given(self.args, &self.names_of(&condition.option))))
    }
}

/// Returns the own name of an option of the table.
pub(super) fn own_name(option: &str) -> &str {
    option.split('/').next().unwrap_or(option)
}

impl ManagedTable {
    /// Returns what a run lacks. `user` is the name of its user.
    pub(crate) fn lacking(&self, known: Option<&Metadata>, args: &Dict, user: &str, policy: &Policy) -> ManagedNeeds {
        let run = KnownRun { known, args };
        let mut needs = ManagedNeeds { module: self.name.clone(), ..ManagedNeeds::default() };
        if policy.allows_everything() {
            return needs;
        }
        for line in self.lines.iter().filter(|line| run.holds(line)) {
            match &line.want {
                Want::Profile { profile, options, or_user } => {
                    let need = needs.need(run, *profile, options, or_user.then_some(user));
                    needs.add(need, policy);
                }
                Want::Outside(rule) => {
                    let is_granted = policy.outside().iter().any(|grant| grant.rule.to_string() == *rule);
                    needs.outside.extend((!is_granted).then(|| rule.clone()));
                }
                Want::Write(path) if policy.covers(Path::new(path), Access::Write) => {}
                Want::Write(path) => needs.write.push(path.clone()),
                Want::Net(rule) if policy.net().iter().any(|grant| grant.rule.to_string() == *rule) => {}
                Want::Net(rule) => needs.net.push(rule.clone()),
                Want::Uncovered(option, reason) => {
                    let value = given(args, &run.names_of(option));
                    let is_asked = value.is_some_and(|value| modbox_argument_spec::bool_of(value) != Ok(false));
                    needs.uncovered.extend(is_asked.then(|| format!("no rule covers `{option}`: {reason}")));
                }
                Want::Unconfined(reason) => needs.unconfined = Some(reason.clone()),
            }
        }
        needs
    }
}

impl ManagedNeeds {
    /// Returns whether nothing lacks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { module: _, profiles, outside, write, net, uncovered, unconfined } = self;
        profiles.is_empty()
            && [outside, write, net, uncovered].iter().all(|list| list.is_empty())
            && unconfined.is_none()
    }

    fn need(&mut self, run: KnownRun<'_>, profile: Profile, options: &[String], user: Option<&str>) -> ManagedNeed {
        let mut need = ManagedNeed { profile, names: Vec::new(), is_whole: options.is_empty(), options: Vec::new() };
        for option in options {
            let all = run.names_of(option);
            let value = given(run.args, &all);
            let names = value.map(|value| names_in(value, profile)).unwrap_or_default();
            for name in names.into_iter().chain(user.filter(|_| value.is_none()).map(str::to_owned)) {
                if !has_form(&name, profile) {
                    self.uncovered
                        .push(format!("no rule of `{profile}` covers `{name}`, which `{}` names", own_name(option)));
                } else if !need.names.contains(&name) {
                    need.names.push(name);
                }
            }
            need.options.extend(all.into_iter().map(str::to_owned));
        }
        need
    }

    /// Adds a need as far as the policy does not grant it. A need of all names stands for those of single ones.
    fn add(&mut self, mut need: ManagedNeed, policy: &Policy) {
        if is_granted(policy, need.profile, None) {
            return;
        }
        let had_names = !need.names.is_empty();
        need.names.retain(|name| !is_granted(policy, need.profile, Some(name)));
        if had_names && need.names.is_empty() {
            return;
        }
        match self.profiles.iter_mut().find(|other| other.profile == need.profile) {
            Some(other) if other.is_whole => {}
            Some(other) => *other = need,
            None => self.profiles.push(need),
        }
    }
}

/// Returns whether a policy grants a profile for a name, or for all names.
fn is_granted(policy: &Policy, profile: Profile, name: Option<&str>) -> bool {
    match (profile.commands(), name) {
        (Some(_), Some(name)) => policy.outside().iter().any(|grant| {
            is_of(&grant.source, profile) && kinds(profile).iter().any(|kind| grant.names.permit(*kind, name))
        }),
        (Some(_), None) => policy.outside().iter().any(|grant| is_of(&grant.source, profile) && grant.names.is_empty()),
        (None, _) => {
            let there = profile.paths().iter().filter_map(|path| Path::new(path).canonicalize().ok());
            there.filter(|real| !real.starts_with("/proc")).all(|real| policy.covers(&real, Access::Read))
        }
    }
}

/// Returns whether a grant is one of a profile.
pub(super) fn is_of(source: &GrantSource, profile: Profile) -> bool {
    matches!(source, GrantSource::Profile { name, .. } if *name == profile.as_str())
}
