//! Derives the environment and readable paths of a native module, and finds grants that cannot be given to it.

use std::ffi::OsString;
use std::path::Path;

use modbox_native::base;
use modbox_policy::net::Transport;
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_vocabulary::{Capability, Denial, Operation, quoting};

use crate::reports::missing_grant::{MissingGrant, Need};

/// Directories of every native module in which it makes no files.
const READ_ONLY: [&str; 2] = ["/", "/dev"];

/// Missing grants that are listed; a person reads no more.
const MAX_MISSING: usize = 16;

/// Returns the granted variables.
pub(crate) fn environment(policy: &Policy) -> Vec<(OsString, OsString)> {
    policy.env().iter().map(|grant| (grant.name.clone().into(), grant.value.clone().into())).collect()
}

/// Returns the variables of a run that is granted everything: those of its user, with those that have granted values.
pub(crate) fn whole_environment(environment: &[(OsString, OsString)], policy: &Policy) -> Vec<(OsString, OsString)> {
    let granted = self::environment(policy);
    let mut all = match policy.user() {
        Some(user) => user.environment(environment),
        None => environment.to_vec(),
    };
    all.retain(|(name, _)| !granted.iter().any(|(other, _)| other == name));
    all.extend(granted);
    all
}

/// Returns the network grants that the kernel cannot enforce: it filters by the ports of connections, but neither by
/// host nor by the ports of datagrams. Each names a grant that can be enforced instead.
pub(crate) fn unenforceable(policy: &Policy) -> Vec<MissingGrant> {
    let missing = |capability: Capability, subject: String, allow: String| {
        let allow = format!("--allow-{capability} {}", quoting::quote(&allow));
        let denial = Denial { capability, subject, operation: Operation::Grant, allow };
        MissingGrant { denial, need: Need::Enforcement }
    };
    let all = |transport: Transport, rule: String| match transport {
        Transport::Tcp => rule,
        Transport::Udp => "udp:*+any".to_owned(),
    };
    let net = policy.net().iter().map(|grant| &grant.rule);
    let net = net.filter_map(|rule| {
        let kept = all(rule.transport(), rule.for_every_host().to_string());
        (rule.to_string() != kept).then(|| missing(Capability::Net, rule.to_string(), kept))
    });
    let listen = policy.listen().iter().map(|grant| &grant.rule);
    let listen = listen.filter_map(|rule| {
        let kept = match rule.transport() {
            Transport::Tcp => rule.is_every_address(),
            Transport::Udp => rule.is_every_address() && rule.ports().first <= 1 && rule.ports().last == u16::MAX,
        };
        let instead = match rule.transport() {
            Transport::Tcp => rule.for_every_address().to_string(),
            Transport::Udp => "udp:0.0.0.0:0-65535".to_owned(),
        };
        (!kept).then(|| missing(Capability::Listen, rule.to_string(), instead))
    });
    net.chain(listen).take(MAX_MISSING).collect()
}

/// Returns the single files whose changes could not be taken back from a native module, since this user cannot write
/// them. Files in directories that are granted for writing are left out: the module writes them itself.
pub(crate) fn unwritable(policy: &Policy) -> Vec<MissingGrant> {
    let is_around = |outer: &PathGrant, inner: &PathGrant| {
        let (guest, host) = (Path::new(&inner.guest).strip_prefix(&outer.guest), inner.host.strip_prefix(&outer.host));
        outer.shape == Shape::Directory && outer.access == Access::Write && guest.is_ok() && guest == host
    };
    let paths = policy.paths();
    let single = paths.iter().filter(|grant| grant.shape == Shape::Name && grant.access == Access::Write);
    let staged = single.filter(|inner| !paths.iter().any(|outer| is_around(outer, inner)));
    let missing = staged.filter_map(|grant| {
        let reason = modbox_native::write_obstacle(&grant.host).or_else(|| make_obstacle(policy, grant))?;
        let (capability, subject) = (Capability::Write, grant.guest.clone());
        let denial = Denial { capability, subject, operation: Operation::Grant, allow: String::new() };
        let user = policy.user().map(|user| user.name.clone());
        Some(MissingGrant { denial, need: Need::Rights { user, reason } })
    });
    missing.take(MAX_MISSING).collect()
}

