//! The names under which an overlay keeps its marks in the directory with what was written.
//!
//! Root's overlays use names that only root may set. An ordinary user's overlays use names of users. In both, a module
//! that sets such a name in the view sets another one. This file reads no marks.

/// Sort of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverlayMarks {
    /// Root's.
    Trusted,
    /// An ordinary user's. A file that was copied up has no number of the one below.
    User,
}

impl OverlayMarks {
    /// Returns the mark of a directory that hides the one below.
    pub(crate) fn opaque(self) -> &'static str {
        match self {
            Self::Trusted => "trusted.overlay.opaque",
            Self::User => "user.overlay.opaque",
        }
    }

    /// Returns the mark of a directory that was renamed.
    pub(crate) fn redirect(self) -> &'static str {
        match self {
            Self::Trusted => "trusted.overlay.redirect",
            Self::User => "user.overlay.redirect",
        }
    }

    /// Returns the mark of an entry that was copied up and has the number of the one below.
    pub(crate) fn origin(self) -> Option<&'static str> {
        (self == Self::Trusted).then_some("trusted.overlay.origin")
    }
}
