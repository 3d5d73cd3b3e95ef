//! The purpose of signatures of modules.

/// Namespace of the signatures of modules. A signature that the same key made for another purpose, such as a commit, is
/// none of a module.
pub const NAMESPACE: &str = "module@modbox";
