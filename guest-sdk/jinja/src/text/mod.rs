//! Python's operations on text, for filters and for methods.

pub(crate) mod case;
pub(crate) mod digits;
pub(crate) mod format;
pub(crate) mod lines;
pub(crate) mod pad;
pub(crate) mod percent;
pub(crate) mod split;
