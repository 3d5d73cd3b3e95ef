//! Names that a scope of a template sets before it reads them.
//!
//! For Jinja such a name belongs to the scope from its beginning: until it is set, blocks within the scope find it
//! undefined, even if a variable has that name. A name that only a branch sets is looked for as usual.

use std::collections::HashSet;
use std::sync::Arc;

use minijinja::machinery::ast::{CallArg, Expr, Stmt};

/// The names of one scope, without those of blocks within it that have scopes of their own.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    /// Names that the scope reads or sets.
    pub(super) known: HashSet<Arc<str>>,
    /// Names that it sets first.
    pub(super) set_first: Vec<Arc<str>>,
    /// How many branches are open.
    branches: u32,
}

impl Symbols {
    /// Returns the names of a scope without parameters.
    pub(super) fn of(statements: &[Stmt<'_>]) -> Self {
        let mut symbols = Self::default();
        symbols.statements(statements);
        symbols
    }

    /// Adds the names of a parameter, which is set from the beginning.
    pub(super) fn parameter(&mut self, target: &Expr<'_>) {
        self.branches += 1;
        self.target(target);
        self.branches -= 1;
    }

    pub(super) fn statements(&mut self, statements: &[Stmt<'_>]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitExpr(emit) => self.read(&emit.expr),
            Stmt::Set(set) => {
                self.read(&set.expr);
                self.target(&set.target);
            }
            Stmt::SetBlock(set) => self.target(&set.target),
            Stmt::FilterBlock(block) => self.read(&block.filter),
            Stmt::IfCond(condition) => {
                self.read(&condition.expr);
                self.branches += 1;
                self.statements(&condition.true_body);
                self.statements(&condition.false_body);
                self.branches -= 1;
            }
            Stmt::ForLoop(each) => self.read(&each.iter),
            Stmt::WithBlock(with) => with.assignments.iter().for_each(|(_, value)| self.read(value)),
            Stmt::Macro(definition) => self.set(definition.name),
            Stmt::CallBlock(block) => {
                self.read(&block.call.expr);
                block.call.args.iter().for_each(|argument| self.read(value_of(argument)));
            }
            Stmt::Import(import) => {
                self.read(&import.expr);
                self.target(&import.name);
            }
            Stmt::FromImport(import) => {
                self.read(&import.expr);
                import.names.iter().for_each(|(name, alias)| self.target(alias.as_ref().unwrap_or(name)));
            }
            Stmt::Include(include) => self.read(&include.name),
            Stmt::Extends(extends) => self.read(&extends.name),
            Stmt::EmitRaw(_) | Stmt::AutoEscape(_) | Stmt::Block(_) => {}
            Stmt::Do(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
        }
    }

    fn set(&mut self, name: &str) {
        if self.known.contains(name) {
            return;
        }
        let name: Arc<str> = name.into();
        if self.branches == 0 {
            self.set_first.push(name.clone());
        }
        self.known.insert(name);
    }

    fn target(&mut self, target: &Expr<'_>) {
        match target {
            Expr::Var(name) => self.set(name.id),
            Expr::List(list) => list.items.iter().for_each(|item| self.target(item)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.target(item)),
            other => self.read(other),
        }
    }

    /// Adds the names that an expression reads. It may be deep, so this does not recurse.
    pub(super) fn read(&mut self, expression: &Expr<'_>) {
        let mut open = vec![expression];
        while let Some(expression) = open.pop() {
            match expression {
                Expr::Var(name) => {
                    self.known.insert(name.id.into());
                }
                Expr::Const(_) => {}
                Expr::Slice(slice) => {
                    open.push(&slice.expr);
                    open.extend([&slice.start, &slice.stop, &slice.step].into_iter().flatten());
                }
                Expr::UnaryOp(unary) => open.push(&unary.expr),
                Expr::BinOp(binary) => open.extend([&binary.left, &binary.right]),
                Expr::Compare(chain) => {
                    open.push(&chain.expr);
                    open.extend(chain.ops.iter().map(|step| &step.expr));
                }
                Expr::IfExpr(choice) => {
                    open.extend([&choice.test_expr, &choice.true_expr]);
                    open.extend(&choice.false_expr);
                }
                Expr::Filter(filter) => {
                    open.extend(&filter.expr);
                    open.extend(filter.args.iter().map(value_of));
                }
                Expr::Test(test) => {
                    open.push(&test.expr);
                    open.extend(test.args.iter().map(value_of));
                }
                Expr::GetAttr(attribute) => open.push(&attribute.expr),
                Expr::GetItem(item) => open.extend([&item.expr, &item.subscript_expr]),
                Expr::Call(call) => {
                    open.push(&call.expr);
                    open.extend(call.args.iter().map(value_of));
                }
                Expr::List(list) => open.extend(&list.items),
                Expr::Tuple(tuple) => open.extend(&tuple.items),
                Expr::Map(map) => open.extend(map.keys.iter().chain(&map.values)),
            }
        }
    }
}

fn value_of<'t, 'a>(argument: &'t CallArg<'a>) -> &'t Expr<'a> {
    match argument {
        CallArg::Pos(value) | CallArg::Kwarg(_, value) | CallArg::PosSplat(value) | CallArg::KwargSplat(value) => value,
    }
}

#[cfg(test)]
mod tests {
    use minijinja::machinery::parse;
    use minijinja::syntax::SyntaxConfig;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let tree = parse(text, "", SyntaxConfig::default()).unwrap();
        let found = Symbols::of(std::slice::from_ref(&tree)).set_first;
        let found: Vec<&str> = found.iter().map(|name| &**name).collect();
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
