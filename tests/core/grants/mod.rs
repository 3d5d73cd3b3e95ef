//! What operators and arguments grant, and whose rights a run has.

pub(crate) mod become_user;
pub(crate) mod designated_manage;
pub(crate) mod granted_paths;
pub(crate) mod hostile_surroundings;
pub(crate) mod native_designation;
pub(crate) mod native_names;
pub(crate) mod native_owners;
pub(crate) mod native_path_uses;
pub(crate) mod outside_rules;
pub(crate) mod outside_words;
pub(crate) mod policy;
pub(crate) mod set_id;
pub(crate) mod unconfined;
