//! Templates in the form that is run.
//!
//! The lexer and the parser are modbox's own. They read what Jinja 3.1 reads with the settings of ansible-core, and refuse
//! what it refuses: another parser would give other values without an error. minijinja is used for values.
//!
//! minijinja's own virtual machine is not used: it has other operators than Python, cannot tell that `==` met an undefined
//! value, and gives text where Ansible gives native values.

mod expressions;
mod header;
mod lex;
mod macros;
mod names;
mod others;
mod parse;
mod parser;
mod postfix;
mod program;
mod scopes;
mod specials;
mod statements;
mod syntax;
mod targets;

pub(crate) use names::Mention;
pub(crate) use parse::compile;
pub(crate) use program::{
    Arguments, Branch, Call, Comparison, Embedded, Expr, For, Imported, MacroDefinition, Node, Operator, Program,
    Target,
};
pub(crate) use syntax::{Form, SyntaxFailure};
