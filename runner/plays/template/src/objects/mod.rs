//! The objects that templates meet: macros, methods, loops, namespaces and the like.
//!
//! They hold data only. Calling them needs a running template, so the interpreter does that.

mod cycler;
mod function;
mod joiner;
mod loop_context;
mod macros;
mod method;
mod module;
mod namespace;

pub(crate) use cycler::Cycler;
pub(crate) use function::{Function, FunctionKind};
pub(crate) use joiner::Joiner;
pub(crate) use loop_context::LoopContext;
pub(crate) use macros::Macro;
pub(crate) use method::Method;
pub(crate) use module::{Module, SelfReference};
pub(crate) use namespace::Namespace;
