//! Templates in the form that is run.
//!
//! minijinja's parser reads the text. Its tree is translated here into nodes that own their data, so that they can be
//! kept and shared. Only `statements.rs`, `expressions.rs` and `symbols.rs` know minijinja's tree, which is not a stable
//! interface; the version is pinned.
//!
//! minijinja's own virtual machine is not used: it has other operators than Python, cannot tell that `==` met an undefined
//! value, and gives text where Ansible gives native values.

mod bare_tests;
mod expressions;
mod header;
mod literal;
mod mask;
mod names;
mod parse;
mod program;
mod statements;
mod symbols;
mod syntax;

pub(crate) use names::Mention;
pub(crate) use parse::compile;
pub(crate) use program::{
    Arguments, Branch, Call, Comparison, Expr, For, Imported, MacroDefinition, Node, Operator, Program, Target,
};
pub(crate) use syntax::{Form, SyntaxFailure};
