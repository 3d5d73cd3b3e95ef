//! Compares a module's requests with the grants of a run.
//!
//! A request grants nothing. An ungranted request is a note, since the module may do without it. If the module marks it
//! as `required`, the run is denied before it starts, with the list of missing grants.

use std::path::Path;

use modbox_argument_spec::{Metadata, Request};
use modbox_policy::run::RunRule;
use modbox_policy::{Access, Policy};
use modbox_vocabulary::{Capability, Denial, Operation, quoting};

use crate::grants::designation::EffectiveGrants;
use crate::reports::missing_grant::{MissingGrant, Need};

/// Missing requests that are shown of each sort; a module can have thousands.
const MAX_SHOWN: usize = 16;

/// A request, and whether the policy grants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestComparison {
    /// The module's request.
    pub request: Request,
    /// Whether the policy grants it.
    pub granted: bool,
    /// The switch that would grant it.
    pub allow: String,
}

/// Compares a module's requests with the grants of a policy.
#[must_use]
pub fn compare(metadata: &Metadata, policy: &Policy) -> Vec<RequestComparison> {
    let one = |request: &Request| RequestComparison {
        request: request.clone(),
        granted: policy.allows_everything() || is_granted(request, policy),
        allow: switch(request),
    };
    metadata.requests.iter().map(one).collect()
}

/// Notes ungranted optional requests, and adds ungranted required ones to the missing grants, which denies the run.
pub(crate) fn check(metadata: &Metadata, effective: &mut EffectiveGrants) {
    let (required, optional): (Vec<_>, Vec<_>) = compare(metadata, &effective.policy)
        .into_iter()
        .filter(|compared| !compared.granted)
        .partition(|missing| missing.request.required);
    let more = optional.len().saturating_sub(MAX_SHOWN);
    for missing in required.into_iter().take(MAX_SHOWN).chain(optional.into_iter().take(MAX_SHOWN)) {
        let Request { capability, subject, reason, required } = missing.request;
        if required {
            // Only `--allow-all` grants a capability that modbox does not know.
            let capability = capability.parse().unwrap_or(Capability::All);
            let denial = Denial { capability, subject, operation: Operation::Request, allow: missing.allow };
            effective.missing.push(MissingGrant { denial, need: Need::Metadata });
        } else {
            let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
            effective.notes.push(format!(
                "the module asks for {capability} `{subject}`{reason}, which is not granted; `{}` grants it",
                missing.allow
            ));
        }
    }
    if more > 0 {
        effective.notes.push(format!("the module asks for {more} more things; `modbox inspect` lists them"));
    }
}

fn is_granted(request: &Request, policy: &Policy) -> bool {
    let subject = request.subject.as_str();
    let path = |access| subject.starts_with('/') && policy.covers(Path::new(subject), access);
    match request.capability.parse() {
        Ok(Capability::Read) => path(Access::Read),
        Ok(Capability::Write) => path(Access::Write),
        Ok(Capability::Env) => policy.env().iter().any(|grant| grant.name == subject),
        Ok(Capability::Own) => policy.own().iter().any(|grant| grant.written == subject),
        // Only an equal rule counts; whether a wider one contains it is for the operator to see.
        Ok(Capability::Net) => policy.net().iter().any(|grant| grant.rule.to_string() == subject),
        Ok(Capability::Listen) => policy.listen().iter().any(|grant| grant.rule.to_string() == subject),
        Ok(Capability::Run) => {
            subject.parse().is_ok_and(|rule: RunRule| policy.run().iter().any(|grant| grant.rule == rule))
        }
        Ok(Capability::Outside | Capability::Confinement | Capability::All) | Err(_) => false,
    }
}

/// Returns the command-line option that grants a request; `--allow-all` if no other one does.
fn switch(request: &Request) -> String {
    match request.capability.parse() {
        // No option grants a command outside.
        Err(_) | Ok(Capability::Outside | Capability::Confinement | Capability::All) => "--allow-all".to_owned(),
        Ok(capability) => format!("--allow-{capability} {}", quoting::quote(&request.subject)),
    }
}

#[cfg(test)]
mod tests {
    use modbox_policy::run::RunGrant;
    use modbox_policy::{EnvGrant, PathGrant, Shape};
    use modbox_vocabulary::GrantSource;

    use super::*;

    #[test]
    fn the_list_of_missing_requests_is_bounded() {
        let many = |required: bool| {
            let one = format!(r#"{{"capability": "env", "subject": "A", "required": {required}}}"#);
            let json = format!(r#"{{"name": "x", "requests": [{}]}}"#, vec![one; 1000].join(","));
            let arguments = crate::request::run_request::Arguments::Complete(modbox_python_json::Dict::new());
            let (missing, notes, obstacles) = (Vec::new(), Vec::new(), Vec::new());
            let mut effective = EffectiveGrants { policy: Policy::default(), arguments, missing, notes, obstacles };
            check(&Metadata::from_json(&json).unwrap(), &mut effective);
            (effective.missing.len(), effective.notes.len())
        };
        assert_eq!((many(true), many(false)), ((MAX_SHOWN, 0), (0, MAX_SHOWN + 1)));
    }

    #[test]
    fn requests_are_compared_and_grant_nothing() {
        let json = r#"{"name": "x", "requests": {"read": ["/usr/share/zoneinfo", "/etc", "relative"],
            "write": ["/usr/share/zoneinfo"], "env": ["TZ", "LANG"], "net": ["example.org:443"], "run": ["systemctl  restart *", "systemctl stop *"]}}"#;
        let metadata = Metadata::from_json(json).unwrap();
        let mut policy = Policy::default();
        let source = GrantSource::named("");
        let (host, guest, shape) = ("/usr/share".into(), "/usr/share".to_owned(), Shape::Directory);
        policy.allow_path(PathGrant { host, shape, guest, access: Access::Read, source: source.clone() }).unwrap();
        let (rule, programs) = ("systemctl restart *".parse().unwrap(), vec!["/usr/bin/systemctl".into()]);
        policy.allow_run(RunGrant { rule, programs, source: source.clone() });
        policy.allow_env(EnvGrant { name: "TZ".to_owned(), value: String::new(), source });
        let shown = |policy: &Policy| {
            let line =
                |compared: RequestComparison| if compared.granted { "granted".to_owned() } else { compared.allow };
            compare(&metadata, policy).into_iter().map(line).collect::<Vec<_>>()
        };
        let expect = [
            "granted",
            "--allow-read /etc",
            "--allow-read relative",
            "--allow-write /usr/share/zoneinfo",
            "granted",
            "--allow-env LANG",
            "--allow-net example.org:443",
            "granted",
            "--allow-run 'systemctl stop *'",
        ];
        assert_eq!(shown(&policy), expect);
        policy.allow_everything(&GrantSource::named("test"));
        assert_eq!(shown(&policy), ["granted"; 9]);
    }
}
