//! Blocks and inheritance.

use std::sync::Arc;

use minijinja::Value;

use super::interpreter::Interpreter;
use crate::compile::{Expr, Node};
use crate::frame::Frame;
use crate::marker::Run;

impl Interpreter<'_> {
    /// Runs a block, which sees the names of a frame: of the top level only, or, with `scoped`, of where it is.
    pub(super) fn block(
        &mut self,
        name: &Arc<str>,
        depth: usize,
        around: &Arc<Frame>,
        out: &mut Vec<Value>,
    ) -> Run<()> {
        let blocks = self.blocks.clone();
        let Some(found) = blocks.get(name, depth) else {
            return Err(self.raise(format!("there is no parent block called '{name}'.")));
        };
        let frame = Frame::within(around);
        let mut interpreter = Interpreter::new(self.evaluation, &found.source, &found.program, frame, blocks.clone());
        interpreter.block = Some((name.clone(), depth));
        interpreter.nodes(&found.body, out)
    }

    /// Returns what a block emits: `self.name()`, or `super()`.
    pub(super) fn block_value(&mut self, name: &Arc<str>) -> Run<Value> {
        let (name, depth) = match (&**name, &self.block) {
            ("super", Some((name, depth))) => (name.clone(), depth + 1),
            _ => (name.clone(), 0),
        };
        let mut out = Vec::new();
        let root = self.frame.root();
        self.block(&name, depth, &root, &mut out)?;
        self.concatenate(out)
    }

    /// Runs the template that this one extends, with the blocks of both. Of the rest, only names are used.
    pub(super) fn extend(&mut self, name: &Expr, rest: &[Node], out: &mut Vec<Value>) -> Run<()> {
        let name = self.expression(name)?;
        let (source, program) = self.load(&name)?;
        for node in rest.iter().filter(|node| !matches!(node, Node::Block { .. } | Node::Text(_) | Node::Emit(..))) {
            self.nodes(std::slice::from_ref(node), &mut Vec::new())?;
        }
        let mut blocks = (*self.blocks).clone();
        blocks.add(&source, &program);
        self.evaluation.begin_template(source.position())?;
        let mut parent = Interpreter::new(self.evaluation, &source, &program, self.frame.clone(), Arc::new(blocks));
        let ran = parent.template(&program.body, out);
        self.evaluation.end_template();
        ran
    }
}
