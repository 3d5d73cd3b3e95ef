//! Names that a scope of a template sets before it reads them.
//!
//! For Jinja such a name belongs to the scope from its beginning: until it is set, blocks within the scope find it
//! undefined, even if a variable has that name. A name that only a branch sets is looked for as usual.

use std::collections::HashSet;
use std::sync::Arc;

use super::program::{Arguments, Expr, MacroDefinition, Node, Target};

/// Marks the names that are undefined at the beginning of each scope of a template.
pub(super) fn mark_unset(nodes: &mut Vec<Node>) {
    let symbols = Symbols::of(nodes);
    Scopes::default().scope(symbols, nodes);
}

/// The names that the open scopes know.
#[derive(Debug, Default)]
struct Scopes(Vec<HashSet<Arc<str>>>);

impl Scopes {
    fn scope(&mut self, symbols: Symbols, nodes: &mut Vec<Node>) {
        let is_new = |name: &Arc<str>| !self.0.iter().any(|outer| outer.contains(name));
        let unset: Vec<Arc<str>> = symbols.set_first.into_iter().filter(is_new).collect();
        self.0.push(symbols.known);
        self.within(nodes);
        self.0.pop();
        if !unset.is_empty() {
            nodes.insert(0, Node::Unset(unset));
        }
    }

    /// Marks the scopes within nodes.
    fn within(&mut self, nodes: &mut [Node]) {
        for node in nodes {
            match node {
                Node::Capture(_, _, _, body) => self.scope(Symbols::of(body), body),
                Node::Filtered(_, filter, body) => {
                    let mut symbols = Symbols::of(body);
                    symbols.read(filter);
                    self.scope(symbols, body);
                }
                Node::Autoescape(_, value, body) => {
                    let mut symbols = Symbols::default();
                    symbols.read(value);
                    symbols.statements(body);
                    self.scope(symbols, body);
                }
                Node::If(branches, otherwise) => {
                    branches.iter_mut().for_each(|branch| self.within(&mut branch.then));
                    self.within(otherwise);
                }
                Node::For(_, each) => {
                    let Some(each) = Arc::get_mut(each) else { continue };
                    let mut symbols = Symbols::default();
                    symbols.parameter(&each.target);
                    symbols.statements(&each.body);
                    self.scope(symbols, &mut each.body);
                    self.scope(Symbols::of(&each.otherwise), &mut each.otherwise);
                }
                Node::With(_, assignments, body) => {
                    let mut symbols = Symbols::default();
                    assignments.iter().for_each(|(target, _)| symbols.parameter(target));
                    symbols.statements(body);
                    self.scope(symbols, body);
                }
                Node::Macro(definition) | Node::CallBlock(_, _, definition) => {
                    Arc::get_mut(definition).into_iter().for_each(|definition| self.definition(definition));
                }
                Node::Text(_) | Node::Unset(_) | Node::Emit(..) | Node::Set(..) | Node::Block { .. } => {}
                Node::Extends(..) | Node::Include { .. } | Node::Import { .. } | Node::From { .. } => {}
            }
        }
    }

    fn definition(&mut self, definition: &mut MacroDefinition) {
        let mut symbols = Symbols::default();
        symbols.known.extend(definition.parameters.iter().map(|(name, _)| name.clone()));
        definition.parameters.iter().filter_map(|(_, default)| default.as_ref()).for_each(|value| symbols.read(value));
        symbols.statements(&definition.body);
        self.scope(symbols, &mut definition.body);
    }
}

/// The names of one scope, without those of blocks within it that have scopes of their own.
#[derive(Debug, Default)]
struct Symbols {
    /// Names that the scope reads or sets.
    known: HashSet<Arc<str>>,
    /// Names that it sets first.
    set_first: Vec<Arc<str>>,
    /// How many branches are open.
    branches: u32,
}

impl Symbols {
    /// Returns the names of a scope without parameters.
    fn of(nodes: &[Node]) -> Self {
        let mut symbols = Self::default();
        symbols.statements(nodes);
        symbols
    }

    /// Adds the names of a parameter, which is set from the beginning.
    fn parameter(&mut self, target: &Target) {
        self.branches += 1;
        self.target(target);
        self.branches -= 1;
    }

    fn statements(&mut self, nodes: &[Node]) {
        nodes.iter().for_each(|node| self.statement(node));
    }

