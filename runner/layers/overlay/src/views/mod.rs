//! Layers as a run sees them: overlays, copies, and the places where they are attached.

pub(crate) mod attachment;
pub mod fits;
pub mod hub;
pub(crate) mod hub_removal;
pub mod layers;
pub(crate) mod mount;
pub(crate) mod name_stage;
pub(crate) mod overlay_view;
pub(crate) mod own_places;
pub(crate) mod private_place;
pub(crate) mod stacked;
pub(crate) mod tree_facts;
pub mod user_mounts;
pub(crate) mod user_overlay;
pub mod user_stacked;
