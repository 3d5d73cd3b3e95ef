//! Which grants are as powerful as root, so that operators see it before a run does.
//!
//! The list warns; it proves nothing about grants that are not in it.

use std::path::Path;

use modbox_vocabulary::GrantSource;

use crate::access::Access;
use crate::grants::{PathGrant, Shape};
use crate::outside::kinds::Kind;
use crate::outside::outside_grant::OutsideGrant;
use crate::outside::reserved::{canonical, is_reserved};
use crate::outside::root_lists::{BELIEVED, CARRIERS, INSTALLERS};
use crate::outside::rule::{Item, OutsideRule, RuleProgram};
use crate::users::own::OwnerGrant;

/// A grant that is as powerful as root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootPower {
    /// The grant: its capability and its subject.
    pub what: String,
    /// The reason.
    pub why: String,
    /// The source of the grant.
    pub source: GrantSource,
}

impl RootPower {
    /// Returns the power of a granted path, if it is as powerful as root.
    #[must_use]
    pub fn of_path(grant: &PathGrant) -> Option<Self> {
        let host = grant.host.to_str()?;
        let is_inside = |believed: &str| match believed.strip_suffix('*') {
            Some(beginning) => host.starts_with(beginning),
            None => grant.host.starts_with(believed),
        };
        let is_around =
            |believed: &str| grant.shape == Shape::Directory && Path::new(believed).starts_with(&grant.host);
        let believed =
            BELIEVED.iter().find(|it| is_inside(it) || is_around(it)).filter(|_| grant.access == Access::Write)?;
        Some(Self {
            what: format!("write {host}"),
            why: format!("root runs or believes what is in `{believed}`"),
            source: grant.source.clone(),
        })
    }

    /// Returns the power of a granted owner, if it is as powerful as root: a file with a set-id bit runs as its owner.
    #[must_use]
    pub fn of_owner(grant: &OwnerGrant) -> Option<Self> {
        let is_root = [grant.user, grant.group].contains(&Some(0));
        let is_reserved = || grant.names().any(|name| is_reserved(Kind::User, name));
        (grant.set_id && (is_root || is_reserved())).then(|| Self {
            what: format!("own {}", grant.written),
            why: "a file with a set-id bit runs as its owner, which is root or may become root".to_owned(),
            source: grant.source.clone(),
        })
    }

    /// Returns the powers of a granted command that are as powerful as root.
    #[must_use]
    pub fn of_command(grant: &OutsideGrant) -> Vec<Self> {
        let power =
            |why: String| RootPower { what: format!("outside {}", grant.shown()), why, source: grant.source.clone() };
        // All rules of a profile reach the same names.
        let named = |name: &str| Self {
            what: format!("the name `{name}`"),
            why: "it is reserved, since it stops the machine or gives root's rights".to_owned(),
            source: grant.source.clone(),
        };
        let kinds: Vec<Kind> = grant.rule.kinds().filter(|kind| kind.is_bound()).collect();
        let mut powers: Vec<Self> = grant.names.reserved(&kinds).into_iter().map(named).collect();
        let spelled = spelled_names(&grant.rule).into_iter();
        powers.extend(spelled.map(|name| power(format!("it spells the reserved name `{name}`"))));
        if !grant.is_own_rule() && grant.names.is_empty() && acts_as_users(&grant.rule, grant.is_query) {
            powers.push(Self {
                what: "all users".to_owned(),
                why: "one of them may have the right to become root; name the users".to_owned(),
                source: grant.source.clone(),
            });
        }
        if grant.is_own_rule() && carries_operands(&grant.rule) {
            powers.push(power("the program runs, loads or places what an argument names".to_owned()));
        }
        powers
    }
}

/// Returns the name of the program, without its folder.
fn program_name(rule: &OutsideRule) -> &str {
    match rule.program() {
        RuleProgram::Named(program) => program.rsplit('/').next().unwrap_or(program),
        RuleProgram::Script => "service",
    }
}

fn carries_operands(rule: &OutsideRule) -> bool {
    let program = program_name(rule);
    let names_file = |kind: Kind| matches!(kind, Kind::Path | Kind::Home | Kind::Input | Kind::Text);
    // `python3.11` is `python3`, and `pip3.11` is `pip3`.
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_carrier = CARRIERS.contains(&program) || CARRIERS.contains(&plain);
    is_carrier && rule.kinds().next().is_some() || INSTALLERS.contains(&program) && rule.kinds().any(names_file)
}

/// Returns whether a command of a profile acts as any user, or gives any user a password or a group.
fn acts_as_users(rule: &OutsideRule, is_query: bool) -> bool {
    !is_query && ["crontab", "usermod"].contains(&program_name(rule))
}

/// Returns the reserved names among the words of a rule.
fn spelled_names(rule: &OutsideRule) -> Vec<String> {
    let kind = match program_name(rule) {
        "systemctl" | "service" | "invoke-rc.d" | "update-rc.d" | "rc-service" => Kind::Unit,
        "sysctl" => Kind::Setting,
        "useradd" | "usermod" | "userdel" | "groupadd" | "groupmod" | "groupdel" | "gpasswd" | "passwd" | "chage"
        | "crontab" | "adduser" | "addgroup" | "chpasswd" => Kind::User,
        _ => return Vec::new(),
    };
    let words = rule.items.iter().flat_map(|item| match item {
        Item::Word(word) => vec![word],
        Item::Repeated(_) => Vec::new(),
        Item::One(group) | Item::Any(group) => group.alternatives().iter().flatten().collect(),
    });
    let names = words.flat_map(|word| word.before.split(','));
    names.filter(|name| is_reserved(kind, &canonical(kind, name))).map(str::to_owned).collect()
}
