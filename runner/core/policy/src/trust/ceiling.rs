//! The most that a trust rule lets a module be granted.

use std::path::PathBuf;

use modbox_vocabulary::{Capability, Denial, GrantSource};

use crate::access::Access;
use crate::designated::Designated;
use crate::grants::{PathGrant, Shape};
use crate::min_confinement::DEFAULT_LEAST;
use crate::net::{ListenRule, NetRule};
use crate::outside::OutsideGrant;
use crate::rules::source_rules::Rules;
use crate::run::RunGrant;
use crate::trust::authority::Authority;
use crate::users::own::{self, OwnerGrant};

/// The most that a trust rule lets a module be granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ceiling {
    /// The signer, or the words for a module without one.
    pub party: String,
    /// The rule, in words, with its place: `trust rule 1, /etc/modbox/policy.yaml:7`.
    pub rule: String,
    /// The most: `paths`, `env`, `own`, `net`, `listen`, `run`, `outside`, `designated` and `min_confinement`.
    pub most: Rules,
}

impl Ceiling {
    /// Cuts the grants that a source makes to every module, so that what remains does not exceed the ceiling.
    pub fn cut(&self, rules: &mut Rules) {
        let in_place = |grant: &PathGrant| grant.host.as_os_str() == grant.guest.as_str();
        let inner = |grant: &PathGrant| -> Vec<PathGrant> {
            if self.holds_path(grant) {
                return vec![grant.clone()];
            }
            let inside = self.most.paths.iter().filter(|most| {
                in_place(grant) && grant.includes(&PathGrant { access: Access::Read, ..(*most).clone() })
            });
            inside
                .map(|most| PathGrant {
                    access: most.access.min(grant.access),
                    source: grant.source.clone(),
                    ..most.clone()
                })
                .collect()
        };
        rules.paths = rules.paths.iter().flat_map(inner).collect();
        rules.env.retain(|grant| self.holds_env(&grant.name));
        rules.own.retain(|grant| self.holds_own(grant));
        rules.net.retain(|grant| self.holds_net(&grant.rule));
        rules.listen.retain(|grant| self.holds_listen(&grant.rule));
        rules.run.retain(|grant| self.holds_run(grant));
        rules.outside.retain(|grant| self.holds_outside(grant));
        rules.min_confinement = rules.min_confinement.filter(|level| *level >= self.least_confinement());
    }

    /// Returns whether an authority of a run does not exceed the ceiling.
    pub(crate) fn holds(&self, authority: Authority<'_>) -> bool {
        match authority {
            // What nothing confines has every authority. A rule without a ceiling allows it.
            Authority::Everything(_) | Authority::Observation(_) => false,
            Authority::Confinement(least) => least.level >= self.least_confinement(),
            Authority::Path(grant) => self.holds_path(grant),
            Authority::Owner(grant) => self.holds_own(grant),
            Authority::Variable(grant) => self.holds_env(&grant.name),
            Authority::Destination(grant) => self.holds_net(&grant.rule),
            Authority::Address(grant) => self.holds_listen(&grant.rule),
            Authority::Command(grant) => self.holds_run(grant),
            Authority::OutsideCommand(grant) => self.holds_outside(grant),
        }
    }

    /// Returns whether all that some rules grant does not exceed the ceiling.
    #[must_use]
    pub fn includes(&self, rules: &Rules) -> bool {
        rules.everything.is_none()
            && rules.min_confinement.is_none_or(|level| level >= self.least_confinement())
            && rules.paths.iter().all(|grant| self.holds_path(grant))
            && rules.env.iter().all(|grant| self.holds_env(&grant.name))
            && rules.own.iter().all(|grant| self.holds_own(grant))
            && rules.net.iter().all(|grant| self.holds_net(&grant.rule))
            && rules.listen.iter().all(|grant| self.holds_listen(&grant.rule))
            && rules.run.iter().all(|grant| self.holds_run(grant))
            && rules.outside.iter().all(|grant| self.holds_outside(grant))
    }

    fn least_confinement(&self) -> u8 {
        self.most.min_confinement.unwrap_or(DEFAULT_LEAST)
    }

    /// Returns the access that naming a path in an argument may grant.
    #[must_use]
    pub fn designated(&self) -> Designated {
        self.most.designated.unwrap_or(Designated::Write)
    }

    /// Returns whether the grant of a path that was denied would not exceed the ceiling. Other denials are not judged.
    pub(crate) fn holds_denied(&self, denial: &Denial) -> bool {
        let access = match denial.capability {
            Capability::Read => Access::Read,
            Capability::Write => Access::Write,
            _ => return true,
        };
        let (host, guest) = (PathBuf::from(&denial.subject), denial.subject.clone());
        self.holds_path(&PathGrant { host, shape: Shape::Name, guest, access, source: GrantSource::named("") })
    }

    fn holds_path(&self, grant: &PathGrant) -> bool {
        self.most.paths.iter().any(|most| most.includes(grant))
    }

    fn holds_env(&self, name: &str) -> bool {
        self.most.env.iter().any(|most| most.name == name)
    }

    fn holds_own(&self, grant: &OwnerGrant) -> bool {
        own::include(&self.most.own, grant)
    }

    fn holds_net(&self, rule: &NetRule) -> bool {
        self.most.net.iter().any(|most| most.rule.includes(rule))
    }

    fn holds_listen(&self, rule: &ListenRule) -> bool {
        self.most.listen.iter().any(|most| most.rule.includes(rule))
    }

    fn holds_outside(&self, grant: &OutsideGrant) -> bool {
        self.most.outside.iter().any(|most| most.includes(grant))
    }

    fn holds_run(&self, grant: &RunGrant) -> bool {
        self.most.run.iter().any(|most| most.includes(grant))
    }
}
