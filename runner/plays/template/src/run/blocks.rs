//! Blocks and inheritance.

use std::sync::Arc;

use minijinja::Value;

use super::interpreter::Interpreter;
use crate::compile::Expr;
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
        self.captured(out)
    }

    /// Finds the template that this one extends, and adds its blocks below those that are there.
    pub(super) fn extend(&mut self, name: &Expr) -> Run<()> {
        if self.parent.is_some() {
            return Err(self.raise("extended multiple times"));
        }
        let name = self.expression(name)?;
        let (source, program) = self.load(&name)?;
        let mut blocks = (*self.blocks).clone();
        blocks.add(&source, &program);
        self.blocks = Arc::new(blocks);
        self.parent = Some((source, program));
        Ok(())
    }

    /// Runs the template that this one extends, if it does, with the blocks of both.
    pub(super) fn run_parent(&mut self, out: &mut Vec<Value>) -> Run<()> {
        let Some((source, program)) = self.parent.take() else { return Ok(()) };
        self.evaluation.begin_template(source.position())?;
        let mut parent = Interpreter::new(self.evaluation, &source, &program, self.frame.clone(), self.blocks.clone());
        let ran = parent.template(&program.body, out);
        self.evaluation.end_template();
        ran
    }
}
