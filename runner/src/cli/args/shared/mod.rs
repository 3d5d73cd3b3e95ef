//! Switches that several commands have, and what all help texts share.

pub(crate) mod help;
pub(crate) mod internal;
pub(crate) mod late;
pub(crate) mod layers;
pub(crate) mod lookup;
pub(crate) mod providers;
pub(crate) mod python;
pub(crate) mod rules;
pub(crate) mod stub;