    fn statement(&mut self, node: &Node) {
        match node {
            Node::Emit(_, value) | Node::Filtered(_, value, _) | Node::Extends(_, value) => self.read(value),
            Node::Set(_, target, value) => {
                self.read(value);
                self.target(target);
            }
            Node::Capture(_, target, _, _) => self.target(target),
            Node::If(branches, otherwise) => {
                for (index, branch) in branches.iter().enumerate() {
                    self.branches += u32::from(index > 0);
                    self.read(&branch.condition);
                    self.branches += 1;
                    self.statements(&branch.then);
                    self.branches -= 1 + u32::from(index > 0);
                }
                self.branches += 1;
                self.statements(otherwise);
                self.branches -= 1;
            }
            Node::For(_, each) => self.read(&each.iterable),
            Node::With(_, assignments, _) => assignments.iter().for_each(|(_, value)| self.read(value)),
            Node::Macro(definition) => self.set(&definition.name),
            Node::CallBlock(_, call, _) => {
                self.read(&call.callee);
                parts_of(&call.arguments).for_each(|value| self.read(value));
            }
            Node::Import { name, target, .. } => {
                self.read(name);
                self.target(target);
            }
            Node::From { name, names, .. } => {
                self.read(name);
                names.iter().for_each(|imported| self.set(&imported.as_name));
            }
            Node::Include { name, .. } => self.read(name),
            Node::Text(_) | Node::Unset(_) | Node::Autoescape(..) | Node::Block { .. } => {}
        }
    }

    fn set(&mut self, name: &Arc<str>) {
        if self.known.insert(name.clone()) && self.branches == 0 {
            self.set_first.push(name.clone());
        }
    }

    fn target(&mut self, target: &Target) {
        match target {
            Target::Name(name) => self.set(name),
            Target::Attribute(name, _) => _ = self.known.insert(name.clone()),
            Target::Tuple(targets) => targets.iter().for_each(|target| self.target(target)),
        }
    }

    /// Adds the names that an expression reads.
    fn read(&mut self, expression: &Expr) {
        let mut open = vec![expression];
        while let Some(expression) = open.pop() {
            match expression {
                Expr::Name(name) => _ = self.known.insert(name.clone()),
                Expr::Constant(_) | Expr::Embedded(_) | Expr::Captured => {}
                Expr::Slice(parts) => open.extend(parts.iter()),
                Expr::Not(part) | Expr::Negative(part) | Expr::Positive(part) | Expr::Attribute(part, _) => {
                    open.push(part);
                }
                Expr::And(left, right) | Expr::Or(left, right) | Expr::Binary(_, left, right) => {
                    open.extend([&**left, &**right]);
                }
                Expr::Item(object, key) => open.extend([&**object, &**key]),
                Expr::Compare(first, rest) => {
                    open.push(first);
                    open.extend(rest.iter().map(|(_, operand)| operand));
                }
                Expr::If(condition, then, otherwise) => {
                    open.extend([&**condition, &**then]);
                    open.extend(otherwise.as_deref());
                }
                Expr::Filter(_, input, arguments) | Expr::Test(_, input, arguments) => {
                    open.push(input);
                    open.extend(parts_of(arguments));
                }
                Expr::Call(call) => {
                    open.push(&call.callee);
                    open.extend(parts_of(&call.arguments));
                }
                Expr::List(items) | Expr::Tuple(items) => open.extend(items),
                Expr::Dict(entries) => open.extend(entries.iter().flat_map(|(key, value)| [key, value])),
            }
        }
    }
}

/// Returns the expressions in arguments.
fn parts_of(arguments: &Arguments) -> impl Iterator<Item = &Expr> {
    let named = arguments.named.iter().map(|(_, value)| value);
    let more = arguments.more.as_deref().into_iter().chain(arguments.more_named.as_deref());
    arguments.positional.iter().chain(named).chain(more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::parse::compile;
    use crate::compile::syntax::Form;
    use crate::options::TemplateOptions;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let program = compile(text, Form::Template, &TemplateOptions::default()).unwrap();
        let found = match program.body.first() {
            Some(Node::Unset(names)) => names.iter().map(|name| &**name).collect(),
            _ => Vec::new(),
        };
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn names_count_that_are_set_before_they_are_read() {
        check("{% set a = 1 %}{{ a }}", &["a"]);
        check("{{ a }}{% set a = 1 %}", &[]);
        check("{% set a = a + 1 %}", &[]);
        check("{% for i in l %}{{ a }}{% endfor %}{% set a, b = 1, 2 %}", &["a", "b"]);
        check("{% if c %}{% set a = 1 %}{% endif %}{% set a = 2 %}", &[]);
        check("{% set v %}{{ a }}{% endset %}{% set a = v %}", &["v", "a"]);
        check("{% macro m() %}{% set a = 1 %}{% endmacro %}", &["m"]);
        check("{% set ns.x = 1 %}{% set ns = 2 %}", &[]);
    }
}
