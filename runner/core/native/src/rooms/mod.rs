//! Rooms as data: what a module can see, reach and use, what every room has, and what of it is denied.
//!
//! Nothing here mounts, starts or watches.

pub mod base;
pub(crate) mod covering;
pub(crate) mod current_group;
pub(crate) mod denials;
pub(crate) mod directories;
pub(crate) mod home;
pub(crate) mod modes;
pub(crate) mod passwords;
pub(crate) mod room;
pub(crate) mod runtime;
pub(crate) mod shown_program;
pub(crate) mod writable;
