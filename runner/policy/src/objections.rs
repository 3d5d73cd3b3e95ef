//! Why the trust rules do not let a run start.

use modbox_vocabulary::{Capability, Denial, Grant, Operation};

use crate::grant_set::Policy;
use crate::trust::Ceiling;

/// A reason why the trust rules do not let a run start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// The reason: a sentence without a final period.
    pub text: String,
    /// The grant that exceeds a ceiling; `None` for a module that may not run at all. No option allows it.
    pub denial: Option<Denial>,
}

impl Policy {
    /// Returns why the trust rules do not let a run start with these grants, and with those that it lacks.
    #[must_use]
    pub fn objections(&self, lacking: &[Denial]) -> Vec<Objection> {
        let refusal = |text: &String| Objection { text: text.clone(), denial: None };
        let mut objections: Vec<Objection> = self.trust().refusals.iter().map(refusal).collect();
        for ceiling in &self.trust().ceilings {
            objections.extend(exceeding(ceiling, self).iter().map(|grant| of_grant(ceiling, grant)));
            // A remedy that the ceiling forbids would lead nowhere.
            let forbidden = lacking.iter().filter(|denial| !ceiling.holds_denied(denial));
            objections.extend(forbidden.map(|denial| of_denial(ceiling, denial)));
        }
        objections
    }
}

fn of_grant(Ceiling { party, rule, .. }: &Ceiling, grant: &Grant) -> Objection {
    let Grant { capability, subject, source } = grant;
    let what = match capability {
        Capability::All => "everything".to_owned(),
        capability => format!("{capability} `{subject}`"),
    };
    let (capability, subject, operation) = (*capability, subject.clone(), Operation::Trust);
    Objection {
        text: format!("{party} may not be given {what} ({rule}), which {source} grants"),
        denial: Some(Denial { capability, subject, operation, allow: String::new() }),
    }
}

fn of_denial(Ceiling { party, rule, .. }: &Ceiling, denial: &Denial) -> Objection {
    Objection {
        text: format!("{party} may not be given {} `{}` ({rule})", denial.capability, denial.subject),
        denial: Some(Denial { operation: Operation::Trust, allow: String::new(), ..denial.clone() }),
    }
}

/// Returns the grants of a policy that exceed a ceiling.
fn exceeding(ceiling: &Ceiling, policy: &Policy) -> Vec<Grant> {
    if policy.allows_everything() {
        return policy.grants();
    }
    let line = |capability, subject: String, source: &str| Grant { capability, subject, source: source.to_owned() };
    let paths = policy.paths().iter().filter(|grant| !ceiling.holds_path(grant));
    let paths = paths.map(|it| line(it.access.capability(), it.host.display().to_string(), &it.source));
    let own = policy.own().iter().filter(|grant| !ceiling.holds_own(grant));
    let own = own.map(|it| line(Capability::Own, it.written.clone(), &it.source));
    let env = policy.env().iter().filter(|grant| !ceiling.holds_env(&grant.name));
    let env = env.map(|it| line(Capability::Env, it.name.clone(), &it.source));
    let net = policy.net().iter().filter(|grant| !ceiling.holds_net(&grant.rule));
    let net = net.map(|it| line(Capability::Net, it.rule.to_string(), &it.source));
    let listen = policy.listen().iter().filter(|grant| !ceiling.holds_listen(&grant.rule));
    let listen = listen.map(|it| line(Capability::Listen, it.rule.to_string(), &it.source));
    let run = policy.run().iter().filter(|grant| !ceiling.holds_run(grant));
    let run = run.map(|it| line(Capability::Run, it.rule.to_string(), &it.source));
    paths.chain(own).chain(env).chain(net).chain(listen).chain(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use crate::grants::{EnvGrant, PathGrant, Shape};
    use crate::merge::merge;
    use crate::net::NetGrant;
    use crate::rules::Rules;
    use crate::run::RunGrant;

    fn path(path: &str, access: Access) -> PathGrant {
        let (host, guest) = (path.into(), path.to_owned());
        PathGrant { host, shape: Shape::Directory, guest, access, source: "test".to_owned() }
    }

    fn net(rule: &str) -> NetGrant {
        NetGrant { rule: rule.parse().unwrap(), source: "test".to_owned() }
    }

    fn run(rule: &str) -> RunGrant {
        let rule: crate::run::RunRule = rule.parse().unwrap();
        RunGrant { programs: vec![format!("/usr/bin/{}", rule.program()).into()], rule, source: "test".to_owned() }
    }

    fn env(name: &str) -> EnvGrant {
        EnvGrant { name: name.to_owned(), value: String::new(), source: "test".to_owned() }
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
        assert_eq!(exceeding(&ceiling(), &merged.policy), []);
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
        assert_eq!(shown(&exceeding(&ceiling(), &merged.policy)), expect);
        let everything = Rules { everything: Some("--allow-all".to_owned()), ..Rules::default() };
        let merged = merge(&[everything]).unwrap();
        assert_eq!(shown(&exceeding(&ceiling(), &merged.policy)), ["all *"]);
    }
}
