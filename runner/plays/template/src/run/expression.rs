//! Expressions.

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::Tuple;
use modbox_jinja::values::{self, Range, Table};

use super::interpreter::Interpreter;
use crate::compile::{Comparison, Embedded, Expr};
use crate::lazy::{Entries, Items, LazyDict, LazyList};
use crate::marker::{Marker, Run, Stop};

impl Interpreter<'_> {
    /// Evaluates an expression. The value may be a marker.
    pub(super) fn expression(&mut self, expression: &Expr) -> Run<Value> {
        match expression {
            Expr::Constant(value) => return Ok(value.clone()),
            Expr::Name(name) => return self.name(name),
            Expr::Captured => return Ok(self.captured.last().cloned().unwrap_or_default()),
            _ => {}
        }
        self.step()?;
        self.evaluation.enter(self.source.position(), self.line)?;
        let value = self.compound(expression);
        self.evaluation.leave();
        value
    }

    fn compound(&mut self, expression: &Expr) -> Run<Value> {
        match expression {
            Expr::Constant(_) | Expr::Name(_) | Expr::Captured => self.expression(expression),
            Expr::Embedded(literal) => Ok(self.embedded(literal)),
            Expr::Attribute(object, name) => {
                let object = self.expression(object)?;
                self.attribute(&object, name)
            }
            Expr::Item(object, key) => {
                let object = self.expression(object)?;
                let key = self.expression(key)?;
                self.item(&object, &key)
            }
            Expr::Slice(parts) => {
                let [object, start, stop, step] = &**parts;
                let object = self.expression(object)?;
                let bounds = [self.expression(start)?, self.expression(stop)?, self.expression(step)?];
                self.slice(&object, &bounds)
            }
            Expr::Not(operand) => {
                let operand = self.expression(operand)?;
                Ok(Value::from(!self.is_true(&operand)?))
            }
            Expr::Negative(operand) => {
                let operand = self.expression(operand)?;
                self.negative(&operand)
            }
            Expr::Positive(operand) => {
                let operand = self.expression(operand)?;
                self.positive(&operand)
            }
            Expr::And(left, right) => {
                let left = self.expression(left)?;
                if self.is_true(&left)? { self.expression(right) } else { Ok(left) }
            }
            Expr::Or(left, right) => {
                let left = self.expression(left)?;
                if self.is_true(&left)? { Ok(left) } else { self.expression(right) }
            }
            Expr::Binary(operator, left, right) => {
                let left = self.expression(left)?;
                let right = self.expression(right)?;
                self.binary(*operator, &left, &right)
            }
            Expr::Compare(first, rest) => self.compare(first, rest),
            Expr::If(condition, then, otherwise) => self.choose(condition, then, otherwise.as_deref()),
            Expr::Filter(name, input, arguments) => self.filter(name, input, arguments),
            Expr::Test(name, input, arguments) => self.test(name, input, arguments),
            Expr::Call(call) => self.call_with(call, None),
            Expr::List(items) => {
                let items = self.all(items)?;
                Ok(LazyList::value(self.evaluation, Items::Made(items)))
            }
            Expr::Tuple(items) => self.all(items).map(|items| Value::from(Tuple::from(items))),
            Expr::Dict(entries) => self.dict(entries),
        }
    }

    fn all(&mut self, items: &[Expr]) -> Run<Vec<Value>> {
        self.produce(items.len())?;
        items.iter().map(|item| self.expression(item)).collect()
    }

    fn dict(&mut self, entries: &[(Expr, Expr)]) -> Run<Value> {
        self.produce(entries.len())?;
        let mut table = Table::default();
        for (key, value) in entries {
            let key = self.expression(key)?;
            let value = self.expression(value)?;
            if let Some(marker) = Marker::within(&key) {
                return Err(Stop(marker));
            }
            self.checked(table.insert(key, value))?;
        }
        Ok(LazyDict::value(self.evaluation, Entries::Made(table)))
    }

    fn compare(&mut self, first: &Expr, rest: &[(Comparison, Expr)]) -> Run<Value> {
        let mut left = self.expression(first)?;
        for (index, (comparison, right)) in rest.iter().enumerate() {
            let right = self.expression(right)?;
            let holds = self.holds(*comparison, &left, &right)?;
            if !holds || index + 1 == rest.len() {
                return Ok(Value::from(holds));
            }
            left = right;
        }
        Ok(Value::from(true))
    }

    fn choose(&mut self, condition: &Expr, then: &Expr, otherwise: Option<&Expr>) -> Run<Value> {
        let condition = self.expression(condition)?;
        match (self.is_true(&condition)?, otherwise) {
            (true, _) => self.expression(then),
            (false, Some(otherwise)) => self.expression(otherwise),
            // Jinja's own undefined value: empty as text, and not a valid result.
            (false, None) => Ok(Value::UNDEFINED),
        }
    }

    /// Renders a literal with a template in it where that is rendered. It is a part of the source, so it is as trusted.
    fn embedded(&self, literal: &Embedded) -> Value {
        if !literal.is_rendered {
            return literal.value.clone();
        }
        let part = literal.range.clone().and_then(|range| match literal.is_escaped {
            true => self.source.unescaped_text_of(range),
            false => self.source.text_of(range),
        });
        match part {
            Some(part) => self.evaluation.render(&part),
            None => self.undefined("a literal was lost"),
        }
    }

    /// Returns the truth of a value. That of a marker stops the template.
    pub(super) fn is_true(&self, value: &Value) -> Run<bool> {
        match Marker::of(value) {
            Some(marker) => Err(Stop(marker)),
            None => match value.downcast_object_ref::<Range>() {
                Some(range) => Ok(!range.is_empty()),
                None => Ok(values::is_true(value)),
            },
        }
    }

    /// Returns the values, unless one is a marker.
    pub(super) fn defined(left: &Value, right: &Value) -> Run<()> {
        let marker: Option<Arc<Marker>> = Marker::of(left).or_else(|| Marker::of(right));
        marker.map_or(Ok(()), |marker| Err(Stop(marker)))
    }
}
