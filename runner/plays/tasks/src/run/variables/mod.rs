//! The variables of a session, kept current: those of the engine, of the inventory, and of the files of a play.

pub mod inventory_vars;
pub mod play_files;
pub mod refresh;
pub mod variable_files;
