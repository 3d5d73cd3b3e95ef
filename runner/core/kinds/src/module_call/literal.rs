//! Evaluates expressions that are literal, with the names that stand for such expressions.

use std::cell::Cell;

use modbox_contract::{Dict, Value};
use ruff_python_ast::{Expr, ExprCall, Number, Operator, Stmt, UnaryOp};

use crate::module_call::not_literal::NotLiteral;
use crate::module_call::uses::{self, Use};

/// Levels of expressions and names in one another.
const MAX_DEPTH: usize = 40;

/// Expressions that are evaluated in all. The largest spec of the `ansible` package has some ten thousand.
const MAX_STEPS: usize = 500_000;

/// The one function that specs name instead of calling it, and the text that stands for it in a spec.
const FALLBACK: &str = "env_fallback";

/// The place of an expression.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) module: &'a [Stmt],
    /// The function around the call.
    pub(super) function: Option<&'a Stmt>,
    /// The call. What happens behind it in its function does not count.
    pub(super) call: Option<&'a ExprCall>,
}

/// Evaluation of one source.
pub(super) struct Literals<'a> {
    text: &'a str,
    scope: Scope<'a>,
    steps: Cell<usize>,
}

impl<'a> Literals<'a> {
    pub(super) fn new(text: &'a str, scope: Scope<'a>) -> Self {
        Self { text, scope, steps: Cell::new(0) }
    }

    pub(super) fn line(&self, offset: usize) -> usize {
        let end = offset.min(self.text.len());
        self.text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// Evaluates an expression.
    pub(super) fn evaluate(&self, expr: &Expr) -> Result<Value, NotLiteral> {
        self.value(expr, 0)
    }

    /// Returns the value of a name of the module itself.
    pub(super) fn of_module(&self, name: &str) -> Result<Value, NotLiteral> {
        self.replay(name, 0, &uses::of(name, self.scope.module), 0)
    }

    fn unknown<T>(&self, offset: usize, reason: impl Into<String>) -> Result<T, NotLiteral> {
        Err(NotLiteral { line: self.line(offset), reason: reason.into() })
    }

    fn value(&self, expr: &Expr, depth: usize) -> Result<Value, NotLiteral> {
        self.steps.set(self.steps.get() + 1);
        let offset = offset(expr);
        if depth > MAX_DEPTH || self.steps.get() > MAX_STEPS {
            return self.unknown(offset, "the expression is too large");
        }
        let all = |items: &[Expr]| items.iter().map(|item| self.value(item, depth + 1)).collect::<Result<Vec<_>, _>>();
        Ok(match expr {
            Expr::NoneLiteral(_) => Value::Null,
            Expr::BooleanLiteral(literal) => literal.value.into(),
            Expr::StringLiteral(literal) => literal.value.to_str().into(),
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(int) => match int.as_i64() {
                    Some(int) => int.into(),
                    None => return self.unknown(offset, "the number is too large"),
                },
                Number::Float(float) => (*float).into(),
                Number::Complex { .. } => return self.unknown(offset, "the number is complex"),
            },
            Expr::List(list) => all(&list.elts)?.into(),
            Expr::Tuple(tuple) => all(&tuple.elts)?.into(),
            Expr::Dict(dict) => {
                let mut entries = Dict::new();
                for item in &dict.items {
                    let value = self.value(&item.value, depth + 1)?;
                    match &item.key {
                        None => self.extend(&mut entries, value, offset)?,
                        Some(key) => match self.value(key, depth + 1)? {
                            Value::Str(key) => drop(entries.insert(key, value)),
                            _ => return self.unknown(offset, "a key is not a string"),
                        },
                    }
                }
                Value::Dict(entries)
            }
            Expr::UnaryOp(operation) => match (operation.op, self.value(&operation.operand, depth + 1)?) {
                (UnaryOp::USub, Value::Int(int)) if int != i64::MIN => (-int).into(),
                (UnaryOp::USub, Value::Float(float)) => (-float).into(),
                (UnaryOp::Not, value) => (!value.is_truthy()).into(),
                _ => return self.unknown(offset, "an operator is not followed"),
            },
            Expr::BinOp(operation) if operation.op == Operator::Add => {
                let (left, right) = (self.value(&operation.left, depth + 1)?, self.value(&operation.right, depth + 1)?);
                match (left, right) {
                    (Value::List(left), Value::List(right)) => [left, right].concat().into(),
                    (Value::Str(left), Value::Str(right)) => (left + &right).into(),
                    _ => return self.unknown(offset, "a sum is not followed"),
                }
            }
            Expr::Name(name) => return self.name(name.id.as_str(), offset, depth),
            Expr::Attribute(attribute) if attribute.attr.as_str() == FALLBACK => FALLBACK.into(),
            Expr::Call(call) => return self.call(call, depth),
            _ => return self.unknown(offset, "an expression is not literal"),
        })
    }

