//! The rules that merge the sources of a policy.
//!
//! The order of the sources is: the system's policy file, the user's, those of `--policy`; then the rules of each file
//! for the module of the run, by name or by digest, and for its task; the command line last.
//!
//! 1. **Grants add up.** A grant of any source holds; no source can remove a grant of another one. So the order does
//!    not matter. If two sources grant the same path, the wider access holds. (If two sources grant the same variable,
//!    the later value holds.)
//! 2. **The strictest restriction wins.** The highest required level of confinement holds. Every audit file gets its
//!    line. The strictest `designated` holds, or `write` when no source sets it: a source can lower it and none can
//!    raise it again. `manage`, which is above the default, holds where no source sets less. The same holds for `designated-by-results`, `check`, `python`, `python-modules` and
//!    `accept-policy`.
//! 3. **The later limit wins** over earlier ones and over the defaults. A limit protects the caller's resources, so the
//!    caller may raise a limit of the system's file; the kernel guards the caller's own rights. A source that only
//!    narrows, such as the policy that a controller sends with a task, raises none.
//!
//! Grants that contradict each other are an error, in any order: a read-only path inside a writable one, which was
//! meant as a restriction but which rule 1 would make void, and two host paths at one place.

use modbox_vocabulary::{GrantSource, Limits};

use crate::designated::Designated;
use crate::error::PolicyError;
use crate::grant_set::Policy;
use crate::limit::LimitName;
use crate::min_confinement::DEFAULT_LEAST;
use crate::rules::accept_policy::AcceptPolicy;
use crate::rules::source_rules::Rules;

/// The source of a setting that no source sets.
pub const DEFAULT_SOURCE: &str = "default";

/// The merged policy and limits, with the source of each setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedPolicy {
    /// The grants.
    pub policy: Policy,
    /// What bounds the run; the last source that sets a limit decides.
    pub limits: Limits,
    /// The source of the value of `designated`.
    pub designated_by: String,
    /// The source of the value of `designated-by-results`.
    pub designated_by_results_by: String,
    /// The source of the rule for check mode.
    pub check_by: String,
    /// The source of the place of Python modules.
    pub python_by: String,
    /// What is accepted from the policy of a task.
    pub accept_policy: AcceptPolicy,
    /// The source of the rule for policies of tasks.
    pub accept_policy_by: String,
    /// Whether results for ansible-core have the audit line in them.
    pub audit_in_results: bool,
    /// The source of each limit, in the order of [`LimitName::ALL`].
    pub limits_by: Vec<(LimitName, String)>,
}

