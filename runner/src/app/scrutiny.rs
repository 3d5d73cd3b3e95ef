//! How a run treats the uses of paths and addresses by a native module.

/// How a run treats the uses of paths and addresses by a native module. Guests make each use through modbox, so it has no
/// meaning for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scrutiny {
    /// What is not granted is refused. Of the refused uses, looks at paths and most of reading are not reported.
    #[default]
    Confined,
    /// What is not granted is refused, and every refused use is reported.
    Watched,
    /// Nothing is refused, and every use without a grant is reported. The module has the environment of this process.
    Observed,
}
