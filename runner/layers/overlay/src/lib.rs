//! Copy-on-write layers over granted files: what a run changed, and how a change is committed.
//!
//! A layer is a view of a granted directory that a module can write without writing the directory. When the module has
//! ended, the layer is frozen and compared with the directory. The result is a list of changes, which is shown, or
//! committed as a whole.
//!
//! This crate does not know modules, policies or reports. It does not decide whether a run is committed.

#![deny(missing_docs)]

mod changes;
pub mod commit;
pub mod error;
pub(crate) mod layer_contents;
pub(crate) mod optional_path;
pub mod quota;
pub(crate) mod tree_root;
mod trees;
mod views;
pub use self::changes::change;
pub use self::changes::change_list;
pub use self::changes::text_diff;
pub use self::views::fits;
pub use self::views::hub;
pub use self::views::layers;
pub use self::views::user_mounts;
pub use self::views::user_stacked;
