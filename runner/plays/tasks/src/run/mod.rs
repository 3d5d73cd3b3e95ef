//! Running plays on one host.
//!
//! `iterator` says which task comes next, `task` runs one, and `play` leads one to the other. What a module does is the
//! business of the caller, through [`host::ActionHost`].

pub mod act;
pub mod after_commit;
pub mod attempt;
pub mod become_user;
pub mod conditions;
pub mod connection_free;
pub mod defaults;
pub mod errors;
pub mod facts;
pub mod fields;
pub mod finalize;
pub mod handlers;
pub mod host;
pub mod hosts;
pub mod include;
pub mod interpreters;
pub mod inventory_vars;
pub mod item_scopes;
pub mod iterator;
pub mod job;
pub mod job_folder;
pub mod known_hosts;
pub mod late_handlers;
pub mod listing;
pub mod looping;
pub mod meta;
pub mod names;
pub mod once;
pub mod options;
pub mod play;
pub mod play_files;
pub mod play_spec;
pub mod playbook;
pub mod prepare;
pub mod projections;
pub mod prompt;
pub mod refresh;
pub mod refresh_inventory;
pub mod refusals;
pub mod result;
pub mod session;
pub mod settle;
pub mod tags;
pub mod task;
pub mod task_fields;
pub mod task_run;
