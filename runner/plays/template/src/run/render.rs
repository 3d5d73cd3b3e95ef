//! From a source to its value: compiling, running, and joining what the template emitted.

use std::sync::Arc;

use minijinja::Value;
use modbox_yaml::Source;

use super::call::Given;
use super::finalize::Mode;
use super::interpreter::Interpreter;
use crate::blocks::Blocks;
use crate::cache::Compiled;
use crate::compile::{Form, Node, Program, SyntaxFailure, compile};
use crate::evaluation::Evaluation;
use crate::marker::{Cause, Marker, Run, Stop};
use crate::options::TemplateOptions;
use crate::text;

/// How a source is rendered.
pub(crate) struct Rendering<'r> {
    pub(crate) form: Form,
    pub(crate) options: &'r TemplateOptions,
    /// Whether line ends at the end of the text stay.
    pub(crate) keeps_line_ends: bool,
}

impl Evaluation {
    /// Returns the value of a template within another one. A failure becomes a marker.
    pub(crate) fn render(self: &Arc<Self>, source: &Source) -> Value {
        let options = TemplateOptions::default();
        let rendering = Rendering { form: Form::Template, options: &options, keeps_line_ends: true };
        self.run(source, &rendering).unwrap_or_else(|stop| stop.value())
    }

    /// Returns the value of a template or of an expression. It may be a marker.
    pub(crate) fn run(self: &Arc<Self>, source: &Source, rendering: &Rendering<'_>) -> Run<Value> {
        self.begin_template(source.position())?;
        let outer = self.accept_markers(false);
        let result = self.compiled(source, rendering).and_then(|program| {
            let mut blocks = Blocks::default();
            blocks.add(source, &program);
            let mut interpreter = Interpreter::new(self, source, &program, Arc::default(), Arc::new(blocks));
            interpreter.value_of(rendering.form)
        });
        self.accept_markers(outer);
        self.end_template();
        let value = result.map_err(|stop| self.complete(&stop, rendering.form))?;
        if let Some(marker) = Marker::of(&value) {
            return Err(self.complete(&Stop(marker), rendering.form));
        }
        Ok(if rendering.keeps_line_ends { with_line_ends(source, value, rendering) } else { value })
    }

    /// Compiles a source, or takes it from the cache.
    pub(crate) fn compiled(&self, source: &Source, rendering: &Rendering<'_>) -> Run<Arc<Program>> {
        let Some(text) = source.as_text() else {
            let message = format!("text is needed, not {}", source.kind());
            return Err(Stop(self.marker(Cause::Failed, message, source.position(), 1)));
        };
        let make = || self.compile(text, rendering);
        // Options of template files are not in the key, and such a file is rendered once.
        let is_usual = *rendering.options == TemplateOptions::default();
        let compiled = if is_usual { self.machine.cache.get(text, rendering.form, make) } else { make() };
        compiled.map_err(|failure| self.syntax_failure(source, rendering.form, &failure))
    }

    fn compile(&self, text: &str, rendering: &Rendering<'_>) -> Compiled {
        let program = compile(text, rendering.form, rendering.options)?;
        self.machine.check_names(&program)?;
        Ok(Arc::new(program))
    }

    fn syntax_failure(&self, source: &Source, form: Form, failure: &SyntaxFailure) -> Stop {
        let is_template = source.as_text().is_some_and(|text| text::is_template(text));
        let message = match form {
            Form::Template => format!("Syntax error in template: {}", failure.message),
            _ if is_template => format!(
                "Syntax error in expression. Template delimiters are not supported in expressions: {}",
                failure.message
            ),
            _ => format!("Syntax error in expression: {}", failure.message),
        };
        Stop(self.marker(Cause::Syntax, message, source.position(), failure.line))
    }

    /// Completes the message of a failed operation when the template ends.
    fn complete(&self, stop: &Stop, form: Form) -> Stop {
        if let Some(limit) = self.exceeded() {
            return limit;
        }
        if stop.0.cause != Cause::Raised {
            return stop.clone();
        }
        let kind = if form == Form::Template { "template" } else { "expression" };
        let message = format!("Error rendering {kind}: {}", stop.0.message);
        Stop(self.marker(Cause::Failed, message, &stop.0.at, stop.0.line))
    }
}

/// Adds the line ends at the end of the text that the template lost.
fn with_line_ends(source: &Source, value: Value, rendering: &Rendering<'_>) -> Value {
    let count = |text: &str| text.len() - text.trim_end_matches('\n').len();
    let (Some(text), Some(made)) = (source.as_text(), value.as_str()) else { return value };
    let (wanted, found) = (count(text), count(made));
    if wanted <= found {
        return value;
    }
    Value::from(format!("{made}{}", rendering.options.newline_sequence.repeat(wanted - found)))
}

impl Interpreter<'_> {
    /// Runs the program and returns its value.
    fn value_of(&mut self, form: Form) -> Run<Value> {
        let program = self.program.clone();
        if form != Form::Template {
            return match &program.body[..] {
                [Node::Emit(_, expression)] => self.expression(expression),
                _ => Ok(Value::from(())),
            };
        }
        let mut out = Vec::new();
        let ran = self.template(&program.body, &mut out);
        match ran {
            Ok(()) => self.concatenate(out),
            // What was emitted before the failure may have failed first.
            Err(stop) => Err(out.iter().find_map(Marker::of).map_or(stop, Stop)),
        }
    }

    /// Joins what a block captured, which within `autoescape` is text, even `None` (Jinja 3.1, `return_buffer_contents`).
    pub(super) fn captured(&self, nodes: Vec<Value>) -> Run<Value> {
        let value = self.concatenate(nodes)?;
        if !self.is_true(&self.autoescape)? {
            return Ok(value);
        }
        let value = self.evaluation.finalize(&value, Mode::Text, self.source.position(), self.line)?;
        let text = self.checked(modbox_jinja::values::text(&value))?;
        self.produce(text.len())?;
        Ok(Value::from(text))
    }

    /// Joins what was emitted: one node is a value of its own type, and several are text.
    pub(super) fn concatenate(&self, nodes: Vec<Value>) -> Run<Value> {
        let mut nodes: Vec<Value> = nodes.into_iter().filter(|node| !node.is_none()).collect();
        match nodes.len() {
            0 => return Ok(Value::from(())),
            1 => return Ok(nodes.swap_remove(0)),
            _ => {}
        }
        let mut text = String::new();
        for node in &nodes {
            if crate::omit::Omit::is(node) {
                continue;
            }
            let before = text.len();
            match node.as_str() {
                Some(part) => text.push_str(part),
                None => {
                    let node = self.evaluation.finalize(node, Mode::Text, self.source.position(), self.line);
                    let node = match node {
                        Ok(node) => node,
                        // What holds a marker is one.
                        Err(stop) => return Ok(stop.value()),
                    };
                    text.push_str(&self.checked(modbox_jinja::values::text(&node))?);
                }
            }
            self.produce(text.len() - before)?;
        }
        Ok(Value::from(text))
    }
}

/// Returns the results of a lookup for a loop.
pub(crate) fn lookup_items(
    evaluation: &Arc<Evaluation>,
    source: &Source,
    lookup: &str,
    terms: Vec<Value>,
) -> Run<Value> {
    let program = Arc::new(Program::default());
    let mut interpreter = Interpreter::new(evaluation, source, &program, Arc::default(), Arc::default());
    let given = Given::of(std::iter::once(Value::from(lookup)).chain(terms).collect());
    let found = interpreter.lookup_for(given, true, true);
    found.map_err(|stop| evaluation.complete(&stop, Form::Template))
}
