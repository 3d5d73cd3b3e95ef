//! Why the trust rules do not let a run start.

use modbox_vocabulary::{Denial, Grant, Operation};

use crate::grant_set::Policy;
use crate::trust::{Authority, Ceiling};

/// A reason why the trust rules do not let a run start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// The reason: a sentence without a final period.
    pub text: String,
    /// The grant that exceeds a ceiling; `None` for a module that may not run at all. No option allows it.
    pub denial: Option<Denial>,
}

impl Policy {
    /// Returns why the trust rules do not let a run start with these grants, and with those that it lacks. `is_observed`: the
    /// run is observed and not confined.
    #[must_use]
    pub fn objections(&self, lacking: &[Denial], is_observed: bool) -> Vec<Objection> {
        let mut objections = self.refusals();
        for ceiling in &self.trust().ceilings {
            objections.extend(exceeding(ceiling, self, is_observed).iter().map(|it| of_authority(ceiling, *it)));
            // A remedy that the ceiling forbids would lead nowhere.
            let forbidden = lacking.iter().filter(|denial| !ceiling.holds_denied(denial));
            objections.extend(forbidden.map(|denial| of_denial(ceiling, denial)));
        }
        objections
    }

    /// Returns why the trust rules do not let the module run at all, whatever it is granted. Such a module must not even be asked
    /// what it is.
    #[must_use]
    pub fn refusals(&self) -> Vec<Objection> {
        let refusal = |text: &String| Objection { text: text.clone(), denial: None };
        self.trust().refusals.iter().map(refusal).collect()
    }
}

fn of_authority(Ceiling { party, rule, .. }: &Ceiling, authority: Authority<'_>) -> Objection {
    let wish = authority.wish();
    let Grant { capability, subject, .. } = authority.line();
    Objection {
        text: format!("{party} may not {wish} ({rule}), {}", authority.origin()),
        denial: Some(Denial { capability, subject, operation: Operation::Trust, allow: String::new() }),
    }
}

fn of_denial(Ceiling { party, rule, .. }: &Ceiling, denial: &Denial) -> Objection {
    Objection {
        text: format!("{party} may not be given {} `{}` ({rule})", denial.capability, denial.subject),
        denial: Some(Denial { operation: Operation::Trust, allow: String::new(), ..denial.clone() }),
    }
}

/// Returns what exceeds a ceiling.
fn exceeding<'p>(ceiling: &Ceiling, policy: &'p Policy, is_observed: bool) -> Vec<Authority<'p>> {
    let mut authorities = policy.authorities(is_observed);
    authorities.retain(|authority| !ceiling.holds(*authority));
    authorities
}

#[cfg(test)]
mod tests {
    use modbox_vocabulary::GrantSource;

    use super::*;
    use crate::access::Access;
    use crate::grants::{EnvGrant, PathGrant, Shape};
    use crate::net::NetGrant;
    use crate::rules::source_rules::Rules;
    use crate::run::RunGrant;
    use crate::trust::TrustStanding;
    use crate::written::merge::merge;

    fn path(path: &str, access: Access) -> PathGrant {
        let (host, guest) = (path.into(), path.to_owned());
        PathGrant { host, shape: Shape::Directory, guest, access, source: GrantSource::named("test") }
    }

    fn net(rule: &str) -> NetGrant {
        NetGrant { rule: rule.parse().unwrap(), source: GrantSource::named("test") }
    }

    fn run(rule: &str) -> RunGrant {
        let rule: crate::run::RunRule = rule.parse().unwrap();
        RunGrant {
            programs: vec![format!("/usr/bin/{}", rule.program()).into()],
            rule,
            source: GrantSource::named("test"),
        }
    }

    fn env(name: &str) -> EnvGrant {
        EnvGrant { name: name.to_owned(), value: String::new(), source: GrantSource::named("test") }
    }

    fn ceiling() -> Ceiling {
        let most = Rules {
            paths: vec![path("/srv/app", Access::Write), path("/usr", Access::Read)],
            env: vec![env("LANG")],
            net: vec![net("*.acme.example:443"), net("10.0.0.0/8:5432")],
            run: vec![run("systemctl reload *")],
            ..Rules::default()
        };
        Ceiling { party: "acme".to_owned(), rule: "trust rule 1".to_owned(), most }
    }