/// Merges the rules of all sources, in their order.
///
/// # Errors
///
/// Grants that contradict each other.
pub fn merge(sources: &[Rules]) -> Result<MergedPolicy, PolicyError> {
    let mut policy = Policy::default();
    policy.allow_paths(sources.iter().flat_map(|rules| rules.paths.iter().cloned()))?;
    for link in sources.iter().flat_map(|rules| &rules.links) {
        // A ceiling can have taken the grant away.
        if policy.paths().iter().any(|grant| grant.guest == link.leads_to) {
            policy.waypoints_mut().show_link(link.path.clone());
        }
    }
    if let Some(source) = sources.iter().find_map(|rules| rules.everything.as_ref()) {
        policy.allow_everything(source);
    }
    for grant in sources.iter().flat_map(|rules| &rules.env) {
        policy.allow_env(grant.clone());
    }
    sources.iter().flat_map(|rules| &rules.own).for_each(|grant| policy.allow_own(grant.clone()));
    sources.iter().flat_map(|rules| &rules.net).for_each(|grant| policy.allow_net(grant.clone()));
    sources.iter().flat_map(|rules| &rules.listen).for_each(|grant| policy.allow_listen(grant.clone()));
    sources.iter().flat_map(|rules| &rules.run).for_each(|grant| policy.allow_run(grant.clone()));
    sources.iter().flat_map(|rules| &rules.outside).for_each(|grant| policy.allow_outside(grant.clone()));
    sources.iter().flat_map(|rules| &rules.audit).for_each(|path| policy.add_audit(path.clone()));
    for rules in sources {
        let in_force = policy.least_confinement().map_or(DEFAULT_LEAST, |least| least.level);
        if let Some(level) = rules.min_confinement.filter(|level| !rules.narrows || *level > in_force) {
            let switch = || GrantSource::named("--min-confinement");
            policy.require_confinement(level, &rules.source.clone().unwrap_or_else(switch));
        }
    }
    for (option, access) in sources.iter().flat_map(|rules| &rules.designates) {
        policy.designate_option(option, *access);
    }
    let (designated, designated_by) = strictest(sources, "--designated", |rules| rules.designated);
    policy.set_designated(designated);
    let (by_results, designated_by_results_by) = strictest(sources, "--strict", |rules| rules.designated_by_results);
    policy.set_designated_by_results(by_results);
    let (check, check_by) = greatest(sources, "", |rules| rules.check);
    policy.set_check_rule(check);
    let (python, python_by) = greatest(sources, "--python", |rules| rules.python);
    policy.set_python_place(python);
    let (python_modules, python_modules_by) = greatest(sources, "", |rules| rules.python_modules);
    policy.set_python_rule(python_modules, python_modules_by);
    let (accept_policy, accept_policy_by) = greatest(sources, "", |rules| rules.accept_policy);
    let audit_in_results = sources.iter().any(|rules| rules.audit_in_results == Some(true));
    let mut limits = Limits::default();
    let mut limits_by = Vec::new();
    for name in LimitName::ALL {
        let mut by = DEFAULT_SOURCE.to_owned();
        for rules in sources {
            let value = rules.limits.get(name).filter(|value| !rules.narrows || *value < name.of(&limits));
            if let Some(value) = value {
                name.set(&mut limits, value);
                by = rules.source.as_ref().map_or_else(|| name.switch(), ToString::to_string);
            }
        }
        limits_by.push((name, by));
    }
    Ok(MergedPolicy {
        policy,
        limits,
        designated_by,
        designated_by_results_by,
        check_by,
        python_by,
        accept_policy,
        accept_policy_by,
        audit_in_results,
        limits_by,
    })
}

/// Returns the greatest value of a rule, and its source. `switch` is the one of the command line, if it has one.
fn greatest<R: Copy + Ord + Default>(
    sources: &[Rules],
    switch: &str,
    value: impl Fn(&Rules) -> Option<R>,
) -> (R, String) {
    let rules = sources.iter().filter_map(|rules| Some((value(rules)?, shown_source(rules, switch))));
    // The first of equal rules, because it is the source that asked for it.
    rules.rev().max_by_key(|(rule, _)| *rule).unwrap_or_else(|| (R::default(), DEFAULT_SOURCE.to_owned()))
}

/// Returns the strictest value of a setting, and its source. `switch` is the one of the command line.
fn strictest(sources: &[Rules], switch: &str, value: impl Fn(&Rules) -> Option<Designated>) -> (Designated, String) {
    // `manage` is more than the default, which a source that only narrows does not raise.
    let is_in_force = |rules: &Rules, designated: &Designated| !(rules.narrows && designated.allows_managing());
    let setting = |rules: &Rules| {
        Some((value(rules).filter(|designated| is_in_force(rules, designated))?, shown_source(rules, switch)))
    };
    // The first of equal values, because it is the source that restricted it.
    let strictest = sources.iter().filter_map(setting).min_by_key(|(designated, _)| *designated);
    strictest.unwrap_or_else(|| (Designated::Write, DEFAULT_SOURCE.to_owned()))
}

