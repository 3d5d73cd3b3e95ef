//! Grants to change the owner of files, and to set the bits by which they run as it: users and groups, by number.

use modbox_vocabulary::GrantSource;
use serde::{Deserialize, Serialize};

/// The bit of a mode by which a program runs as its owner.
const SET_USER_ID: u32 = 0o4000;

/// The bit by which it runs as its group.
const SET_GROUP_ID: u32 = 0o2000;

/// What follows an owner whose files may get these bits.
const WITH_SET_ID: &str = "+setid";

/// A user, a group or both that may become the owner of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerGrant {
    /// The number of the user who may become the owner; `None` for a grant of a group.
    pub user: Option<u32>,
    /// The number of the group that may become the owner; `None` for a grant of a user.
    pub group: Option<u32>,
    /// Whether files of the user may get the set-user-id bit, and those of the group the set-group-id bit.
    pub set_id: bool,
    /// The text of the grant.
    pub written: String,
    /// The switch or policy file that granted it.
    pub source: GrantSource,
}

/// Error in the text of a grant of an owner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OwnerError {
    /// The text has another form.
    #[error("expected USER, USER:GROUP or :GROUP")]
    Form,
    /// The text has no owner before `+setid`.
    #[error("`+setid` follows an owner; expected USER, USER:GROUP or :GROUP before it")]
    NoOwner,
    /// The number stands for no user or group.
    #[error("{what} {id} is not a {what}")]
    NotAnId {
        /// `user` or `group`.
        what: &'static str,
        /// The number.
        id: u32,
    },
    /// The machine has no user or group of this name.
    #[error("unknown {what} `{name}` on this machine; use a number")]
    Unknown {
        /// `user` or `group`.
        what: &'static str,
        /// The name.
        name: String,
    },
}

impl OwnerGrant {
    /// Parses `USER`, `USER:GROUP` or `:GROUP` like `chown`, each also with `+setid` behind it. Numbers need no lookup.
    ///
    /// # Errors
    ///
    /// Text of another form, and unknown names.
    pub fn parse(
        text: &str,
        source: &GrantSource,
        user_id: impl FnOnce(&str) -> Option<u32>,
        group_id: impl FnOnce(&str) -> Option<u32>,
    ) -> Result<Self, OwnerError> {
        let (owner, set_id) = text.strip_suffix(WITH_SET_ID).map_or((text, false), |owner| (owner, true));
        let (user, group) = owner.split_once(':').unwrap_or((owner, ""));
        if user.is_empty() && group.is_empty() {
            return Err(if set_id { OwnerError::NoOwner } else { OwnerError::Form });
        }
        let user = id(user, "user", user_id)?;
        let group = id(group, "group", group_id)?;
        Ok(Self { user, group, set_id, written: text.to_owned(), source: source.clone() })
    }

    /// Returns the words for the user and the group, as they are written.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.written.strip_suffix(WITH_SET_ID).unwrap_or(&self.written).split(':')
    }
}

fn id(text: &str, what: &'static str, look_up: impl FnOnce(&str) -> Option<u32>) -> Result<Option<u32>, OwnerError> {
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse().ok().or_else(|| look_up(text)) {
        // The kernel takes this number as "do not change".
        Some(id @ u32::MAX) => Err(OwnerError::NotAnId { what, id }),
        Some(id) => Ok(Some(id)),
        None => Err(OwnerError::Unknown { what, name: text.to_owned() }),
    }
}

/// Returns whether some grants permit all owners, and all set-id bits, that another one does.
#[must_use]
pub(crate) fn include(grants: &[OwnerGrant], other: &OwnerGrant) -> bool {
    let grants = || grants.iter().filter(|grant| grant.set_id || !other.set_id);
    let has_user = other.user.is_none_or(|user| grants().any(|grant| grant.user == Some(user)));
    has_user && other.group.is_none_or(|group| grants().any(|grant| grant.group == Some(group)))
}

/// Returns the grant, as an operator writes it, by which a file of a user and a group may have the set-id bits of a mode.
#[must_use]
pub fn set_id_grant(mode: u32, uid: u32, gid: u32) -> String {
    let user = if mode & SET_USER_ID != 0 { uid.to_string() } else { String::new() };
    let group = if mode & SET_GROUP_ID != 0 { format!(":{gid}") } else { String::new() };
    format!("{user}{group}{WITH_SET_ID}")
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

    /// Returns the set-id bits that a file of a user and a group may have: 0o4000, 0o2000, both or none.
    #[must_use]
    pub fn set_id_bits(&self, uid: u32, gid: u32) -> u32 {
        let Self::Some(grants) = self else { return SET_USER_ID | SET_GROUP_ID };
        let has = |is_it: &dyn Fn(&OwnerGrant) -> bool| grants.iter().any(|grant| grant.set_id && is_it(grant));
        let user = if has(&|grant| grant.user == Some(uid)) { SET_USER_ID } else { 0 };
        user | if has(&|grant| grant.group == Some(gid)) { SET_GROUP_ID } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<OwnerGrant, OwnerError> {
        let by = GrantSource::named("test");
        OwnerGrant::parse(text, &by, |name| (name == "www").then_some(33), |name| (name == "adm").then_some(4))
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
            ("+setid", "`+setid` follows an owner; expected USER, USER:GROUP or :GROUP before it"),
            (":+setid", "`+setid` follows an owner; expected USER, USER:GROUP or :GROUP before it"),
            ("www+setgid", "unknown user `www+setgid` on this machine; use a number"),
            ("missing", "unknown user `missing` on this machine; use a number"),
            ("www:missing", "unknown group `missing` on this machine; use a number"),
            ("4294967295", "user 4294967295 is not a user"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), expect);
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

    #[test]
    fn set_id_bits_need_a_grant_of_their_own() {
        let owners = |texts: &[&str]| Owners::Some(texts.iter().map(|text| parse(text).unwrap()).collect());
        for (grants, expect) in [
            (&["www:adm"][..], 0),
            (&["www+setid"], 0o4000),
            (&[":adm+setid"], 0o2000),
            (&["www:adm+setid"], 0o6000),
            (&["www", ":adm+setid"], 0o2000),
            (&["0:0+setid"], 0),
        ] {
            assert_eq!(owners(grants).set_id_bits(33, 4), expect, "{grants:?}");
        }
        assert!(owners(&["www:adm+setid"]).cover(Some(33), Some(4)));
        assert_eq!(Owners::Any.set_id_bits(1, 2), 0o6000);
        for mode in [0o4755, 0o2755, 0o6755] {
            let written = set_id_grant(mode, 33, 4);
            assert_eq!(owners(&[&written]).set_id_bits(33, 4), mode & 0o6000, "{written}");
        }
    }

    #[test]
    fn a_grant_of_set_id_bits_is_more_than_one_of_an_owner() {
        let [plain, with, user] = ["www:adm", "www:adm+setid", "www+setid"].map(|text| parse(text).unwrap());
        let held = |grants: &[&OwnerGrant], other| include(&grants.iter().copied().cloned().collect::<Vec<_>>(), other);
        assert!(held(&[&with], &plain) && held(&[&with], &user) && held(&[&plain], &plain));
        assert!(!held(&[&plain], &with) && !held(&[&plain, &user], &with));
    }
}
