//! Whether an operation follows a link at the end of its path.

/// What an operation means by a link at the end of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// The name itself, even with a `/` behind it: the operation makes, removes or moves it.
    Entry,
    /// The link; with a `/` behind it, its target.
    Never,
    /// Its target.
    Always,
}

impl Follow {
    /// Returns how a path is looked up, by whether the call follows links.
    pub(crate) fn links(follow: bool) -> Self {
        if follow { Self::Always } else { Self::Never }
    }

    /// Returns whether a link at the end is followed. `slash`: a `/` is behind it.
    pub(crate) fn follows(self, slash: bool) -> bool {
        self == Self::Always || (self == Self::Never && slash)
    }
}
