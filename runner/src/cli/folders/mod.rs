//! Folders of this user and of the system, and how files in them are read and written.

pub(crate) mod data_dirs;
pub(crate) mod fleet_folder;
pub(crate) mod job_folder;
pub(crate) mod state_folder;
pub(crate) mod whole_file;
