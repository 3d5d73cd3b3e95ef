//! Statements.

use std::sync::Arc;

use minijinja::Value;

use super::interpreter::Interpreter;
use crate::compile::{Branch, Expr, Node, Target};
use crate::frame::Frame;
use crate::marker::{Cause, Run};
use crate::objects::{Macro, Module, Namespace};

impl Interpreter<'_> {
    /// Runs a whole template. With `extends`, the parent emits.
    pub(super) fn template(&mut self, nodes: &[Node], out: &mut Vec<Value>) -> Run<()> {
        nodes.iter().try_for_each(|node| self.node(node, out))?;
        self.run_parent(out)
    }

    pub(super) fn nodes(&mut self, nodes: &[Node], out: &mut Vec<Value>) -> Run<()> {
        self.evaluation.enter(self.source.position(), self.line)?;
        let ran = nodes.iter().try_for_each(|node| self.node(node, out));
        self.evaluation.leave();
        ran
    }

    fn node(&mut self, node: &Node, out: &mut Vec<Value>) -> Run<()> {
        self.step()?;
        match node {
            // The template that this one extends prints.
            Node::Text(_) | Node::Emit(..) | Node::Block { is_top_level: true, .. } if self.parent.is_some() => {}
            Node::Text(text) => {
                self.is_true(&self.autoescape)?;
                out.push(text.clone());
            }
            Node::Unset(names) => self.unset(names),
            Node::Emit(line, expression) => {
                self.line = *line;
                let value = self.expression(expression)?;
                self.emit(value, out);
            }
            Node::Set(line, target, value) => {
                self.line = *line;
                let value = self.expression(value)?;
                self.assign(target, value)?;
            }
            Node::Capture(line, target, filter, body) => {
                self.line = *line;
                // A template that extends another one prints nothing; captured text is a value, and stays.
                let parent = self.parent.take();
                let value = self.capture(body);
                self.parent = parent;
                let value = self.filtered(value?, filter.as_ref())?;
                self.assign(target, value)?;
            }
            Node::Filtered(line, filter, body) => {
                self.line = *line;
                let value = self.capture(body)?;
                let value = self.filtered(value, Some(filter))?;
                self.emit(value, out);
            }
            Node::If(branches, otherwise) => return self.branches(branches, otherwise, out),
            Node::For(line, each) => {
                self.line = *line;
                return self.each(each, out);
            }
            Node::With(line, assignments, body) => {
                self.line = *line;
                return self.with(assignments, body, out);
            }
            Node::Autoescape(line, value, nodes) => {
                self.line = *line;
                let value = self.expression(value)?;
                let outer = std::mem::replace(&mut self.autoescape, value);
                let ran = self.within(|interpreter| interpreter.nodes(nodes, out));
                self.autoescape = outer;
                return ran;
            }
            Node::Macro(definition) => {
                let value = self.make_macro(definition);
                self.frame.set(&definition.name, value);
            }
            Node::CallBlock(line, call, definition) => {
                self.line = *line;
                let caller = self.make_macro(definition);
                let value = self.call_with(call, Some(caller))?;
                self.emit(value, out);
            }
            Node::Block { line, name, is_scoped, is_required, .. } => {
                self.line = *line;
                if *is_required && self.blocks.get(name, 1).is_none() {
                    return Err(self.raise(format!("Required block '{name}' not found")));
                }
                let frame = if *is_scoped { self.frame.clone() } else { self.frame.root() };
                return self.block(name, 0, &frame, out);
            }
            Node::Extends(line, name) => {
                self.line = *line;
                return self.extend(name);
            }
            Node::Include { .. } | Node::Import { .. } | Node::From { .. } => return self.other_template(node, out),
        }
        Ok(())
    }

    /// Makes names undefined that the scope sets later. With other templates the names would be seen there, too.
    fn unset(&self, names: &[Arc<str>]) {
        if !self.program.shares_names {
            names.iter().for_each(|name| {
                self.frame.set(name, self.undefined_name(&Value::from(name.clone()), format!("'{name}' is undefined")))
            });
        }
    }

    /// Adds what a node gives. An imported template is what it emitted.
    pub(super) fn emit(&self, value: Value, out: &mut Vec<Value>) {
        match value.downcast_object_ref::<Module>() {
            Some(module) => out.extend(module.body.iter().cloned()),
            None => out.push(value),
        }
    }

    /// Runs nodes in a scope of their own, and returns what they emitted as one value.
    pub(super) fn capture(&mut self, nodes: &[Node]) -> Run<Value> {
        let mut out = Vec::new();
        self.within(|interpreter| interpreter.nodes(nodes, &mut out))?;
        self.captured(out)
    }

    /// Runs something in a scope within the current one.
    pub(super) fn within<T>(&mut self, run: impl FnOnce(&mut Self) -> Run<T>) -> Run<T> {
        let outer = std::mem::take(&mut self.frame);
        self.frame = Frame::within(&outer);
        let ran = run(self);
        self.frame = outer;
        ran
    }

    fn filtered(&mut self, value: Value, filter: Option<&Expr>) -> Run<Value> {
        let Some(filter) = filter else { return Ok(value) };
        self.captured.push(value);
        let filtered = self.expression(filter);
        self.captured.pop();
        filtered
    }

    /// Runs the first branch that holds.
    fn branches(&mut self, branches: &[Branch], otherwise: &[Node], out: &mut Vec<Value>) -> Run<()> {
        for branch in branches {
            self.line = branch.line;
            self.step()?;
            let condition = self.expression(&branch.condition)?;
            if self.is_true(&condition)? {
                return self.nodes(&branch.then, out);
            }
        }
        self.nodes(otherwise, out)
    }

    fn with(&mut self, assignments: &[(Target, Expr)], body: &[Node], out: &mut Vec<Value>) -> Run<()> {
        // Values see the scope around the block, and not each other.
        let values = assignments.iter().map(|(_, value)| self.expression(value)).collect::<Run<Vec<_>>>()?;
        self.within(|interpreter| {
            for ((target, _), value) in assignments.iter().zip(values) {
                interpreter.assign(target, value)?;
            }
            interpreter.nodes(body, out)
        })
    }

    /// Sets the names of a target.
    pub(super) fn assign(&mut self, target: &Target, value: Value) -> Run<()> {
        match target {
            Target::Name(name) => {
                if value.downcast_object_ref::<Macro>().is_some() {
                    self.evaluation.own(&self.frame);
                }
                self.frame.set(name, value);
                Ok(())
            }
            Target::Attribute(name, attribute) => {
                let namespace = self.name(name)?;
                let Some(namespace) = namespace.downcast_object_ref::<Namespace>() else {
                    return Err(self.stop(Cause::Raised, "cannot assign attribute on non-namespace object"));
                };
                namespace.0.set(attribute, value);
                Ok(())
            }
            Target::Tuple(targets) => {
                let values = self.unpack(&value, targets.len())?;
                targets.iter().zip(values).try_for_each(|(target, value)| self.assign(target, value))
            }
        }
    }

    fn unpack(&mut self, value: &Value, count: usize) -> Run<Vec<Value>> {
        if value.downcast_object_ref::<crate::marker::Marker>().is_none() && modbox_jinja::values::items(value).is_err()
        {
            let type_name = crate::types::type_name(value);
            return Err(self.raise(format!("cannot unpack non-iterable {type_name} object")));
        }
        let values = self.iterate(value)?;
        match values.len() {
            found if found == count => Ok(values),
            found if found < count => {
                Err(self.raise(format!("not enough values to unpack (expected {count}, got {found})")))
            }
            _ => Err(self.raise(format!("too many values to unpack (expected {count})"))),
        }
    }
}