/// Returns why a native module cannot make a file: the module sees the machine's own directory, and only reads it.
fn make_obstacle(policy: &Policy, grant: &PathGrant) -> Option<String> {
    let directory = Path::new(&grant.guest).parent().filter(|_| grant.host.symlink_metadata().is_err())?;
    let is_around = |outer: &&PathGrant| outer.shape == Shape::Directory && directory.starts_with(&outer.guest);
    let is_read = match policy.paths().iter().filter(is_around).max_by_key(|outer| outer.guest.len()) {
        Some(outer) => outer.access == Access::Read,
        None => {
            base::paths().any(|base| directory.starts_with(base))
                || READ_ONLY.iter().any(|read| directory == Path::new(read))
        }
    };
    let is_refused = is_read && !grant.host.parent().is_some_and(modbox_native::can_make_in);
    let reason = "it does not exist, and the module only reads its directory, which is one of the system's own or has too many \
                  entries; grant the directory for writing";
    is_refused.then(|| reason.to_owned())
}

/// Returns the policy without the network grants that the kernel cannot enforce.
pub(crate) fn enforceable(policy: &Policy) -> Policy {
    let mut kept = policy.clone();
    for missing in unenforceable(policy) {
        kept.forbid_net(&missing.denial.subject);
    }
    // `unenforceable` lists only the first ones; if some remain, no network is granted.
    if unenforceable(&kept).is_empty() { kept } else { kept.without_network() }
}

#[cfg(test)]
mod tests {
    use modbox_policy::net::{ListenGrant, NetGrant};
    use modbox_vocabulary::GrantSource;

    use super::*;

    #[test]
    fn unenforceable_rules_are_listed_with_enforceable_ones() {
        let mut policy = Policy::default();
        let source = GrantSource::named("");
        for rule in ["*:443+any", "udp:*+any", "example.org:443", "*:80", "udp:10.0.0.1:53"] {
            policy.allow_net(NetGrant { rule: rule.parse().unwrap(), source: source.clone() });
        }
        for rule in ["0.0.0.0:80", "127.0.0.1:8080", "udp:[::]:1-65535", "udp:0.0.0.0:53"] {
            policy.allow_listen(ListenGrant { rule: rule.parse().unwrap(), source: source.clone() });
        }
        let shown: Vec<(String, String)> =
            unenforceable(&policy).into_iter().map(|it| (it.denial.subject, it.denial.allow)).collect();
        let expect = [
            ("example.org:443", "--allow-net '*:443+any'"),
            ("*:80", "--allow-net '*:80+any'"),
            ("udp:10.0.0.1:53", "--allow-net 'udp:*+any'"),
            ("127.0.0.1:8080", "--allow-listen 0.0.0.0:8080"),
            ("udp:0.0.0.0:53", "--allow-listen udp:0.0.0.0:0-65535"),
        ];
        assert_eq!(shown, expect.map(|(subject, allow)| (subject.to_owned(), allow.to_owned())));
        // Each suggested rule can be enforced.
        let mut kept = Policy::default();
        for (_, allow) in &shown {
            let (switch, rule) = allow.split_once(' ').unwrap();
            let rule = rule.trim_matches('\'');
            match switch {
                "--allow-net" => kept.allow_net(NetGrant { rule: rule.parse().unwrap(), source: source.clone() }),
                _ => kept.allow_listen(ListenGrant { rule: rule.parse().unwrap(), source: source.clone() }),
            }
        }
        assert!(unenforceable(&kept).is_empty(), "{:?}", unenforceable(&kept));
    }
}
