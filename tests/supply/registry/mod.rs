//! Modules in registries: pushed, pulled, locked, bundled and run by reference.

pub(crate) mod registry_bundles;
pub(crate) mod registry_faults;
pub(crate) mod registry_hostile_bundles;
pub(crate) mod registry_hosts;
pub(crate) mod registry_interrupted;
pub(crate) mod registry_junk;
pub(crate) mod registry_library;
pub(crate) mod registry_lock;
pub(crate) mod registry_logins;
pub(crate) mod registry_manifests;
pub(crate) mod registry_offline;
pub(crate) mod registry_place;
pub(crate) mod registry_proxy;
pub(crate) mod registry_pull;
pub(crate) mod registry_push;
pub(crate) mod registry_store;
pub(crate) mod registry_trust;
pub(crate) mod registry_update;
