//! A module's output before validation.

/// The untrusted output of a module. The sandbox limited its size; nothing else is known about it.
///
/// [`ModuleResult::parse`](crate::ModuleResult::parse) is the only way to use it.
#[derive(Debug, Clone, Copy)]
pub struct RawOutput<'a> {
    /// Standard output.
    pub stdout: &'a [u8],
    /// Standard error.
    pub stderr: &'a [u8],
    /// The exit status.
    pub rc: i64,
    /// The line after `#!` that started the module, for the message about a missing interpreter. `None` when the kernel
    /// started the module.
    pub shebang: Option<&'a str>,
}

/// The part of standard output that holds the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultLines {
    /// Ansible's rule: everything from the first line that starts with `{` to the last that ends with `}`.
    #[default]
    Ansible,
    /// The last line that is a JSON object. Not Ansible's rule.
    LastJsonLine,
}
