//! Reading plays: from files to the model.
//!
//! Lists of tasks are read into drafts (`list`), whose imports `expand` replaces by what they import. Nothing is run, and
//! only names of files and roles are evaluated, with the variables that are known before a play starts.

pub mod action;
pub mod arguments;
pub mod context;
pub mod document;
pub mod draft;
pub mod expand;
pub mod find;
pub mod findings;
pub mod include;
pub mod list;
pub mod play;
pub mod play_metadata;
pub mod playbook;
pub mod preflight;
pub mod register;
pub mod role;
pub mod role_files;
pub mod task;
pub mod templates;
pub mod values;
