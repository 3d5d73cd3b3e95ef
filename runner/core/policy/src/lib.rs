//! The policy of a run: what it may access, as plain data. Everything is denied by default. The crate opens no files of
//! a run.
//!
//! A policy is merged from the policy files, the command line and, if these allow it, the arguments of the run; `merge`
//! has the rules. [`Policy::default`] grants nothing.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod accept_policy;
mod access;
pub mod accounts;
mod allow;
mod authorities;
mod check_rule;
mod designated;
mod error;
mod file;
mod file_error;
mod grant_set;
mod grants;
mod known_owners;
mod limit;
mod listed;
mod login;
mod merge;
mod min_confinement;
mod missing;
mod module_key;
pub mod net;
mod node;
mod objections;
mod own;
mod path_text;
mod places;
mod profile;
mod python_place;
mod python_rule;
mod reader;
mod restrictions;
mod rules;
pub mod run;
mod sent_policy;
mod single_files;
mod task_key;
mod trust;
mod waypoints;

pub use modbox_vocabulary::NamePattern;

pub use self::accept_policy::AcceptPolicy;
pub use self::access::Access;
pub use self::allow::Allow;
pub use self::check_rule::CheckRule;
pub use self::designated::Designated;
pub use self::error::PolicyError;
pub use self::file::{FileRules, PolicyFile};
pub use self::file_error::{PolicyFileError, PolicyFileProblem};
pub use self::grant_set::{PathDecision, Policy};
pub use self::grants::{EnvGrant, PathGrant, Shape};
pub use self::known_owners::KnownOwners;
pub use self::limit::{
    HIGHEST_LEVEL, LimitName, LimitOverrides, LimitUnit, parse_count, parse_duration, parse_level, parse_size,
};
pub use self::login::find_user;
pub use self::merge::{DEFAULT_SOURCE, MergedPolicy, merge};
pub use self::min_confinement::{DEFAULT_LEAST, MinConfinement};
pub use self::missing::MissingPath;
pub use self::module_key::ModuleKey;
pub use self::node::{Located, Place};
pub use self::objections::Objection;
pub use self::own::{OwnerGrant, Owners, set_id_grant};
pub use self::path_text::{granted_host, mapped_path_option, path_option, split_grant};
pub use self::places::{RESERVED, is_own, normalize};
pub use self::profile::Profile;
pub use self::python_place::PythonPlace;
pub use self::python_rule::PythonRule;
pub use self::rules::{NamedLink, Rules};
pub use self::sent_policy::SentPolicyError;
pub use self::single_files::{SingleFiles, StandIn};
pub use self::task_key::{TaskKey, TaskNames};
pub use self::trust::{AtMost, Ceiling, ModuleSignature, Subject, TrustRule, TrustRules, TrustStanding};
pub use self::waypoints::{FailingPath, Waypoints};
