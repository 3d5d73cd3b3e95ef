//! The policy of a run: what it may access, as plain data. Everything is denied by default. The crate opens no files of
//! a run.
//!
//! A policy is merged from the policy files, the command line and, if these allow it, the arguments of the run; `merge`
//! has the rules. [`Policy::default`] grants nothing.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod access;
mod asking;
mod authorities;
mod covering;
mod designated;
mod error;
mod grant_set;
mod grants;
mod limit;
mod listed;
mod min_confinement;
mod missing;
pub mod net;
mod objections;
pub mod outside;
mod outside_commands;
mod places;
mod rules;
pub mod run;
mod single_files;
mod trust;
mod unconfined;
mod users;
mod waypoints;
mod written;

pub use modbox_vocabulary::NamePattern;

pub use self::access::Access;
pub use self::asking::{AskBounds, never_asked};
pub use self::covering::{Covering, covering, setting_keys};
pub use self::designated::Designated;
pub use self::error::PolicyError;
pub use self::grant_set::{PathDecision, Policy};
pub use self::grants::{EnvGrant, PathGrant, Shape};
pub use self::limit::{
    HIGHEST_LEVEL, LimitName, LimitOverrides, LimitUnit, parse_count, parse_duration, parse_level, parse_size,
};
pub use self::min_confinement::{DEFAULT_LEAST, MinConfinement};
pub use self::missing::MissingPath;
pub use self::objections::Objection;
pub use self::places::{RESERVED, is_own, normalize};
pub use self::rules::accept_policy::AcceptPolicy;
pub use self::rules::check_rule::CheckRule;
pub use self::rules::python_place::PythonPlace;
pub use self::rules::python_rule::PythonRule;
pub use self::rules::source_rules::{NamedLink, Rules};
pub use self::single_files::{SingleFiles, StandIn};
pub use self::trust::{Ceiling, ModuleSignature, TrustStanding};
pub use self::users::accounts;
pub use self::users::known_owners::KnownOwners;
pub use self::users::login::find_user;
pub use self::users::own::{OwnerError, OwnerGrant, Owners, set_id_grant};
pub use self::waypoints::{FailingPath, Waypoints};
pub use self::written::allow::Allow;
pub use self::written::file::{FileRules, PolicyFile};
pub use self::written::file_error::{PolicyFileError, PolicyFileProblem};
pub use self::written::merge::{DEFAULT_SOURCE, MergedPolicy, merge};
pub use self::written::module_key::ModuleKey;
pub use self::written::node::{Located, Place};
pub use self::written::path_text::{granted_host, mapped_path_option, path_option, split_grant};
pub use self::written::profile::{GrantedProfile, Profile};
pub use self::written::sent_policy::SentPolicyError;
pub use self::written::task_key::{TaskKey, TaskNames};
pub use self::written::tools::{Confirm, OWN_TOOLS, ToolRules};
pub use self::written::trust_rules::{AtMost, Subject, TrustRule, TrustRules};
