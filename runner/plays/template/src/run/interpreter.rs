//! The state of running one template.

use std::sync::Arc;

use minijinja::{State, Value};
use modbox_jinja::{AbsentValues, Made};
use modbox_yaml::Source;

use crate::blocks::Blocks;
use crate::compile::Program;
use crate::evaluation::Evaluation;
use crate::frame::Frame;
use crate::limits::ITEM_SIZE;
use crate::marker::{Cause, Run, Stop};
use crate::python;

/// A template that is running.
pub(crate) struct Interpreter<'e> {
    pub(crate) evaluation: &'e Arc<Evaluation>,
    pub(crate) source: &'e Source,
    pub(crate) program: &'e Arc<Program>,
    pub(crate) frame: Arc<Frame>,
    pub(crate) blocks: Arc<Blocks>,
    /// The name and the depth of the block that runs, for `super()`.
    pub(crate) block: Option<(Arc<str>, usize)>,
    /// The template that this one extends.
    pub(crate) parent: Option<(Source, Arc<Program>)>,
    /// The line of the node that runs.
    pub(crate) line: u32,
    /// The texts that filter blocks around the running expression captured.
    pub(crate) captured: Vec<Value>,
    /// The value of the `autoescape` block around the running node, which may be a marker.
    pub(crate) autoescape: Value,
    state: Option<State<'e, 'e>>,
}

impl<'e> Interpreter<'e> {
    pub(crate) fn new(
        evaluation: &'e Arc<Evaluation>,
        source: &'e Source,
        program: &'e Arc<Program>,
        frame: Arc<Frame>,
        blocks: Arc<Blocks>,
    ) -> Self {
        let (block, parent, captured, autoescape, state) = (None, None, Vec::new(), Value::from(false), None);
        Self { evaluation, source, program, frame, blocks, block, parent, line: 1, captured, autoescape, state }
    }

    /// Returns the state that filters get. Making one costs more than most expressions, so it is made when needed.
    pub(crate) fn state(&mut self) -> &mut State<'e, 'e> {
        let environment = &self.evaluation.machine.environment;
        self.state.get_or_insert_with(|| {
            let mut state = environment.empty_state();
            let evaluation = Arc::clone(self.evaluation);
            AbsentValues::install(&mut state, move |key, reason| evaluation.absent_item(key, reason).value());
            python::install(&mut state, self.evaluation);
            state
        })
    }

    /// Counts a step.
    pub(crate) fn step(&self) -> Run<()> {
        self.evaluation.step(self.source.position(), self.line)
    }

    /// Counts bytes or items that are made.
    pub(crate) fn produce(&self, size: usize) -> Run<()> {
        self.evaluation.produce(size, self.source.position(), self.line)
    }

    /// Counts what filters and methods made since the last time.
    pub(crate) fn count_made(&mut self) -> Run<()> {
        let made = Made::take(self.state());
        self.make(made)
    }

    /// Counts bytes of values that are made on the way to the output.
    pub(crate) fn make(&self, size: usize) -> Run<()> {
        self.evaluation.make(size, self.source.position(), self.line)
    }

    /// Counts items of lists and dicts that are made, each as the bytes of a short text.
    pub(crate) fn produce_items(&self, count: usize) -> Run<()> {
        self.produce(count.saturating_mul(ITEM_SIZE))
    }

    /// Makes the failure of an operation.
    pub(crate) fn raise(&self, message: impl Into<Arc<str>>) -> Stop {
        self.stop(Cause::Raised, message)
    }

    pub(crate) fn stop(&self, cause: Cause, message: impl Into<Arc<str>>) -> Stop {
        Stop(self.evaluation.marker(cause, message, self.source.position(), self.line))
    }

    /// Makes the value of what does not exist.
    pub(crate) fn undefined(&self, message: impl Into<Arc<str>>) -> Value {
        self.stop(Cause::Undefined, message).value()
    }

    /// Makes the value of a name, attribute or item that does not exist.
    pub(crate) fn undefined_name(&self, name: &Value, message: impl Into<Arc<str>>) -> Value {
        self.evaluation.missing_name(name, message, self.source.position(), self.line).value()
    }

    /// Returns a result of code that sees markers as objects, unless it used one.
    pub(crate) fn checked<T, E: std::fmt::Display>(&self, result: Result<T, E>) -> Run<T> {
        match (self.evaluation.trip.take(), result) {
            (Some(marker), _) => Err(Stop(marker)),
            (None, Ok(value)) => Ok(value),
            (None, Err(error)) => Err(self.raise(error.to_string())),
        }
    }
}
