//! Python plugins of plays: the room in which they run, and the talk with them.
//!
//! A plugin is code of a play or a collection that Ansible runs in its controller, with all rights of its user. Here it runs
//! in one process of a room that shows the interpreter, its packages and the collections for reading, and nothing else: no
//! network, no other files, nothing to write but memory.

mod place;
mod process;
mod stream;

pub use self::place::PluginPlace;
pub use self::process::{PluginError, PluginProcess};
