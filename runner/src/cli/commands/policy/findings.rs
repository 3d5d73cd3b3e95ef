//! Findings about a policy file: errors and warnings, with their places.

use modbox_policy::Place;

/// How grave a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gravity {
    /// A run refuses the file.
    Error,
    /// A run accepts it.
    Warning,
}

/// A finding about a policy file.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub(super) place: Option<Place>,
    pub(super) gravity: Gravity,
    pub(super) text: String,
}

impl Finding {
    pub(super) fn error(place: Option<Place>, text: String) -> Self {
        Self { place, gravity: Gravity::Error, text }
    }

    pub(super) fn warning(place: Option<Place>, text: String) -> Self {
        Self { place, gravity: Gravity::Warning, text }
    }
}
