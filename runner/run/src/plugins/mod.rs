//! Python plugins of plays: the workers in which they run, and the talk with them.
//!
//! A plugin is code of a play or a collection that Ansible runs in its controller, with all rights of its user. Here it runs
//! in one process that sees the interpreter, its packages, the collections and files of the play for reading, and
//! nothing else: no network, no other files, nothing to write but memory. That is a room, or a component in the sandbox for
//! WebAssembly. A rule of the operator may grant a plugin more; that one has a process of its own.

mod call_time;
mod linked_collections;
mod native;
mod place;
mod process;
mod rights;
mod sandbox;
mod stream;

pub use self::linked_collections::linked_collections;
pub use self::place::{CollectionFolder, PluginPlace};
pub use self::process::{PluginError, PluginProcess};
pub use self::rights::{PluginRights, ShownPath};
pub use self::sandbox::SandboxPlace;
