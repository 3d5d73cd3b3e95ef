//! Running plays on one host.
//!
//! `iterator` says which task comes next, `task` runs one, and `play` leads one to the other. What a module does is the
//! business of the caller, through [`host::ActionHost`].

pub(crate) mod ends;
pub mod errors;
pub(crate) mod order;
pub(crate) mod playbooks;
pub mod session;
pub(crate) mod steps;
pub(crate) mod variables;

pub use crate::action_host as host;
pub use crate::run_options as options;
pub use crate::vars::interpreters;

pub use self::ends::facts;
pub use self::ends::projections;
pub use self::order::handlers;
pub use self::order::iterator;
pub use self::order::late_handlers;
pub use self::playbooks::after_commit;
pub use self::playbooks::hosts;
pub use self::playbooks::listing;
pub use self::playbooks::play;
pub use self::playbooks::play_spec;
pub use self::playbooks::playbook;
pub use self::playbooks::prompt;
pub use self::playbooks::refusals;
pub use self::playbooks::tags;
pub use self::steps::act;
pub use self::steps::attempt;
pub use self::steps::become_user;
pub use self::steps::connection_free;
pub use self::steps::finalize;
pub use self::steps::include;
pub use self::steps::item_scopes;
pub use self::steps::job;
pub use self::steps::looping;
pub use self::steps::meta;
pub use self::steps::once;
pub use self::steps::prepare;
pub use self::steps::refresh_inventory;
pub use self::steps::settle;
pub use self::steps::task;
pub use self::steps::task_fields;
pub use self::steps::task_run;
pub use self::variables::inventory_vars;
pub use self::variables::play_files;
pub use self::variables::refresh;
pub use self::variables::variable_files;
