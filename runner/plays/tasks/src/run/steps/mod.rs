//! Tasks: their keywords and arguments, loops, attempts, includes and jobs, and what their ends mean for the play.

pub mod act;
pub mod attempt;
pub mod become_user;
pub mod connection_free;
pub mod finalize;
pub mod include;
pub mod item_scopes;
pub mod job;
pub mod looping;
pub mod meta;
pub mod once;
pub mod prepare;
pub mod refresh_inventory;
pub mod settle;
pub mod task;
pub mod task_fields;
pub mod task_run;
mod told_variables;
