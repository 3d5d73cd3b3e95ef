//! Grants what arguments name besides paths, where `designated` is `manage`: the profile with the commands for it, bound to this name.
//!
//! - Only names that the caller wrote count, as for paths. One that a play made from results of modules counts where
//!   `designated-by-results` is `manage`, too.
//! - A reserved name grants nothing, and neither does a pattern. A policy has to spell what is reserved.
//! - A line of the table without options names nothing, so it grants nothing.

use std::path::Path;

use modbox_argument_spec::Metadata;
use modbox_policy::outside::BoundNames;
use modbox_policy::{Access, PathGrant, Policy, Profile};
use modbox_vocabulary::GrantSource;

use crate::grants::managed::names::{has_form, is_reserved, kinds, names_in};
use crate::grants::managed::needs::{KnownRun, is_of, own_name};
use crate::grants::outside_programs::outside_of_profile;
use crate::grants::way::{End, resolve};
use crate::modules::managed::line::{Want, given};
use crate::modules::managed::managed_table::ManagedTable;
use crate::request::argument_origin::ArgumentOrigin;
use crate::request::run_request::Arguments;

/// Grants what the arguments of a run name. Returns notes for the operator.
pub(crate) fn designate(
    table: &ManagedTable,
    known: Option<&Metadata>,
    arguments: &Arguments,
    origins: &[ArgumentOrigin],
    policy: &mut Policy,
) -> Vec<String> {
    let mut notes = Vec::new();
    if policy.allows_everything() || !policy.designated().allows_managing() {
        return notes;
    }
    let run = KnownRun { known, args: arguments.given() };
    let mut named: Vec<Named> = Vec::new();
    for line in table.lines.iter().filter(|line| run.holds(line)) {
        let Want::Profile { profile, options, .. } = &line.want else { continue };
        for option in options {
            let (all, option) = (run.names_of(option), own_name(option));
            let Some(value) = given(run.args, &all) else { continue };
            let origin = origins.iter().find(|origin| all.iter().any(|name| origin.is_of(name)));
            if let Some(origin) = origin.filter(|origin| !origin.designates(policy).allows_managing()) {
                notes.push(format!(
                    "`{option}` was made from {}, so naming something in it grants nothing; a policy grants `{profile}`",
                    origin.made_from
                ));
                continue;
            }
            let (granted, refused): (Vec<_>, Vec<_>) =
                names_in(value, *profile).into_iter().partition(|name| is_grantable(name, *profile));
            notes.extend(refused.iter().map(|name| refusal(option, name, *profile)));
            if granted.is_empty() {
                continue;
            }
            let made_from = origin.map(|origin| origin.made_from.clone());
            match named.iter_mut().find(|one| one.profile == *profile) {
                Some(one) => one.add(option, granted, made_from),
                None => named.push(Named { profile: *profile, names: granted, option: option.to_owned(), made_from }),
            }
        }
    }
    named.into_iter().for_each(|named| grant(policy, named));
    notes
}

/// The names that a profile is granted for. One command may name several of them.
struct Named {
    profile: Profile,
    names: Vec<String>,
    /// The options that name them.
    option: String,
    made_from: Option<String>,
}

impl Named {
    fn add(&mut self, option: &str, names: Vec<String>, made_from: Option<String>) {
        self.option = format!("{} and {option}", self.option);
        self.names.extend(names);
        self.made_from = self.made_from.take().or(made_from);
    }
}

/// Returns whether naming it grants anything.
fn is_grantable(name: &str, profile: Profile) -> bool {
    !name.contains(['*', '?']) && has_form(name, profile) && !is_reserved(name, profile)
}

fn refusal(option: &str, name: &str, profile: Profile) -> String {
    let why = match is_reserved(name, profile) {
        true => "is reserved: a policy has to spell it",
        false => "is not a single name that a rule covers",
    };
    format!("`{option}` names `{name}`, which grants nothing of `{profile}`: it {why}")
}

/// Grants a profile, bound to names.
fn grant(policy: &mut Policy, Named { profile, mut names, option, made_from }: Named) {
    // A command may name one of these beside one that a policy file names.
    let of_files = policy.outside().iter().filter(|grant| is_of(&grant.source, profile));
    names.extend(of_files.flat_map(|grant| grant.names.names().to_vec()));
    names.sort_unstable();
    names.dedup();
    let texts: Vec<&str> = names.iter().map(String::as_str).collect();
    // Each name has the form already. No names would mean all of them.
    let Some(names) = BoundNames::new(&texts, kinds(profile)).ok().filter(|names| !names.is_empty()) else { return };
    let named_by = Box::new(GrantSource::Argument { option, made_from });
    let source = GrantSource::Profile { name: profile.to_string(), named_by };
    for rule in profile.commands().map(|commands| commands.rules(true)).unwrap_or_default() {
        policy.allow_outside(outside_of_profile(rule, &names, &source));
    }
    profile.paths().iter().for_each(|path| show(policy, path, &source));
}

/// Grants a path of a profile for reading, where it exists and nothing grants it.
fn show(policy: &mut Policy, path: &str, source: &GrantSource) {
    let way = resolve(Path::new(path), true);
    let End::At(host, shape) = way.end else { return };
    let guest = host.to_str().map(str::to_owned).filter(|_| host.exists() && !host.starts_with("/proc"));
    let Some(guest) = guest else { return };
    if !policy.covers(&host, Access::Read) {
        let grant = PathGrant { host, shape, guest, access: Access::Read, source: source.clone() };
        // The operator's own grants come first, also where they contradict it.
        if policy.designate(grant).is_err() {
            return;
        }
    }
    for link in way.links.iter().filter_map(|link| link.to_str()) {
        policy.waypoints_mut().show_link(link.to_owned());
    }
}
