//! The encrypted passwords that a module sees which manages users: those of the users that its policy names, and no others.
//!
//! `user` of Ansible compares a password with the one in `/etc/shadow` (ansible-core 2.21, `user_password`). Without it, each run would
//! set the password again. A profile without names shows none: it would show those of all users of the machine.

use std::fs::File;
use std::io::{self, Read as _};

use modbox_policy::outside::{BoundNames, Kind};
use modbox_policy::{Access, Policy};

use crate::rooms::base::MAX_COPY;

/// The machine's file.
pub(crate) const SHADOW: &str = "/etc/shadow";

/// Returns the names of the users whose passwords a run with this policy sees, as far as rules bind them. Empty where the policy shows
/// the file anyway.
#[must_use]
pub(crate) fn shown_to(policy: &Policy) -> Vec<BoundNames> {
    let makes_users = |kind| matches!(kind, Kind::Home | Kind::Hash);
    let of_users = policy.outside().iter().filter(|grant| grant.is_shipped && grant.rule.kinds().any(makes_users));
    let mut names: Vec<BoundNames> =
        of_users.map(|grant| grant.names.clone()).filter(|names| !names.is_empty()).collect();
    names.dedup();
    if policy.allows_everything() || policy.covers(SHADOW.as_ref(), Access::Read) { Vec::new() } else { names }
}

/// Reads the machine's file, and returns the lines of the named users.
///
/// # Errors
///
/// The file cannot be read, as by a user that is not root.
pub(crate) fn lines_of(names: &[BoundNames]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(SHADOW)?.take(MAX_COPY).read_to_end(&mut text)?;
    Ok(filtered(&text, names))
}

/// Returns the lines of the named users of a text (shadow(5)).
fn filtered(text: &[u8], names: &[BoundNames]) -> Vec<u8> {
    let is_named = |line: &&[u8]| {
        let name = line.split(|byte| *byte == b':').next().and_then(|name| std::str::from_utf8(name).ok());
        name.is_some_and(|name| names.iter().any(|names| names.permit(Kind::User, name)))
    };
    text.split_inclusive(|byte| *byte == b'\n').filter(is_named).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_users_are_shown() {
        let names = [BoundNames::new(&["app", "web*"], &[Kind::User]).unwrap()];
        let text = b"root:$6$r:1::::::\napp:$6$a:2::::::\napple:$6$x:3::::::\nweb1:!:4::::::\n\xff:$6$y:5::::::\nweb2:*:6::::::";
        let expect = b"app:$6$a:2::::::\nweb1:!:4::::::\nweb2:*:6::::::";
        assert_eq!(String::from_utf8(filtered(text, &names)).unwrap().as_bytes(), expect);
        assert!(filtered(text, &[]).is_empty());
        // A pattern does not reach a reserved name; spelling it does.
        let all = [BoundNames::new(&["*"], &[Kind::User]).unwrap()];
        assert!(!filtered(text, &all).starts_with(b"root"));
        let root = [BoundNames::new(&["root"], &[Kind::User]).unwrap()];
        assert_eq!(filtered(text, &root), b"root:$6$r:1::::::\n");
    }
}
