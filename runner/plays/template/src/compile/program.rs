//! The nodes of compiled templates.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;
use minijinja::Value;

use super::names::Mention;

/// A compiled template or expression.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) body: Vec<Node>,
    pub(crate) blocks: IndexMap<Arc<str>, Arc<Vec<Node>>>,
    /// The filters, tests, functions and lookups that the text names.
    pub(crate) mentions: Vec<Mention>,
    /// Whether it has parts that a run may leave out: branches, loops, and what `and` and `or` may skip.
    pub(crate) has_choices: bool,
    /// Whether it has blocks, or uses other templates, with which it shares names.
    pub(crate) shares_names: bool,
}

/// A part of a template.
#[derive(Debug)]
pub(crate) enum Node {
    Text(Value),
    /// Names that the scope sets later, and that are undefined until then. Only at its beginning.
    Unset(Vec<Arc<str>>),
    Emit(u32, Expr),
    Set(u32, Target, Expr),
    /// `{% set x %}…{% endset %}`, with filters on [`Expr::Captured`].
    Capture(u32, Target, Option<Expr>, Vec<Node>),
    /// `{% filter f %}…{% endfilter %}`
    Filtered(u32, Expr, Vec<Node>),
    /// The branches in their order, and what is run if none holds.
    If(Vec<Branch>, Vec<Node>),
    For(u32, Arc<For>),
    With(u32, Vec<(Target, Expr)>, Vec<Node>),
    /// `{% autoescape x %}…{% endautoescape %}`: where the value holds, what blocks capture is text.
    Autoescape(u32, Expr, Vec<Node>),
    Macro(Arc<MacroDefinition>),
    /// `{% call(args) m() %}…{% endcall %}`
    CallBlock(u32, Call, Arc<MacroDefinition>),
    Block {
        line: u32,
        name: Arc<str>,
        /// Whether it sees the names around it, and not only those of the top level.
        is_scoped: bool,
        /// Whether a template that extends this one must have it.
        is_required: bool,
        /// Whether it is in no other statement but `if`. A template that extends another one prints no such block.
        is_top_level: bool,
    },
    /// At the top level or in `if`.
    Extends(u32, Expr),
    Include {
        line: u32,
        name: Expr,
        ignore_missing: bool,
        with_context: bool,
    },
    Import {
        line: u32,
        name: Expr,
        target: Target,
        with_context: bool,
    },
    From {
        line: u32,
        name: Expr,
        names: Vec<Imported>,
        with_context: bool,
    },
}

/// A name that `{% from %}` takes.
#[derive(Debug)]
pub(crate) struct Imported {
    pub(crate) name: Arc<str>,
    pub(crate) as_name: Arc<str>,
}

#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) line: u32,
    pub(crate) condition: Expr,
    pub(crate) then: Vec<Node>,
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) target: Target,
    pub(crate) iterable: Expr,
    pub(crate) filter: Option<Expr>,
    pub(crate) is_recursive: bool,
    pub(crate) body: Vec<Node>,
    pub(crate) otherwise: Vec<Node>,
}

/// A macro, or the body of a call block.
#[derive(Debug)]
pub(crate) struct MacroDefinition {
    pub(crate) name: Arc<str>,
    pub(crate) line: u32,
    pub(crate) parameters: Vec<(Arc<str>, Option<Expr>)>,
    pub(crate) body: Vec<Node>,
    pub(crate) takes_more: bool,
    pub(crate) takes_keywords: bool,
    pub(crate) takes_caller: bool,
}

/// What is assigned to.
#[derive(Debug)]
pub(crate) enum Target {
    Name(Arc<str>),
    /// An attribute of a namespace.
    Attribute(Arc<str>, Arc<str>),
    Tuple(Vec<Target>),
}

/// An expression.
#[derive(Debug)]
pub(crate) enum Expr {
    Constant(Value),
    /// A literal with template syntax in it.
    Embedded(Box<Embedded>),
    /// The text that a filter block or a `set` block captured.
    Captured,
    Name(Arc<str>),
    Attribute(Box<Expr>, Arc<str>),
    Item(Box<Expr>, Box<Expr>),
    Slice(Box<[Expr; 4]>),
    Not(Box<Expr>),
    Negative(Box<Expr>),
    Positive(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    If(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
    Filter(Arc<str>, Box<Expr>, Arguments),
    Test(Arc<str>, Box<Expr>, Arguments),
    Call(Box<Call>),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
}

/// A literal with template syntax in it.
#[derive(Debug)]
pub(crate) struct Embedded {
    pub(crate) value: Value,
    /// The bytes of it in the source, if it is one literal whose escapes mean the same everywhere.
    pub(crate) range: Option<Range<usize>>,
    /// Whether there are escapes in these bytes.
    pub(crate) is_escaped: bool,
    /// Whether it is rendered, or text like any other.
    pub(crate) is_rendered: bool,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) callee: Expr,
    pub(crate) arguments: Arguments,
}

/// Arguments of a call, a filter or a test.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) positional: Vec<Expr>,
    pub(crate) named: Vec<(Arc<str>, Expr)>,
    pub(crate) more: Option<Box<Expr>>,
    pub(crate) more_named: Option<Box<Expr>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
    Concatenate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}
