//! Explaining a playbook: what each task would do, without doing it.
//!
//! Plays are walked in the order of their tasks. Values that are known before a run are evaluated; a value that needs a
//! result is named as such. Actions that run modules are carried out on a host that runs none, so that the host sees each
//! call with its arguments. Conditions are shown and not decided, and each dynamic include is followed once.

mod arguments;
mod explanation;
mod fake;
mod task;
mod walk;

pub use explanation::{TaskExplanation, UnknownReason};
pub use fake::result as fake_result;
pub use walk::playbook;
