//! The kinds of confined processes.

/// A kind of confined process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// A process of modbox that runs a guest. It starts no other process.
    Guest,
    /// A native module, which can be any program, in its own namespaces.
    Native,
    /// A native module on the host's file system, if namespaces are not available.
    NativeOnHost,
    /// The compile worker of modbox.
    Compiler,
    /// The process of modbox that speaks with registries.
    Transfer,
}