    fn shown_exceeding(policy: &Policy, is_observed: bool) -> Vec<String> {
        let lines: Vec<Grant> = exceeding(&ceiling(), policy, is_observed).into_iter().map(Authority::line).collect();
        shown(&lines)
    }

    fn shown(grants: &[Grant]) -> Vec<String> {
        grants.iter().map(|grant| format!("{} {}", grant.capability, grant.subject)).collect()
    }

    #[test]
    fn general_grants_are_cut() {
        let mut rules = Rules {
            paths: vec![path("/srv", Access::Read), path("/usr/share", Access::Read), path("/etc", Access::Read)],
            env: vec![env("LANG"), env("TOKEN")],
            net: vec![net("api.acme.example:443"), net("api.acme.example"), net("10.1.0.0/16:5432")],
            run: vec![run("systemctl reload nginx"), run("systemctl stop nginx"), run("systemctl *")],
            ..Rules::default()
        };
        ceiling().cut(&mut rules);
        let merged = merge(&[rules]).unwrap();
        let expect = [
            "read /srv/app",
            "read /usr/share",
            "env LANG",
            "net api.acme.example:443",
            "net 10.1.0.0/16:5432",
            "run systemctl reload nginx",
        ];
        assert_eq!(shown(&merged.policy.grants()), expect);
        assert_eq!(shown_exceeding(&merged.policy, false), [""; 0]);
    }

    #[test]
    fn what_exceeds_is_named() {
        let rules = Rules {
            paths: vec![
                path("/srv/app/log", Access::Write),
                path("/usr/lib", Access::Write),
                path("/srv", Access::Read),
            ],
            env: vec![env("TOKEN"), env("LANG")],
            net: vec![net("acme.example:443"), net("*.acme.example:443"), net("api.acme.example:443+private")],
            run: vec![run("systemctl reload nginx"), run("systemctl *")],
            ..Rules::default()
        };
        let merged = merge(&[rules]).unwrap();
        let expect = [
            "write /usr/lib",
            "read /srv",
            "env TOKEN",
            "net acme.example:443",
            "net api.acme.example:443+private",
            "run systemctl *",
        ];
        assert_eq!(shown_exceeding(&merged.policy, false), expect);
        let everything = Rules { everything: Some(GrantSource::named("--allow-all")), ..Rules::default() };
        let merged = merge(&[everything]).unwrap();
        assert_eq!(shown_exceeding(&merged.policy, false), ["all *"]);
    }

    #[test]
    fn less_confinement_exceeds() {
        let with = |level| Rules { min_confinement: level, ..Rules::default() };
        for (level, expect) in [(None, None), (Some(2), None), (Some(3), None), (Some(1), Some("confinement level 1"))]
        {
            let policy = merge(&[with(level)]).unwrap().policy;
            assert_eq!(shown_exceeding(&policy, false), Vec::from_iter(expect), "{level:?}");
            // A run that is observed is not confined at all.
            assert_eq!(shown_exceeding(&policy, true)[0], "all *", "{level:?}");
            // What files say for every module is cut.
            let mut general = with(level);
            ceiling().cut(&mut general);
            assert_eq!(general.min_confinement, level.filter(|level| *level >= 2));
        }
        let policy = merge(&[with(Some(0))]).unwrap().policy;
        let texts: Vec<String> = {
            let mut policy = policy.clone();
            policy.set_trust(TrustStanding { ceilings: vec![ceiling()], ..TrustStanding::default() });
            policy.objections(&[], true).into_iter().map(|objection| objection.text).collect()
        };
        assert_eq!(
            texts,
            [
                "acme may not run without confinement (trust rule 1), as `python-modules: observe` of default says",
                "acme may not be confined as little as level 0 (trust rule 1), as --min-confinement says"
            ]
        );
        let mut low = ceiling();
        low.most.min_confinement = Some(0);
        assert_eq!(exceeding(&low, &policy, false), []);
    }
}
