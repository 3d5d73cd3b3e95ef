//! Who signed a module with its parts, and the most that it may then be granted.

pub(crate) mod trust_damage;
pub(crate) mod trust_parts;
pub(crate) mod trust_parts_damage;
pub(crate) mod trust_parts_kinds;
pub(crate) mod trust_place;
pub(crate) mod trust_rules;
pub(crate) mod trust_shown;
