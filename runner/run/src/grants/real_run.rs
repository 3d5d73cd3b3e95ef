//! What a real run would be refused, for runs in check mode: a module that writes nothing in check mode does not meet the
//! refusal. The result then says that the real run would fail.
//!
//! Only paths that arguments name for writing count: an operator's grant does not mean that this run uses it.

use modbox_contract::Value;
use modbox_policy::{Access, PathGrant, Policy};

use crate::request::run_request::Arguments;

/// Maximum number of obstacles that are listed; a person reads no more.
const MAX_OBSTACLES: usize = 8;

/// The beginning of the warning.
const START: &str = "check mode wrote nothing, and a real run would be refused: ";

/// Returns whether the arguments ask for check mode.
pub(crate) fn is_check(arguments: &Arguments) -> bool {
    match arguments {
        Arguments::Task { internal, .. } => internal.check_mode,
        Arguments::Complete(args) => args.get("_ansible_check_mode").is_some_and(Value::is_truthy),
    }
}

/// Returns the named paths that are granted for writing, but that this user cannot write, with the reasons.
pub(crate) fn unwritable(policy: &Policy) -> impl Iterator<Item = String> + '_ {
    let is_named = |grant: &&PathGrant| grant.access == Access::Write && grant.source.option().is_some();
    let named = policy.paths().iter().filter(is_named);
    named.filter_map(|grant| Some(format!("`{}`: {}", grant.guest, modbox_native::write_obstacle(&grant.host)?)))
}

/// Returns the warnings for a run in check mode that would change something.
pub(crate) fn warnings(obstacles: &[String]) -> Vec<String> {
    obstacles.iter().take(MAX_OBSTACLES).map(|obstacle| format!("{START}{obstacle}")).collect()
}

#[cfg(test)]
mod tests {
    use modbox_contract::Dict;
    use modbox_policy::Shape;
    use modbox_vocabulary::GrantSource;

    use super::*;

    #[test]
    fn complete_arguments_say_whether_they_ask_for_check_mode() {
        for (value, expect) in [(Value::from(true), true), (false.into(), false), (Value::Null, false)] {
            let args = Dict::from_iter([("_ansible_check_mode".to_owned(), value)]);
            assert_eq!(is_check(&Arguments::Complete(args)), expect);
        }
        assert!(!is_check(&Arguments::Complete(Dict::new())));
    }

    #[test]
    fn only_named_paths_are_obstacles() {
        for (source, access, expect) in [
            ("argument path", Access::Write, 1),
            ("argument path", Access::Read, 0),
            ("command line", Access::Write, 0),
        ] {
            let mut policy = Policy::default();
            // A link cannot be replaced by any user.
            let (host, guest) = ("/proc/self".into(), "/data/self".to_owned());
            let grant = PathGrant { host, shape: Shape::Name, guest, access, source: GrantSource::parse(source) };
            policy.designate(grant).unwrap();
            let found: Vec<String> = unwritable(&policy).collect();
            assert_eq!(found.len(), expect, "{source} {access:?}: {found:?}");
            assert!(found.iter().all(|text| text.starts_with("`/data/self`: ")), "{found:?}");
        }
    }
}
