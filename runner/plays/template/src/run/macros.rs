//! Macros and call blocks.

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::Tuple;
use modbox_jinja::values::Table;

use super::call::Given;
use super::interpreter::Interpreter;
use crate::compile::MacroDefinition;
use crate::frame::Frame;
use crate::lazy::{Entries, LazyDict};
use crate::marker::Run;
use crate::objects::Macro;

impl Interpreter<'_> {
    /// Makes the value of a macro, which sees the current scope.
    pub(super) fn make_macro(&self, definition: &Arc<MacroDefinition>) -> Value {
        self.evaluation.own(&self.frame);
        Value::from_object(Macro {
            definition: definition.clone(),
            source: self.source.clone(),
            program: self.program.clone(),
            frame: self.frame.clone(),
            blocks: self.blocks.clone(),
            autoescape: self.autoescape.clone(),
        })
    }

    pub(super) fn call_macro(&mut self, called: &Macro, given: Given) -> Run<Value> {
        let definition = &called.definition;
        let arguments = self.match_parameters(definition, given)?;
        let frame = Frame::within(&called.frame);
        let mut body = Interpreter::new(self.evaluation, &called.source, &called.program, frame, called.blocks.clone());
        body.line = definition.line;
        body.autoescape = called.autoescape.clone();
        self.evaluation.enter(self.source.position(), self.line)?;
        let value = body.run_macro(definition, arguments);
        self.evaluation.leave();
        self.captured(vec![value?])
    }

    /// Returns the value of each parameter, and of `varargs`, `kwargs` and `caller`.
    fn match_parameters(&self, definition: &MacroDefinition, given: Given) -> Run<Matched> {
        let name = &definition.name;
        let count = definition.parameters.len();
        let mut named = given.named;
        let mut positional = given.positional.into_iter();
        let mut values: Vec<Option<Value>> = positional.by_ref().take(count).map(Some).collect();
        values.resize(count, None);
        for ((parameter, _), value) in definition.parameters.iter().zip(&mut values) {
            if value.is_none() {
                let at = named.iter().position(|(known, _)| known == parameter);
                *value = at.map(|at| named.remove(at).1);
            }
        }
        let is_caller = |(known, _): &(Arc<str>, Value)| definition.takes_caller && &**known == "caller";
        let caller = named.iter().position(is_caller).map(|at| named.remove(at).1);
        let more: Vec<Value> = positional.collect();
        if let Some((keyword, _)) = named.first().filter(|_| !definition.takes_keywords) {
            let taken = definition.parameters.iter().any(|(parameter, _)| parameter == keyword);
            return Err(self.raise(if taken {
                format!("macro '{name}' got multiple values for argument '{keyword}'")
            } else {
                format!("macro '{name}' takes no keyword argument '{keyword}'")
            }));
        }
        if !more.is_empty() && !definition.takes_more {
            return Err(self.raise(format!("macro '{name}' takes not more than {count} argument(s)")));
        }
        Ok(Matched { values, more, named, caller })
    }

    fn run_macro(&mut self, definition: &MacroDefinition, matched: Matched) -> Run<Value> {
        for ((parameter, default), value) in definition.parameters.iter().zip(matched.values) {
            let value = match (value, default) {
                (Some(value), _) => value,
                (None, Some(default)) => self.expression(default)?,
                (None, None) => self.undefined(format!("parameter '{parameter}' was not provided")),
            };
            self.frame.set(parameter, value);
        }
        if definition.takes_more {
            self.frame.set(&"varargs".into(), Value::from(Tuple::from(matched.more)));
        }
        if definition.takes_keywords {
            let mut table = Table::default();
            for (name, value) in matched.named {
                self.checked(table.insert(Value::from(name), value))?;
            }
            self.frame.set(&"kwargs".into(), LazyDict::value(self.evaluation, Entries::Made(table)));
        }
        if definition.takes_caller {
            let caller = matched.caller.unwrap_or_else(|| self.undefined("No caller defined"));
            self.frame.set(&"caller".into(), caller);
        }
        let mut out = Vec::new();
        self.nodes(&definition.body, &mut out)?;
        self.concatenate(out)
    }
}

/// Arguments by what a macro calls them.
struct Matched {
    values: Vec<Option<Value>>,
    more: Vec<Value>,
    named: Vec<(Arc<str>, Value)>,
    caller: Option<Value>,
}
