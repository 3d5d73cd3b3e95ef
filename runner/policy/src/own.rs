//! Grants to change the owner of files: users and groups, by number.

use serde::{Deserialize, Serialize};

/// A user, a group or both that may become the owner of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerGrant {
    /// The user.
    pub user: Option<u32>,
    /// The group.
    pub group: Option<u32>,
    /// The text of the grant.
    pub written: String,
    /// The source of the grant.
    pub source: String,
}

impl OwnerGrant {
    /// Parses `USER`, `USER:GROUP` or `:GROUP` like `chown`. Numbers need no lookup.
    ///
    /// # Errors
    ///
    /// Text of another form, and unknown names.
    pub fn parse(
        text: &str,
        source: &str,
        user_id: impl FnOnce(&str) -> Option<u32>,
        group_id: impl FnOnce(&str) -> Option<u32>,
    ) -> Result<Self, String> {
        let (user, group) = text.split_once(':').unwrap_or((text, ""));
        if user.is_empty() && group.is_empty() {
            return Err("expected USER, USER:GROUP or :GROUP".to_owned());
        }
        let user = id(user, "user", user_id)?;
        let group = id(group, "group", group_id)?;
        Ok(Self { user, group, written: text.to_owned(), source: source.to_owned() })
    }
}

fn id(text: &str, what: &str, look_up: impl FnOnce(&str) -> Option<u32>) -> Result<Option<u32>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse().ok().or_else(|| look_up(text)) {
        // The kernel takes this number as "do not change".
        Some(u32::MAX) => Err(format!("{what} {text} is not a {what}")),
        Some(id) => Ok(Some(id)),
        None => Err(format!("unknown {what} `{text}` on this machine; use a number")),
    }
}

/// Returns whether some grants permit all owners that another one does.
#[must_use]
pub(crate) fn include(grants: &[OwnerGrant], other: &OwnerGrant) -> bool {
    let has_user = other.user.is_none_or(|user| grants.iter().any(|grant| grant.user == Some(user)));
    has_user && other.group.is_none_or(|group| grants.iter().any(|grant| grant.group == Some(group)))
}

/// The set of permitted owners.
#[derive(Debug, Clone)]
pub enum Owners {
    /// Every owner that the caller may set.
    Any,
    /// The granted ones.
    Some(Vec<OwnerGrant>),
}

impl Owners {
    /// Returns whether a file's owner may be changed to a user and a group. `None` leaves that one unchanged.
    #[must_use]
    pub fn cover(&self, uid: Option<u32>, gid: Option<u32>) -> bool {
        let Self::Some(grants) = self else { return true };
        let user = uid.is_none_or(|uid| grants.iter().any(|grant| grant.user == Some(uid)));
        user && gid.is_none_or(|gid| grants.iter().any(|grant| grant.group == Some(gid)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<OwnerGrant, String> {
        OwnerGrant::parse(text, "test", |name| (name == "www").then_some(33), |name| (name == "adm").then_some(4))
    }

    #[test]
    fn parses_owners_like_chown() {
        for (text, user, group) in [
            ("www", Some(33), None),
            ("www:adm", Some(33), Some(4)),
            (":adm", None, Some(4)),
            ("1000:0", Some(1000), Some(0)),
            ("1000:", Some(1000), None),
        ] {
            let grant = parse(text).unwrap();
            assert_eq!((grant.user, grant.group, grant.written.as_str()), (user, group, text));
        }
        for (text, expect) in [
            ("", "expected USER, USER:GROUP or :GROUP"),
            (":", "expected USER, USER:GROUP or :GROUP"),
            ("missing", "unknown user `missing` on this machine; use a number"),
            ("www:missing", "unknown group `missing` on this machine; use a number"),
            ("4294967295", "user 4294967295 is not a user"),
        ] {
            assert_eq!(parse(text).unwrap_err(), expect);
        }
    }

    #[test]
    fn user_and_group_each_need_a_grant() {
        let owners = Owners::Some(vec![parse("www").unwrap(), parse(":adm").unwrap()]);
        for (uid, gid, expect) in [
            (None, None, true),
            (Some(33), None, true),
            (Some(33), Some(4), true),
            (Some(0), None, false),
            (Some(33), Some(0), false),
            (None, Some(33), false),
        ] {
            assert_eq!(owners.cover(uid, gid), expect, "{uid:?} {gid:?}");
        }
        assert!(Owners::Any.cover(Some(0), Some(0)));
    }
}
