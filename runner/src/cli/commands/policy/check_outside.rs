//! Warnings about commands outside, and about all grants that are as powerful as root.

use modbox_policy::outside::{OutsideGrant, RootPower, RuleProgram};
use modbox_policy::run::STANDARD_DIRECTORIES;
use modbox_policy::{FileRules, Place, Rules};

use super::findings::Finding;

/// Adds the warnings about the rules of a section. `places` are those of its paths and of its commands outside.
pub(super) fn check(
    written: &FileRules,
    rules: &Rules,
    (paths, commands): (&[Place], &[Place]),
    findings: &mut Vec<Finding>,
) {
    let of_paths = rules.paths.iter().zip(paths).filter_map(|(grant, place)| Some((RootPower::of_path(grant)?, place)));
    let of_commands = rules.outside.iter().zip(commands);
    let of_commands =
        of_commands.flat_map(|(grant, place)| RootPower::of_command(grant).into_iter().map(move |it| (it, place)));
    let place_of = |text: &str| written.allow.own.iter().find(|own| own.value == text).map(|own| &own.place);
    let of_owners = rules.own.iter().filter_map(|grant| Some((RootPower::of_owner(grant)?, place_of(&grant.written)?)));
    for (RootPower { what, why, .. }, place) in of_paths.chain(of_owners).chain(of_commands) {
        findings.push(Finding::warning(Some(*place), format!("as powerful as root: {what}: {why}")));
    }
    if let Some(flag) = written.unconfined.as_ref().filter(|flag| flag.value) {
        let text = "as powerful as root: `unconfined`: nothing confines the module, which can do all that its user can";
        findings.push(Finding::warning(Some(flag.place), text.to_owned()));
    }
    for (grant, place) in rules.outside.iter().zip(commands) {
        findings.extend(absent_program(grant).map(|text| Finding::warning(Some(*place), text)));
    }
    for profile in written.profiles.iter().filter(|profile| !profile.value.names.is_empty()) {
        let by_input = profile.value.profile.commands().map(|commands| commands.by_input).unwrap_or_default();
        if !by_input.is_empty() {
            let commands = by_input.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join(" and ");
            let text = format!("the names do not bind {commands}, which read names from their input");
            findings.push(Finding::warning(Some(profile.place), text));
        }
    }
}

/// Returns a warning about a rule of the file whose program this machine lacks. Profiles have rules for several distributions.
fn absent_program(grant: &OutsideGrant) -> Option<String> {
    let RuleProgram::Named(program) = grant.rule.program() else { return None };
    let is_absent = grant.programs.iter().all(|path| !path.exists());
    let place = match program.contains('/') {
        true => String::new(),
        false => format!(" in {}", STANDARD_DIRECTORIES.join(", ")),
    };
    (grant.is_own_rule() && is_absent)
        .then(|| format!("there is no program `{program}`{place} on this machine, so the rule covers nothing here"))
}
