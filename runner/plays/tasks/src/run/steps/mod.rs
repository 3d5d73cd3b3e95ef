//! Tasks: their keywords and arguments, loops, attempts, includes and jobs.

pub mod act;
pub mod attempt;
pub mod become_user;
pub mod conditions;
pub mod defaults;
pub mod fields;
pub mod finalize;
pub mod include;
pub mod interpreters;
pub mod item_scopes;
pub mod job;
pub mod job_folder;
pub mod looping;
pub mod meta;
pub mod prepare;
pub mod task;
pub mod task_fields;
pub mod task_run;
