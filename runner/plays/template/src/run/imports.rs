//! Templates in other files.

use std::sync::Arc;

use minijinja::Value;
use modbox_yaml::Source;

use super::interpreter::Interpreter;
use super::render::Rendering;
use crate::blocks::Blocks;
use crate::compile::{Expr, Form, Imported, Node, Program};
use crate::frame::Frame;
use crate::marker::{Marker, Run, Stop};
use crate::objects::Module;

impl Interpreter<'_> {
    pub(super) fn other_template(&mut self, node: &Node, out: &mut Vec<Value>) -> Run<()> {
        match node {
            Node::Include { line, name, ignore_missing, with_context } => {
                self.line = *line;
                self.include(name, *ignore_missing, *with_context, out)
            }
            Node::Import { line, name, target, with_context } => {
                self.line = *line;
                let module = self.import(name, *with_context)?;
                self.assign(target, Value::from_object(module))
            }
            Node::From { line, name, names, with_context } => {
                self.line = *line;
                let module = self.import(name, *with_context)?;
                self.take(&module, names);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn include(&mut self, name: &Expr, ignore_missing: bool, with_context: bool, out: &mut Vec<Value>) -> Run<()> {
        let names = self.expression(name)?;
        let names = match names.as_str() {
            Some(_) => vec![names],
            None => self.iterate(&names)?,
        };
        for name in &names {
            if let Some((source, program)) = self.find(name)? {
                let frame = self.frame_of(with_context);
                return self.run_other(&source, &program, frame, out);
            }
        }
        if ignore_missing { Ok(()) } else { Err(self.not_found(&names)) }
    }

    fn import(&mut self, name: &Expr, with_context: bool) -> Run<Module> {
        let name = self.expression(name)?;
        let (source, program) = self.load(&name)?;
        let frame = self.frame_of(with_context);
        let mut body = Vec::new();
        self.run_other(&source, &program, frame.clone(), &mut body)?;
        self.evaluation.own(&frame);
        let names = frame.all().into_iter().filter(|(name, _)| !name.starts_with('_')).collect();
        Ok(Module { name: name.to_string().into(), names, body })
    }

    fn take(&mut self, module: &Module, names: &[Imported]) {
        for Imported { name, as_name } in names {
            let found = module.names.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            let value = found.unwrap_or_else(|| {
                let template = &module.name;
                let message = format!("the template '{template}' does not export the requested name '{name}'");
                self.undefined_name(&Value::from(name.clone()), message)
            });
            self.frame.set(as_name, value);
        }
    }

    fn frame_of(&self, with_context: bool) -> Arc<Frame> {
        if with_context { Frame::within(&self.frame) } else { Frame::isolated() }
    }

    fn run_other(
        &mut self,
        source: &Source,
        program: &Arc<Program>,
        frame: Arc<Frame>,
        out: &mut Vec<Value>,
    ) -> Run<()> {
        let mut blocks = Blocks::default();
        blocks.add(source, program);
        self.evaluation.begin_template(source.position())?;
        let mut other = Interpreter::new(self.evaluation, source, program, frame, Arc::new(blocks));
        let ran = self.evaluation.enter(source.position(), 1).and_then(|()| {
            let ran = other.template(&program.body, out);
            self.evaluation.leave();
            ran
        });
        self.evaluation.end_template();
        ran
    }

    /// Returns a template that must exist.
    pub(super) fn load(&mut self, name: &Value) -> Run<(Source, Arc<Program>)> {
        self.find(name)?.ok_or_else(|| self.not_found(std::slice::from_ref(name)))
    }

    fn find(&mut self, name: &Value) -> Run<Option<(Source, Arc<Program>)>> {
        if let Some(marker) = Marker::of(name) {
            return Err(Stop(marker));
        }
        let Some(text) = name.as_str() else {
            return Err(self.raise("the name of a template must be text"));
        };
        let Some(files) = &self.evaluation.files else { return Ok(None) };
        let Some(source) = files.files.template(text).map_err(|message| self.raise(message))? else {
            return Ok(None);
        };
        let options = &files.options;
        let rendering = Rendering { form: Form::Template, options, keeps_line_ends: false };
        let program = self.evaluation.compiled(&source, &rendering)?;
        Ok(Some((source, program)))
    }

    fn not_found(&self, names: &[Value]) -> Stop {
        match names {
            [name] => self.raise(format!("the template '{name}' was not found")),
            names => {
                let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
                self.raise(format!("none of the templates {} was found", names.join(", ")))
            }
        }
    }
}
