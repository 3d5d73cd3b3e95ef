//! What a run needs for what its arguments name besides paths; [`crate::modules::managed`] has the table.
//!
//! It serves two ends. `modbox play --explain` says what each task needs. And where `designated` is `manage`, an argument grants
//! what it names, as it grants a path: the profile, bound to exactly this name. See `designate`.

mod designate;
mod names;
mod needs;

pub(crate) use self::designate::designate;
pub use self::needs::{ManagedNeed, ManagedNeeds};