/// Returns the name of the source of a setting. `switch` is the one of the command line.
fn shown_source(rules: &Rules, switch: &str) -> String {
    rules.source.as_ref().map_or_else(|| switch.to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::Shape;
    use crate::access::Access;
    use crate::grants::{EnvGrant, PathGrant};

    fn path(path: &str, access: Access) -> PathGrant {
        let (host, guest) = (path.into(), path.to_owned());
        PathGrant { host, shape: Shape::Directory, guest, access, source: GrantSource::named("test") }
    }

    #[test]
    fn no_sources_grant_nothing() {
        let effective = merge(&[]).unwrap();
        assert!(effective.policy.grants().is_empty());
        assert_eq!(effective.limits, Limits::default());
        assert_eq!((effective.policy.designated(), effective.designated_by.as_str()), (Designated::Write, "default"));
        assert!(effective.limits_by.iter().all(|(_, by)| by == "default"));
    }

    #[test]
    fn the_later_limit_wins_and_says_who_set_it() {
        let rules = |source: Option<&str>, limits: &[(LimitName, u64)]| {
            let mut rules = Rules { source: source.map(GrantSource::named), ..Rules::default() };
            limits.iter().for_each(|(name, value)| rules.limits.set(*name, *value));
            rules
        };
        let effective = merge(&[
            rules(Some("system"), &[(LimitName::Memory, 1), (LimitName::Files, 1), (LimitName::Timeout, 1000)]),
            rules(Some("user"), &[(LimitName::Files, 2), (LimitName::Disk, 2)]),
            rules(None, &[(LimitName::Disk, 3)]),
        ])
        .unwrap();
        let limits = effective.limits;
        assert_eq!((limits.max_memory, limits.max_files, limits.max_disk), (1, 2, 3));
        let by =
            |name| effective.limits_by.iter().find(|(other, _)| *other == name).map(|(_, by)| by.as_str()).unwrap();
        assert_eq!(
            [LimitName::Memory, LimitName::Files, LimitName::Disk, LimitName::Tmp].map(by),
            ["system", "user", "--max-disk", "default"]
        );
    }

    #[test]
    fn to_manage_takes_a_source_that_says_it_and_none_that_says_less() {
        let rules = |designated: Option<Designated>, narrows: bool| Rules { designated, narrows, ..Rules::default() };
        let manage = || rules(Some(Designated::Manage), false);
        for (sources, expect) in [
            (vec![rules(None, false)], Designated::Write),
            (vec![manage()], Designated::Manage),
            (vec![manage(), rules(None, true)], Designated::Manage),
            (vec![manage(), rules(Some(Designated::Write), false)], Designated::Write),
            (vec![rules(Some(Designated::None), true), manage()], Designated::None),
            (vec![rules(Some(Designated::Manage), true)], Designated::Write),
        ] {
            assert_eq!(merge(&sources).unwrap().policy.designated(), expect, "{sources:?}");
        }
    }

    #[test]
    fn a_source_that_narrows_raises_no_limit() {
        let mut host = Rules { source: Some(GrantSource::named("host")), ..Rules::default() };
        host.limits.set(LimitName::Files, 10);
        let mut play = Rules { source: Some(GrantSource::named("play")), narrows: true, ..Rules::default() };
        let defaults = Limits::default();
        for (name, value) in [(LimitName::Files, 20), (LimitName::Memory, 1), (LimitName::Disk, u64::MAX)] {
            play.limits.set(name, value);
        }
        let merged = merge(&[host, play]).unwrap();
        let limits = merged.limits;
        assert_eq!((limits.max_files, limits.max_memory, limits.max_disk), (10, 1, defaults.max_disk));
        let by = |name| merged.limits_by.iter().find(|(other, _)| *other == name).unwrap().1.as_str();
        assert_eq!([LimitName::Files, LimitName::Memory, LimitName::Disk].map(by), ["host", "play", "default"]);
    }

    #[test]
    fn a_source_that_narrows_lowers_no_level_of_confinement() {
        let rules = |min_confinement: Option<u8>, narrows: bool| Rules { min_confinement, narrows, ..Rules::default() };
        for (host, play, expect) in [
            (None, 0, None),
            (None, 2, None),
            (None, 3, Some(3)),
            (Some(1), 0, Some(1)),
            (Some(1), 2, Some(2)),
            (Some(3), 2, Some(3)),
        ] {
            let merged = merge(&[rules(host, false), rules(Some(play), true)]).unwrap();
            let least = merged.policy.least_confinement().map(|least| least.level);
            assert_eq!(least, expect, "{host:?} {play}");
        }
    }

    #[test]
    fn one_source_can_grant_everything() {
        let all = Rules { everything: Some(GrantSource::named("--allow-all")), ..Rules::default() };
        let some = Rules { paths: vec![path("/srv", Access::Read)], ..Rules::default() };
        assert!(merge(&[all, some]).unwrap().policy.allows_everything());
    }

    const PLACES: [&str; 6] = ["/a", "/a/b", "/a/b/c", "/d", "/d/e", "/ab"];

    fn rules() -> impl Strategy<Value = Rules> {
        let access = prop::sample::select(vec![Access::Read, Access::Write]);
        let paths = prop::collection::vec((prop::sample::select(PLACES.to_vec()), access), 0..4);
        let designated = prop::option::of(prop::sample::select(Designated::ALL.to_vec()));
        let names = prop::collection::vec(prop::sample::select(vec!["A", "B", "C"]), 0..3);
        (paths, designated, names).prop_map(|(paths, designated, names)| Rules {
            source: Some(GrantSource::named("test")),
            paths: paths.into_iter().map(|(place, access)| path(place, access)).collect(),
            env: names
                .into_iter()
                .map(|name| EnvGrant {
                    name: name.to_owned(),
                    value: String::new(),
                    source: GrantSource::named("test"),
                })
                .collect(),
            designated,
            ..Rules::default()
        })
    }

    /// Returns what a policy allows, for each place and each name.
    fn allowed(policy: &Policy) -> Vec<String> {
        let mut allowed: Vec<String> = policy.env().iter().map(|grant| grant.name.clone()).collect();
        for place in PLACES {
            for access in [Access::Read, Access::Write] {
                if policy.covers(Path::new(place), access) {
                    allowed.push(format!("{} {place}", access.as_str()));
                }
            }
        }
        allowed.sort();
        allowed
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_order_of_sources_does_not_matter_for_grants(
            (sources, shuffled) in prop::collection::vec(rules(), 0..4).prop_flat_map(|sources| (Just(sources.clone()), Just(sources).prop_shuffle())),
        ) {
            match (merge(&sources), merge(&shuffled)) {
                (Ok(one), Ok(other)) => {
                    prop_assert_eq!(allowed(&one.policy), allowed(&other.policy));
                    prop_assert_eq!(one.policy.designated(), other.policy.designated());
                }
                (Err(_), Err(_)) => {}
                (one, other) => prop_assert!(false, "{one:?} and {other:?}"),
            }
        }

        #[test]
        fn a_merge_grants_what_each_source_grants(first in rules(), second in rules()) {
            let both = [first.clone(), second.clone()];
            if let (Ok(one), Ok(other), Ok(both)) = (merge(&[first]), merge(&[second]), merge(&both)) {
                let allowed_by_both = allowed(&both.policy);
                for right in allowed(&one.policy).into_iter().chain(allowed(&other.policy)) {
                    prop_assert!(allowed_by_both.contains(&right), "{right} is lost");
                }
            }
        }

        #[test]
        fn restrictions_take_the_strictest(sources in prop::collection::vec(rules(), 0..5)) {
            let strictest = sources.iter().filter_map(|rules| rules.designated).min().unwrap_or(Designated::Write);
            if let Ok(effective) = merge(&sources) {
                prop_assert_eq!(effective.policy.designated(), strictest);
            }
        }
    }
}
