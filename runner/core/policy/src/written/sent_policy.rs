//! The policy that a controller sends with a task. It is a policy file, without the keys that are the host's alone.

use crate::designated::Designated;
use crate::rules::accept_policy::AcceptPolicy;
use crate::written::allow::Allow;
use crate::written::file::{FileRules, PolicyFile};
use crate::written::file_error::PolicyFileError;
use crate::written::trust_rules::TrustRules;

/// Why the policy of a task is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SentPolicyError {
    /// The text is not a policy file.
    #[error("invalid policy of the task")]
    Invalid(#[source] PolicyFileError),
    /// A key that is the host's alone, or that has no effect on a task.
    #[error("the policy of the task has the key `{0}`, which only a policy file of the host may have")]
    Key(&'static str),
    /// Something beyond restrictions.
    #[error(
        "the policy of the task has the key `{0}`, and this host accepts only restrictions; leave it out, or write \
         `accept-policy: grants` into a policy file of the host"
    )]
    Grants(&'static str),
}

impl PolicyFile {
    /// Parses the policy of a task, and checks that a host that accepts `accepted` takes it.
    ///
    /// # Errors
    ///
    /// The text is not a policy file, or has keys that the host does not accept from others.
    pub fn parse_sent(text: &str, accepted: AcceptPolicy) -> Result<Self, SentPolicyError> {
        let file = Self::parse(text).map_err(SentPolicyError::Invalid)?;
        let rules = || std::iter::once(&file.rules).chain(file.modules.iter().map(|(_, rules)| rules));
        let of_file = [
            ("tasks", !file.tasks.is_empty()),
            ("trust", file.trust != TrustRules::default()),
            ("offline", file.offline.is_some()),
            ("tools", file.tools.is_some()),
        ];
        let of_file = of_file.into_iter().find(|(_, is_there)| *is_there).map(|(key, _)| key);
        if let Some(key) = of_file.or_else(|| rules().find_map(key_of_host)) {
            return Err(SentPolicyError::Key(key));
        }
        match rules().find_map(granting_key).filter(|_| accepted == AcceptPolicy::Narrow) {
            Some(key) => Err(SentPolicyError::Grants(key)),
            None => Ok(file),
        }
    }
}

/// Returns a key of rules that is the host's alone, or that is not about tasks of components.
fn key_of_host(rules: &FileRules) -> Option<&'static str> {
    let keys = [
        ("ask", rules.ask.is_some()),
        ("accept-policy", rules.accept_policy.is_some()),
        ("audit", rules.audit.is_some()),
        ("audit-in-results", rules.audit_in_results.is_some()),
        ("designated: manage", rules.designated.is_some_and(Designated::allows_managing)),
        ("designated-by-results", rules.designated_by_results.is_some()),
        ("python", rules.python.is_some()),
        ("python-modules", rules.python_modules.is_some()),
        ("unconfined", rules.unconfined.is_some()),
    ];
    keys.into_iter().find(|(_, is_there)| *is_there).map(|(key, _)| key)
}

/// Returns a key of rules that grants something.
fn granting_key(rules: &FileRules) -> Option<&'static str> {
    let keys = [("allow", rules.allow != Allow::default()), ("profiles", !rules.profiles.is_empty())];
    keys.into_iter().find(|(_, is_there)| *is_there).map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restrictions_are_accepted_and_grants_only_where_the_host_says_so() {
        let narrow = "designated: read\nlimits: {timeout: 5s}\nmodules: {copy: {min-confinement: 3}}\n";
        for accepted in AcceptPolicy::ALL {
            assert_eq!(PolicyFile::parse_sent(narrow, accepted), Ok(PolicyFile::parse(narrow).unwrap()));
        }
        for (text, key) in [
            ("allow: {read: [/srv]}", "allow"),
            ("modules: {copy: {allow: {env: [A]}}}", "allow"),
            ("modules: {setup: {profiles: [facts]}}", "profiles"),
        ] {
            assert_eq!(PolicyFile::parse_sent(text, AcceptPolicy::Narrow), Err(SentPolicyError::Grants(key)));
            assert!(PolicyFile::parse_sent(text, AcceptPolicy::Grants).is_ok(), "{text}");
        }
    }

    #[test]
    fn keys_of_the_host_are_refused() {
        for (text, key) in [
            ("accept-policy: grants", "accept-policy"),
            ("audit: /var/log/x", "audit"),
            ("audit-in-results: true", "audit-in-results"),
            ("tasks: {x: {designated: none}}", "tasks"),
            ("tools: {modules: [x], confirm: never}", "tools"),
            ("python: wasm", "python"),
            ("python-modules: observe", "python-modules"),
            ("modules: {x: {python-modules: observe}}", "python-modules"),
            ("designated-by-results: write", "designated-by-results"),
            ("designated: manage", "designated: manage"),
            ("modules: {service: {designated: manage}}", "designated: manage"),
            (&format!("modules: {{'sha256:{}': {{unconfined: true}}}}", "0a".repeat(32)), "unconfined"),
        ] {
            assert_eq!(PolicyFile::parse_sent(text, AcceptPolicy::Grants), Err(SentPolicyError::Key(key)));
        }
        let wrong = PolicyFile::parse_sent("alow: {}", AcceptPolicy::Grants).unwrap_err();
        assert!(matches!(wrong, SentPolicyError::Invalid(_)), "{wrong}");
    }
}
