//! The translation of minijinja's expressions.

use std::sync::Arc;

use minijinja::Value;
use minijinja::machinery::ast::{self, BinOpKind, CallArg, CompareOpKind, UnaryOpKind};

use super::literal;
use super::names::Mention;
use super::program::{Arguments, Call, Comparison, Expr, Operator};
use super::statements::{Translation, failure};
use super::syntax::{Form, SyntaxFailure};
use crate::limits::MAX_NESTED;

/// The functions whose literal arguments are rendered when they have templates in them.
const LOOKUPS: [&str; 3] = ["lookup", "query", "q"];

type Translated<T> = Result<T, SyntaxFailure>;

impl Translation<'_> {
    pub(super) fn expression(&mut self, tree: &ast::Expr<'_>) -> Translated<Expr> {
        if self.nested >= MAX_NESTED {
            return Err(failure("the expression nests too deeply", tree.span().start_line.into()));
        }
        self.nested += 1;
        let translated = self.expression_within(tree);
        self.nested -= 1;
        translated
    }

    fn expression_within(&mut self, tree: &ast::Expr<'_>) -> Translated<Expr> {
        Ok(match tree {
            ast::Expr::Const(constant) => return self.constant(constant),
            ast::Expr::Var(name) => self.name(name.id),
            ast::Expr::GetAttr(attribute) => Expr::Attribute(self.boxed(&attribute.expr)?, attribute.name.into()),
            ast::Expr::GetItem(item) => Expr::Item(self.boxed(&item.expr)?, self.boxed(&item.subscript_expr)?),
            ast::Expr::Slice(slice) => Expr::Slice(Box::new([
                self.expression(&slice.expr)?,
                self.bound(slice.start.as_ref())?,
                self.bound(slice.stop.as_ref())?,
                self.bound(slice.step.as_ref())?,
            ])),
            ast::Expr::UnaryOp(unary) => match unary.op {
                UnaryOpKind::Not => Expr::Not(self.boxed(&unary.expr)?),
                UnaryOpKind::Neg => Expr::Negative(self.boxed(&unary.expr)?),
            },
            ast::Expr::BinOp(binary) => return self.binary(binary),
            ast::Expr::Compare(chain) => {
                let first = self.boxed(&chain.expr)?;
                let mut rest = Vec::new();
                for step in &chain.ops {
                    rest.push((comparison(step.op), self.expression(&step.expr)?));
                }
                Expr::Compare(first, rest)
            }
            ast::Expr::IfExpr(choice) => return self.choice(choice),
            ast::Expr::Filter(filter) => return self.filter(filter),
            ast::Expr::Test(test) => return self.test(test),
            ast::Expr::Call(call) => Expr::Call(Box::new(self.call(call)?)),
            ast::Expr::List(list) => Expr::List(self.all(&list.items)?),
            ast::Expr::Tuple(tuple) => Expr::Tuple(self.all(&tuple.items)?),
            ast::Expr::Map(map) => {
                let mut entries = Vec::new();
                for (key, value) in map.keys.iter().zip(&map.values) {
                    entries.push((self.expression(key)?, self.expression(value)?));
                }
                Expr::Dict(entries)
            }
        })
    }

    fn boxed(&mut self, tree: &ast::Expr<'_>) -> Translated<Box<Expr>> {
        self.expression(tree).map(Box::new)
    }

    fn all(&mut self, trees: &[ast::Expr<'_>]) -> Translated<Vec<Expr>> {
        trees.iter().map(|tree| self.expression(tree)).collect()
    }

    fn bound(&mut self, tree: Option<&ast::Expr<'_>>) -> Translated<Expr> {
        tree.map_or(Ok(Expr::Constant(Value::from(()))), |tree| self.expression(tree))
    }

    fn name(&mut self, name: &str) -> Expr {
        let name: Arc<str> = name.into();
        self.names.push(name.clone());
        Expr::Name(name)
    }

    fn constant(&mut self, constant: &ast::Spanned<ast::Const>) -> Translated<Expr> {
        let value = constant.value.clone();
        if value.as_str().is_none() {
            return Ok(Expr::Constant(value));
        }
        let span = constant.span();
        let (start, end) = (span.start_offset as usize, span.end_offset as usize);
        let line = u32::from(span.start_line);
        let literal = literal::read(self.text, start, end, self.escapes)
            .ok_or_else(|| failure("invalid escape in a string literal", line))?;
        if self.renders_literals && crate::text::is_template(&literal.value) {
            let is_escaped = literal.verbatim.is_none();
            let range = self.start.zip(literal.verbatim.or(literal.escaped));
            let range = range.map(|(start, range)| start + range.start..start + range.end);
            return range.map(|range| Expr::Embedded { range, is_escaped }).ok_or_else(|| {
                failure("a literal with a template in it has unusual escapes; write an expression instead", line)
            });
        }
        Ok(Expr::Constant(Value::from(literal.value)))
    }

    fn binary(&mut self, binary: &ast::BinOp<'_>) -> Translated<Expr> {
        let is_choice = matches!(binary.op, BinOpKind::ScAnd | BinOpKind::ScOr);
        self.has_choices |= is_choice;
        let outer = self.without_rendered_literals(!is_choice);
        let (left, right) = (self.boxed(&binary.left)?, self.boxed(&binary.right)?);
        self.renders_literals = outer;
        let one = |operator: Comparison, left, right: Box<Expr>| Expr::Compare(left, vec![(operator, *right)]);
        Ok(match binary.op {
            BinOpKind::ScAnd => Expr::And(left, right),
            BinOpKind::ScOr => Expr::Or(left, right),
            BinOpKind::Eq => one(Comparison::Equal, left, right),
            BinOpKind::Ne => one(Comparison::NotEqual, left, right),
            BinOpKind::Lt => one(Comparison::Less, left, right),
            BinOpKind::Lte => one(Comparison::LessOrEqual, left, right),
            BinOpKind::Gt => one(Comparison::Greater, left, right),
            BinOpKind::Gte => one(Comparison::GreaterOrEqual, left, right),
            BinOpKind::In => one(Comparison::In, left, right),
            BinOpKind::Add => Expr::Binary(Operator::Add, left, right),
            BinOpKind::Sub => Expr::Binary(Operator::Subtract, left, right),
            BinOpKind::Mul => Expr::Binary(Operator::Multiply, left, right),
            BinOpKind::Div => Expr::Binary(Operator::Divide, left, right),
            BinOpKind::FloorDiv => Expr::Binary(Operator::FloorDivide, left, right),
            BinOpKind::Rem => Expr::Binary(Operator::Remainder, left, right),
            BinOpKind::Pow => Expr::Binary(Operator::Power, left, right),
            BinOpKind::Concat => Expr::Binary(Operator::Concatenate, left, right),
        })
    }

    /// Ends the rendering of literals in arguments of lookups, since an operator makes new text of them. Conditions
    /// render all their literals.
    fn without_rendered_literals(&mut self, applies: bool) -> bool {
        let outer = self.renders_literals;
        if applies && self.syntax.form != Form::Condition {
            self.renders_literals = false;
        }
        outer
    }

    fn choice(&mut self, choice: &ast::IfExpr<'_>) -> Translated<Expr> {
        self.has_choices = true;
        let outer = std::mem::replace(&mut self.is_optional, true);
        let made = (|| {
            let condition = self.boxed(&choice.test_expr)?;
            let then = self.boxed(&choice.true_expr)?;
            let otherwise = choice.false_expr.as_ref().map(|tree| self.boxed(tree)).transpose()?;
            Ok(Expr::If(condition, then, otherwise))
        })();
        self.is_optional = outer;
        made
    }

    fn filter(&mut self, filter: &ast::Spanned<ast::Filter<'_>>) -> Translated<Expr> {
        let name = plain_name(filter.name);
        let outer = self.without_rendered_literals(true);
        let input = match &filter.expr {
            Some(input) => self.expression(input)?,
            None => Expr::Captured,
        };
        let arguments = self.arguments(&filter.args, filter.span().start_line.into())?;
        self.renders_literals = outer;
        let (line, is_certain) = (filter.span().start_line.into(), !self.is_optional);
        self.mentions.push(Mention::Filter { name: name.clone(), line, is_certain });
        Ok(Expr::Filter(name, Box::new(input), arguments))
    }

    fn test(&mut self, test: &ast::Spanned<ast::Test<'_>>) -> Translated<Expr> {
        let name = plain_name(test.name);
        self.check_chain(test)?;
        let outer = self.without_rendered_literals(true);
        let input = self.boxed(&test.expr)?;
        let arguments = self.arguments(&test.args, test.span().start_line.into())?;
        self.renders_literals = outer;
        let (line, is_certain) = (test.span().start_line.into(), !self.is_optional);
        self.mentions.push(Mention::Test { name: name.clone(), line, is_certain });
        Ok(Expr::Test(name, input, arguments))
    }

    /// Refuses a test of a test without parentheses, as Jinja does.
    fn check_chain(&self, test: &ast::Spanned<ast::Test<'_>>) -> Translated<()> {
        let inner = match &test.expr {
            ast::Expr::Test(inner) => inner.span(),
            ast::Expr::UnaryOp(unary) => match &unary.expr {
                ast::Expr::Test(inner) if matches!(unary.op, UnaryOpKind::Not) => inner.span(),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        let between = self.text.get(inner.end_offset as usize..test.span().start_offset as usize);
        if between.is_some_and(|between| !between.contains(')')) {
            return Err(failure("You cannot chain multiple tests with is", test.span().start_line.into()));
        }
        Ok(())
    }

    pub(super) fn call(&mut self, call: &ast::Spanned<ast::Call<'_>>) -> Translated<Call> {
        let line = call.span().start_line.into();
        let callee = self.expression(&call.expr)?;
        let is_lookup = matches!(&callee, Expr::Name(name) if LOOKUPS.contains(&&**name));
        if let (true, Some(CallArg::Pos(ast::Expr::Const(constant)))) = (is_lookup, call.args.first()) {
            let mention = constant.value.as_str().map(|name| Mention::Lookup { name: name.into(), line });
            self.mentions.extend(mention);
        }
        let outer = self.renders_literals;
        // The name of a lookup is never rendered.
        let (name, rest) = match call.args.split_first() {
            Some((CallArg::Pos(name), rest)) if is_lookup => (Some(name), rest),
            _ => (None, &call.args[..]),
        };
        self.renders_literals = false;
        let name = name.map(|name| self.expression(name)).transpose();
        self.renders_literals = outer || is_lookup;
        let arguments = self.arguments(rest, line);
        self.renders_literals = outer;
        let (name, mut arguments) = (name?, arguments?);
        if let Some(name) = name {
            arguments.positional.insert(0, name);
        }
        Ok(Call { callee, arguments })
    }

    fn arguments(&mut self, trees: &[CallArg<'_>], line: u32) -> Translated<Arguments> {
        let mut arguments = Arguments::default();
        for tree in trees {
            match tree {
                CallArg::Pos(tree) => arguments.positional.push(self.expression(tree)?),
                CallArg::Kwarg(name, tree) => {
                    let outer = self.without_rendered_literals(true);
                    arguments.named.push(((*name).into(), self.expression(tree)?));
                    self.renders_literals = outer;
                }
                CallArg::PosSplat(tree) => self.only_once(&mut arguments.more, tree, line)?,
                CallArg::KwargSplat(tree) => self.only_once(&mut arguments.more_named, tree, line)?,
            }
        }
        Ok(arguments)
    }

    fn only_once(&mut self, slot: &mut Option<Box<Expr>>, tree: &ast::Expr<'_>, line: u32) -> Translated<()> {
        if slot.is_some() {
            return Err(failure("invalid syntax for function call expression", line));
        }
        *slot = Some(self.boxed(tree)?);
        Ok(())
    }
}

/// Returns a name without the blanks that may be around its dots.
fn plain_name(name: &str) -> Arc<str> {
    name.split_ascii_whitespace().collect::<String>().into()
}

fn comparison(kind: CompareOpKind) -> Comparison {
    match kind {
        CompareOpKind::Eq => Comparison::Equal,
        CompareOpKind::Ne => Comparison::NotEqual,
        CompareOpKind::Lt => Comparison::Less,
        CompareOpKind::Lte => Comparison::LessOrEqual,
        CompareOpKind::Gt => Comparison::Greater,
        CompareOpKind::Gte => Comparison::GreaterOrEqual,
        CompareOpKind::In => Comparison::In,
        CompareOpKind::NotIn => Comparison::NotIn,
    }
}
