//! What a real run would be refused, for runs in check mode: a module that writes nothing in check mode does not meet the
//! refusal. The result then says that the real run would fail.
//!
//! Only paths that arguments name for writing count: an operator's grant does not mean that this run uses it.

use modbox_policy::{Access, PathGrant, Policy};

/// Returns the named paths that are granted for writing, but that this user cannot write, with the reasons.
pub(crate) fn unwritable(policy: &Policy) -> impl Iterator<Item = String> + '_ {
    let is_named = |grant: &&PathGrant| grant.access == Access::Write && grant.source.option().is_some();
    let named = policy.paths().iter().filter(is_named);
    named.filter_map(|grant| Some(format!("`{}`: {}", grant.guest, modbox_native::write_obstacle(&grant.host)?)))
}

#[cfg(test)]
mod tests {
    use modbox_policy::Shape;
    use modbox_vocabulary::GrantSource;

    use super::*;

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
