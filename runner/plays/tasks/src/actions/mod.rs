//! Actions: what a task does before, around or instead of a module.
//!
//! An action has no authority of its own. It reads the play's tree and runs modules, both through the caller's host. The
//! table in [`table`] has all of them; a name that it does not have is that of a module.

pub(crate) mod backends;
pub(crate) mod commands;
pub mod context;
pub(crate) mod copies;
pub mod error;
pub mod table;
#[cfg(test)]
mod tests_of_modules;
pub(crate) mod values;
pub use self::backends::backend;
pub use self::backends::dnf;
pub use self::backends::libral;
pub use self::backends::normal;
pub use self::backends::package;
pub use self::backends::service;
pub use self::commands::async_status;
pub use self::commands::command;
pub use self::commands::connection;
pub use self::commands::low_level;
pub use self::commands::pause;
pub use self::commands::raw;
pub use self::commands::script;
pub use self::copies::assemble;
pub use self::copies::copy;
pub use self::copies::copying;
pub use self::copies::fetch;
pub use self::copies::file_difference;
pub use self::copies::local_tree;
pub use self::copies::patch;
pub use self::copies::stat;
pub use self::copies::synchronize;
pub use self::copies::template;
pub use self::copies::unarchive;
pub use self::copies::uri;
pub use self::values::add_host;
pub use self::values::assert;
pub use self::values::debug;
pub use self::values::fail;
pub use self::values::gather_facts;
pub use self::values::group_by;
pub use self::values::include_vars;
pub use self::values::set_fact;
pub use self::values::set_stats;
pub use self::values::validate_argument_spec;
