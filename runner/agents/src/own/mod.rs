//! Tools of modbox's own, beside those of modules. Each file has one: its definition, and what its arguments say.

mod apply;
mod definition;
mod find;
mod undo;

pub use self::apply::{APPLY, apply_arguments, apply_tool};
pub use self::find::{CHANGE, FIND, READ, change_tool, find_tool, read_tool};
pub(crate) use self::find::{Route, route};
pub use self::undo::{UNDO, undo_argument, undo_tool};
