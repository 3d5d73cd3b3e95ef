//! Modules as they lie on this machine: found, read, recognised, described. Nothing here runs one.

pub(crate) mod ansible_documentation;
pub(crate) mod cached_module;
pub(crate) mod closure;
pub(crate) mod declared_options;
pub(crate) mod description;
pub(crate) mod documentation;
pub mod library;
pub mod locate;
pub(crate) mod managed;
pub(crate) mod metadata;
pub(crate) mod module;
pub(crate) mod path_uses;
pub(crate) mod powershell;
pub(crate) mod provider_section;
pub(crate) mod resident_module;
pub(crate) mod summary;
