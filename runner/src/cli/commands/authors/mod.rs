//! Commands for authors of modules.

pub(crate) mod assemble;
pub(crate) mod build;
pub(crate) mod collection;
pub(crate) mod doc;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod test;
pub(crate) mod validate;