    /// Evaluates a call of a function whose result is as literal as its arguments.
    fn call(&self, call: &ExprCall, depth: usize) -> Result<Value, NotLiteral> {
        let offset = call.arguments.range.start().to_usize();
        let Expr::Name(function) = &*call.func else { return self.unknown(offset, called(call)) };
        match (function.id.as_str(), &*call.arguments.args) {
            ("dict", [] | [_]) => {
                let mut entries = Dict::new();
                self.merge(&mut entries, call, depth)?;
                Ok(Value::Dict(entries))
            }
            ("list" | "tuple", [one]) if call.arguments.keywords.is_empty() => match self.value(one, depth + 1)? {
                Value::List(items) => Ok(items.into()),
                _ => self.unknown(offset, called(call)),
            },
            _ => self.unknown(offset, called(call)),
        }
    }

    /// Adds the arguments of `dict(…)` or `.update(…)` to a dict.
    fn merge(&self, entries: &mut Dict, call: &ExprCall, depth: usize) -> Result<(), NotLiteral> {
        let offset = call.arguments.range.start().to_usize();
        for argument in &call.arguments.args {
            let value = self.value(argument, depth + 1)?;
            self.extend(entries, value, offset)?;
        }
        for keyword in &call.arguments.keywords {
            let value = self.value(&keyword.value, depth + 1)?;
            match &keyword.arg {
                Some(name) => drop(entries.insert(name.as_str().to_owned(), value)),
                None => self.extend(entries, value, offset)?,
            }
        }
        Ok(())
    }

    fn extend(&self, entries: &mut Dict, value: Value, offset: usize) -> Result<(), NotLiteral> {
        let Value::Dict(more) = value else { return self.unknown(offset, "a dict is made of something else") };
        entries.extend(more);
        Ok(())
    }

    fn name(&self, name: &str, offset: usize, depth: usize) -> Result<Value, NotLiteral> {
        if name == FALLBACK {
            return Ok(FALLBACK.into());
        }
        if let Some(Stmt::FunctionDef(function)) = self.scope.function {
            if function.parameters.includes(name) {
                return self.unknown(offset, format!("`{name}` is a parameter of `{}()`", function.name.as_str()));
            }
            let mut uses = uses::of(name, &function.body);
            if uses.iter().any(|(_, found)| matches!(found, Use::Assigned(_) | Use::Unknown)) {
                let end = self.scope.call.map_or(usize::MAX, |call| call.arguments.range.start().to_usize());
                uses.retain(|(at, _)| *at < end);
                return self.replay(name, offset, &uses, depth);
            }
        }
        self.replay(name, offset, &uses::of(name, self.scope.module), depth)
    }

    /// Follows what happens to a name.
    fn replay(&self, name: &str, offset: usize, uses: &[(usize, Use<'_>)], depth: usize) -> Result<Value, NotLiteral> {
        let mut value = None;
        for (at, found) in uses {
            match (found, &mut value) {
                (Use::Assigned(expr), _) => value = Some(self.value(expr, depth + 1)?),
                (Use::Updated(call), Some(Value::Dict(entries))) => self.merge(entries, call, depth)?,
                (Use::KeySet(key, expr), Some(Value::Dict(entries))) => {
                    let set = self.value(expr, depth + 1)?;
                    entries.insert((*key).to_owned(), set);
                }
                _ => return self.unknown(*at, format!("what happens to `{name}` is not followed")),
            }
        }
        value.map_or_else(|| self.unknown(offset, format!("the value of `{name}` is not known")), Ok)
    }
}

fn called(call: &ExprCall) -> String {
    match &*call.func {
        Expr::Name(name) => format!("`{}()` is called", name.id.as_str()),
        Expr::Attribute(attribute) => format!("`{}()` is called", attribute.attr.as_str()),
        _ => "a function is called".to_owned(),
    }
}

/// Returns the offset of an expression in the source; for the few kinds that no reason is about, zero.
fn offset(expr: &Expr) -> usize {
    let range = match expr {
        Expr::Name(expr) => expr.range,
        Expr::Call(expr) => expr.arguments.range,
        Expr::Attribute(expr) => expr.range,
        Expr::Dict(expr) => expr.range,
        Expr::List(expr) => expr.range,
        Expr::Tuple(expr) => expr.range,
        Expr::Set(expr) => expr.range,
        Expr::ListComp(expr) => expr.range,
        Expr::DictComp(expr) => expr.range,
        Expr::Generator(expr) => expr.range,
        Expr::If(expr) => expr.range,
        Expr::FString(expr) => expr.range,
        Expr::BinOp(expr) => expr.range,
        Expr::BoolOp(expr) => expr.range,
        Expr::UnaryOp(expr) => expr.range,
        Expr::Compare(expr) => expr.range,
        Expr::Subscript(expr) => expr.range,
        Expr::Lambda(expr) => expr.range,
        Expr::NumberLiteral(expr) => expr.range,
        Expr::BytesLiteral(expr) => expr.range,
        _ => return 0,
    };
    range.start().to_usize()
}
