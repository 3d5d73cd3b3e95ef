//! Running compiled templates.
//!
//! The interpreter follows the code that Jinja generates: operators are Python's, any use of a marker stops the template,
//! and calls turn failures into markers.

mod attribute;
mod blocks;
mod call;
mod equality;
mod expression;
mod finalize;
mod imports;
mod interpreter;
mod loops;
mod macros;
mod names;
mod operators;
mod render;
mod statements;

pub(crate) use call::{Given, stop_of};
pub(crate) use finalize::Mode;
pub(crate) use interpreter::Interpreter;
pub(crate) use render::{Rendering, lookup_items};
