//! How a run treats the uses of paths and addresses by a native module.

/// How a run treats the uses of paths and addresses by a native module. Guests make each use through modbox, so it has no
/// meaning for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scrutiny {
    /// The kernel refuses each use without a grant. The report lacks refused looks at paths, and most refused reads.
    #[default]
    Confined,
    /// The kernel refuses each use without a grant, and the report has all of them.
    Watched,
    /// Nothing is refused, and the report has each use without a grant. The module has the environment of this process.
    Observed,
}
