//! Native modules: confinement, grants, limits, and kernels that give less.

pub(crate) mod hostile_modules;
pub(crate) mod native_attributes;
pub(crate) mod native_folders;
pub(crate) mod native_grants;
pub(crate) mod native_groups;
pub(crate) mod native_hard_links;
pub(crate) mod native_home;
pub(crate) mod native_ladder;
pub(crate) mod native_limits;
pub(crate) mod native_lost;
pub(crate) mod native_modules;
pub(crate) mod native_others;
pub(crate) mod native_outside;
pub(crate) mod native_place;
pub(crate) mod native_programs;
pub(crate) mod native_refused;
pub(crate) mod native_root;
pub(crate) mod native_sandbox;
pub(crate) mod native_uncounted;
pub(crate) mod native_unseen;
pub(crate) mod outside_attacks;
pub(crate) mod outside_files;
