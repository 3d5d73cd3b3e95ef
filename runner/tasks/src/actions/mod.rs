//! Actions: what a task does before, around or instead of a module.
//!
//! An action has no authority of its own. It reads the play's tree and runs modules, both through the caller's host. The
//! table in [`table`] has all of them; a name that it does not have is that of a module.

pub mod add_host;
pub mod assert;
pub mod command;
pub mod context;
pub mod debug;
pub mod error;
pub mod fail;
pub mod group_by;
pub mod include_vars;
pub mod normal;
pub mod pause;
pub mod set_fact;
pub mod set_stats;
pub mod table;
