//! The one rule by which sources become a policy.
//!
//! Sources come in this order: the system's policy file, the user's, those of `--policy`; then, of each file, its rules for
//! the module that runs, by name or by digest; the switches last.
//!
//! 1. **Grants add up.** What any source grants is granted; none takes away what another one granted. So the order does not
//!    matter, and the same path granted twice has the wider access. (A variable that is granted twice has the later value.)
//! 2. **Restrictions take the strictest.** So is the least level of
//!    confinement the highest that somebody asks for. Every audit file that somebody names gets its line. `designated` is the least of what the sources say, and `write` when none does: one
//!    source can turn it down and none can turn it up again.
//! 3. **Limits: the later one wins**, above the defaults. A limit keeps a module from using up what is the caller's, so the
//!    caller may raise what the system's file says; rights of the caller are the kernel's business.
//!
//! Grants that contradict each other are an error, whichever order they come in: a read-only path inside a writable
//! one, which somebody meant as a restriction and which rule 1 would void, and two host paths in one place.

use std::path::PathBuf;

use modbox_vocabulary::Limits;

use crate::access::Access;
use crate::designated::Designated;
use crate::error::PolicyError;
use crate::grant_set::Policy;
use crate::grants::{EnvGrant, PathGrant};
use crate::limit::{LimitName, LimitOverrides};
use crate::net::{ListenGrant, NetGrant};
use crate::own::OwnGrant;
use crate::run::RunGrant;

/// What somebody is named who said nothing.
pub const DEFAULT_SOURCE: &str = "default";

/// What one source says, looked up and resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Who: `--max-memory` and the like speak for themselves, so switches leave it empty.
    pub source: String,
    /// Files and directories.
    pub paths: Vec<PathGrant>,
    /// Environment variables.
    pub env: Vec<EnvGrant>,
    /// To whom files may be given.
    pub own: Vec<OwnGrant>,
    /// What may be reached on the network.
    pub net: Vec<NetGrant>,
    /// Where the module may listen.
    pub listen: Vec<ListenGrant>,
    /// Which commands the module may run.
    pub run: Vec<RunGrant>,
    /// Who grants everything, if this source does.
    pub everything: Option<String>,
    /// How far naming a path grants it.
    pub designated: Option<Designated>,
    /// Options that it says name paths.
    pub designates: Vec<(String, Access)>,
    /// The limits that it sets.
    pub limits: LimitOverrides,
    /// The least level of confinement that it accepts.
    pub min_confinement: Option<u8>,
    /// The audit files that it names.
    pub audit: Vec<PathBuf>,
}

/// What is in force, and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// What may be reached.
    pub policy: Policy,
    /// How much may be used.
    pub limits: Limits,
    /// Who set `designated` to what it is.
    pub designated_by: String,
    /// Who set each limit, in the order of [`LimitName::ALL`].
    pub limits_by: Vec<(LimitName, String)>,
}

/// Merges what sources say, in their order.
///
/// # Errors
///
/// Grants that contradict each other.
pub fn merge(sources: &[Rules]) -> Result<Effective, PolicyError> {
    let mut policy = Policy::default();
    policy.allow_paths(sources.iter().flat_map(|rules| rules.paths.iter().cloned()))?;
    if let Some(source) = sources.iter().find_map(|rules| rules.everything.as_deref()) {
        policy.allow_everything(source);
    }
    for grant in sources.iter().flat_map(|rules| &rules.env) {
        policy.allow_env(grant.clone());
    }
    sources.iter().flat_map(|rules| &rules.own).for_each(|grant| policy.allow_own(grant.clone()));
    sources.iter().flat_map(|rules| &rules.net).for_each(|grant| policy.allow_net(grant.clone()));
    sources.iter().flat_map(|rules| &rules.listen).for_each(|grant| policy.allow_listen(grant.clone()));
    sources.iter().flat_map(|rules| &rules.run).for_each(|grant| policy.allow_run(grant.clone()));
    sources.iter().flat_map(|rules| &rules.audit).for_each(|path| policy.add_audit(path.clone()));
    for rules in sources {
        if let Some(level) = rules.min_confinement {
            policy
                .require_confinement(level, if rules.source.is_empty() { "--min-confinement" } else { &rules.source });
        }
    }
    for (option, access) in sources.iter().flat_map(|rules| &rules.designates) {
        policy.designate_option(option, *access);
    }
    let (designated, designated_by) = designated(sources);
    policy.set_designated(designated);
    let mut limits = Limits::default();
    let mut limits_by = Vec::new();
    for name in LimitName::ALL {
        let mut by = DEFAULT_SOURCE.to_owned();
        for rules in sources {
            if let Some(value) = rules.limits.get(name) {
                name.set(&mut limits, value);
                by = if rules.source.is_empty() { name.switch() } else { rules.source.clone() };
            }
        }
        limits_by.push((name, by));
    }
    Ok(Effective { policy, limits, designated_by, limits_by })
}

fn designated(sources: &[Rules]) -> (Designated, String) {
    let said = |rules: &Rules| {
        let by = if rules.source.is_empty() { "--designated" } else { &rules.source };
        Some((rules.designated?, by.to_owned()))
    };
    // The first of equals, so that it is the one who turned it down.
    let strictest = sources.iter().filter_map(said).min_by_key(|(designated, _)| *designated);
    strictest.unwrap_or_else(|| (Designated::Write, DEFAULT_SOURCE.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::Shape;

    fn path(path: &str, access: Access) -> PathGrant {
        let (host, guest) = (path.into(), path.to_owned());
        PathGrant { host, shape: Shape::Directory, guest, access, source: "test".to_owned() }
    }

    #[test]
    fn nobody_grants_nothing() {
        let effective = merge(&[]).unwrap();
        assert!(effective.policy.grants().is_empty());
        assert_eq!(effective.limits, Limits::default());
        assert_eq!((effective.policy.designated(), effective.designated_by.as_str()), (Designated::Write, "default"));
        assert!(effective.limits_by.iter().all(|(_, by)| by == "default"));
    }

    #[test]
    fn the_later_limit_wins_and_says_who_set_it() {
        let rules = |source: &str, limits: &[(LimitName, u64)]| {
            let mut rules = Rules { source: source.to_owned(), ..Rules::default() };
            limits.iter().for_each(|(name, value)| rules.limits.set(*name, *value));
            rules
        };
        let effective = merge(&[
            rules("system", &[(LimitName::Memory, 1), (LimitName::Files, 1), (LimitName::Timeout, 1000)]),
            rules("user", &[(LimitName::Files, 2), (LimitName::Disk, 2)]),
            rules("", &[(LimitName::Disk, 3)]),
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
    fn everything_is_granted_by_whoever_says_so() {
        let all = Rules { everything: Some("--allow-all".to_owned()), ..Rules::default() };
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
            source: "test".to_owned(),
            paths: paths.into_iter().map(|(place, access)| path(place, access)).collect(),
            env: names
                .into_iter()
                .map(|name| EnvGrant { name: name.to_owned(), value: String::new(), source: "test".to_owned() })
                .collect(),
            designated,
            ..Rules::default()
        })
    }

    /// What a policy allows, place by place and name by name.
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
