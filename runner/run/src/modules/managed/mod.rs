//! What options of Ansible's modules name besides paths: services, packages, users, parameters of the kernel.
//!
//! `table.txt` says which options do, by the profile that has the commands for it, and which modules cannot be confined.
//! [`crate::modules::path_uses`] has the paths.
//!
//! The table is no more trusted than documentation is: any file can lie in a folder of a module's name. It grants nothing by itself.

pub(crate) mod line;
pub(crate) mod managed_table;
