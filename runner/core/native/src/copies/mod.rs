//! Single files that a module may write: the copies that it has, and how they come back to the machine.

pub(crate) mod attributes;
pub(crate) mod beside;
pub(crate) mod clock;
pub(crate) mod commit;
pub(crate) mod content;
pub(crate) mod flags;
pub(crate) mod locks;
pub(crate) mod module_copy;
pub(crate) mod new_directory;
pub(crate) mod other_names;
pub(crate) mod stage;
pub(crate) mod take_back;
pub(crate) mod unreached;
pub(crate) mod xattrs;
