//! What a module printed, before anything of it is believed.

/// What a module is alleged to have said: bytes that a sandbox bounded, and nothing more.
///
/// Having one says nothing about what is in it. [`ModuleResult::parse`](crate::ModuleResult::parse) is the only way on.
#[derive(Debug, Clone, Copy)]
pub struct RawOutput<'a> {
    /// Standard output.
    pub stdout: &'a [u8],
    /// Standard error.
    pub stderr: &'a [u8],
    /// The exit status.
    pub rc: i64,
    /// The interpreter line it was started with, without `#!`, for the message that says it does not exist.
    /// `None` when the kernel started the module.
    pub shebang: Option<&'a str>,
}

/// Which part of standard output is the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultLines {
    /// Ansible's rule: everything from the first line that starts with `{` to the last that ends with `}`.
    #[default]
    Ansible,
    /// The last line that is a JSON object. Not Ansible's rule.
    LastJsonLine,
}
