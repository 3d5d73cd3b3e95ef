//! Reads what a Python module passes to `AnsibleModule`, as far as its source says it literally: the argument spec, the
//! rules between options, and whether check mode is supported. Nothing is run.
//!
//! Values are literals, `dict(…)`, sums, and names with such values. A name counts only if the reader knows all that
//! happens to it; see `uses`. Anything else, such as a function call, makes the spec unknown, with the reason.
//!
//! The parser and the syntax tree are recursive. The caller provides a stack that is large enough for its sources.

mod literal;
mod not_literal;
mod secret_names;
mod uses;

use modbox_contract::{Dict, Value};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, Stmt};

use self::literal::{Literals, Scope};
pub use self::not_literal::NotLiteral;
pub use self::secret_names::secret_names;
use crate::ansiballz::{SourceError, parse};

/// The class, and the order of its first arguments.
const CLASS: &str = "AnsibleModule";
const FIRST_ARGUMENT: &str = "argument_spec";

/// The arguments that are rules between options.
const RULES: [&str; 5] = ["mutually_exclusive", "required_together", "required_one_of", "required_if", "required_by"];

/// The argument that adds the options for modes and owners of files, and their name in ansible-core.
const FILE_ARGUMENTS: &str = "add_file_common_args";
const FILE_OPTIONS: &str = "FILE_COMMON_ARGUMENTS";

/// What a module passes to `AnsibleModule`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleCall {
    /// The number of the line where `AnsibleModule` is called, from 1.
    pub line: usize,
    /// The options and the rules between them, or the reason why they are unknown.
    pub spec: Result<LiteralSpec, NotLiteral>,
    /// Whether check mode is supported; `None` if the source does not say it literally.
    pub supports_check_mode: Option<bool>,
}

/// An argument spec.
#[derive(Debug, Clone, PartialEq)]
pub struct LiteralSpec {
    /// The value of `argument_spec`: by name, a dict for each option.
    pub options: Dict,
    /// The rules, by their names.
    pub rules: Dict,
    /// Whether the [`file_options`] belong to it.
    pub has_file_options: bool,
}

/// The reason why a call is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCall {
    /// The source is not Python.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The module does not call the class itself.
    #[error("it does not call `{CLASS}` itself")]
    None,
    /// The module calls the class in several places.
    #[error("it calls `{CLASS}` in several places")]
    Several,
}

/// Reads the call of a module.
///
/// # Errors
///
/// A source that is not Python 3, and one without a single call.
pub fn read(source: &[u8]) -> Result<ModuleCall, NoCall> {
    let text = String::from_utf8_lossy(source);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let parsed = parse(text)?;
    let module = parsed.suite();
    let mut finder = CallFinder { functions: Vec::new(), found: Vec::new() };
    finder.visit_body(module);
    let (function, call) = match finder.found.as_slice() {
        [] => return Err(NoCall::None),
        [one] => *one,
        _ => return Err(NoCall::Several),
    };
    let literals = Literals::new(text, Scope { module, function, call: Some(call) });
    let line = literals.line(call.arguments.range.start().to_usize());
    let argument = |name: &str| {
        let named = call.arguments.keywords.iter().find(|keyword| keyword.arg.as_deref() == Some(name));
        named.map(|keyword| &keyword.value)
    };
    let supports_check_mode = match argument("supports_check_mode") {
        None => (!has_unknown_arguments(call)).then_some(false),
        Some(value) => literals.evaluate(value).ok().map(|value| value.is_truthy()),
    };
    Ok(ModuleCall { line, spec: spec(&literals, call, line, argument), supports_check_mode })
}

/// Reads the options that ansible-core adds to modules with `add_file_common_args`, from its `basic.py`.
#[must_use]
pub fn file_options(basic: &[u8]) -> Option<Dict> {
    let text = String::from_utf8_lossy(basic);
    let parsed = parse(&text).ok()?;
    let literals = Literals::new(&text, Scope { module: parsed.suite(), function: None, call: None });
    match literals.of_module(FILE_OPTIONS).ok()? {
        Value::Dict(options) => Some(options),
        _ => None,
    }
}

fn spec<'a>(
    literals: &Literals<'_>,
    call: &'a ExprCall,
    line: usize,
    argument: impl Fn(&str) -> Option<&'a Expr>,
) -> Result<LiteralSpec, NotLiteral> {
    let unknown = |reason: &str| NotLiteral { line, reason: reason.to_owned() };
    if has_unknown_arguments(call) {
        return Err(unknown("the arguments of the call are not listed"));
    }
    if call.arguments.args.len() > 1 {
        return Err(unknown("the call has arguments without names"));
    }
    let options = argument(FIRST_ARGUMENT).or_else(|| call.arguments.args.first());
    let options = options.ok_or_else(|| unknown("the call has no argument spec"))?;
    let Value::Dict(options) = literals.evaluate(options)? else {
        return Err(unknown("the argument spec is not a dict"));
    };
    let mut rules = Dict::new();
    for name in RULES {
        if let Some(rule) = argument(name) {
            rules.insert(name.to_owned(), literals.evaluate(rule)?);
        }
    }
    let has_file_options = match argument(FILE_ARGUMENTS) {
        Some(value) => literals.evaluate(value)?.is_truthy(),
        None => false,
    };
    Ok(LiteralSpec { options, rules, has_file_options })
}

/// Returns whether a call has `*` or `**` arguments.
fn has_unknown_arguments(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
        || call.arguments.args.iter().any(|argument| matches!(argument, Expr::Starred(_)))
}

/// Finds the calls of the class, each with the body of the function around it.
struct CallFinder<'a> {
    functions: Vec<&'a Stmt>,
    found: Vec<(Option<&'a Stmt>, &'a ExprCall)>,
}

impl<'a> Visitor<'a> for CallFinder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let is_function = matches!(stmt, Stmt::FunctionDef(_));
        if is_function {
            self.functions.push(stmt);
        }
        walk_stmt(self, stmt);
        if is_function {
            self.functions.pop();
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            let is_class = match &*call.func {
                Expr::Name(name) => name.id.as_str() == CLASS,
                Expr::Attribute(attribute) => attribute.attr.as_str() == CLASS,
                _ => false,
            };
            if is_class {
                self.found.push((self.functions.last().copied(), call));
            }
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests;
