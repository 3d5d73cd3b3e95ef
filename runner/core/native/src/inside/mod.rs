//! The room from within: what its first process mounts, and how it confines itself.

pub(crate) mod entries;
pub(crate) mod first_process;
pub(crate) mod folder;
pub(crate) mod init;
pub(crate) mod mounts;
pub(crate) mod names;
pub(crate) mod own;
pub(crate) mod places;
pub(crate) mod private_space;
pub(crate) mod process_limits;
pub(crate) mod root;
pub(crate) mod shown;
