//! The arguments of a method.

use minijinja::Value;

use crate::call::bind;
use crate::failure::Outcome;

/// The name of a method, and its arguments without the object.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    pub(super) name: &'a str,
    pub(super) positional: &'a [Value],
    pub(super) named: &'a [(String, Value)],
}

impl Arguments<'_> {
    /// Returns the arguments for parameters, as Python binds them.
    ///
    /// # Errors
    ///
    /// An argument is missing, unknown, or given twice.
    pub(super) fn bind<const R: usize, const O: usize>(
        &self,
        required: [&str; R],
        optional: [&str; O],
    ) -> Outcome<([Value; R], [Option<Value>; O])> {
        bind(self.name, self.positional, self.named, required, optional)
    }

    /// Checks that there are no arguments.
    ///
    /// # Errors
    ///
    /// There is one.
    pub(super) fn none(&self) -> Outcome<()> {
        self.bind([], []).map(|([], [])| ())
    }
}
