//! The modules of tasks: which file a name means, how it runs, and what a task gets of its report.

mod absent_user;
pub(crate) mod action_groups;
pub(crate) mod action_plugins;
pub(crate) mod argument_trust;
mod asked_run;
pub(crate) mod choice;
pub(crate) mod explained_run;
pub(crate) mod implied_needs;
pub(crate) mod interpreters;
mod learning_runs;
pub(crate) mod modules;
pub(crate) mod names;
pub(crate) mod play_jobs;
pub(crate) mod private_files;
pub(crate) mod proven;
pub(crate) mod requested_run;
pub(crate) mod resources;
pub(crate) mod run_end;
pub(crate) mod task_job;
pub(crate) mod task_start;
