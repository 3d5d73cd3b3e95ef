//! Running plays on one host.
//!
//! `iterator` says which task comes next, `task` runs one, and `play` leads one to the other. What a module does is the
//! business of the caller, through [`host::ActionHost`].

pub(crate) mod ends;
pub mod host;
pub(crate) mod order;
pub(crate) mod playbooks;
pub mod session;
pub(crate) mod steps;
pub use self::ends::errors;
pub use self::ends::facts;
pub use self::ends::names;
pub use self::ends::projections;
pub use self::ends::result;
pub use self::ends::settle;
pub use self::order::after_commit;
pub use self::order::handlers;
pub use self::order::iterator;
pub use self::order::late_handlers;
pub use self::playbooks::connection_free;
pub use self::playbooks::hosts;
pub use self::playbooks::inventory_vars;
pub use self::playbooks::known_hosts;
pub use self::playbooks::listing;
pub use self::playbooks::once;
pub use self::playbooks::options;
pub use self::playbooks::play;
pub use self::playbooks::play_files;
pub use self::playbooks::play_spec;
pub use self::playbooks::playbook;
pub use self::playbooks::prompt;
pub use self::playbooks::refresh;
pub use self::playbooks::refresh_inventory;
pub use self::playbooks::refusals;
pub use self::playbooks::tags;
pub use self::steps::act;
pub use self::steps::attempt;
pub use self::steps::become_user;
pub use self::steps::conditions;
pub use self::steps::defaults;
pub use self::steps::fields;
pub use self::steps::finalize;
pub use self::steps::include;
pub use self::steps::interpreters;
pub use self::steps::item_scopes;
pub use self::steps::job;
pub use self::steps::job_folder;
pub use self::steps::looping;
pub use self::steps::meta;
pub use self::steps::prepare;
pub use self::steps::task;
pub use self::steps::task_fields;
pub use self::steps::task_run;
