//! `for` blocks, and the items of values.

use std::sync::Arc;

use minijinja::Value;
use modbox_jinja::values::{MAX_RANGE, Range, View, items, view};

use super::interpreter::Interpreter;
use crate::compile::For;
use crate::frame::Frame;
use crate::lazy::{LazyDict, LazyList};
use crate::marker::{Marker, Run, Stop};
use crate::objects::LoopContext;

impl Interpreter<'_> {
    pub(crate) fn each(&mut self, each: &Arc<For>, out: &mut Vec<Value>) -> Run<()> {
        let iterable = self.expression(&each.iterable)?;
        self.each_of(each, &iterable, 0, out)
    }

    fn each_of(&mut self, each: &Arc<For>, iterable: &Value, depth: usize, out: &mut Vec<Value>) -> Run<()> {
        let mut items = self.iterate(iterable)?;
        if let Some(filter) = &each.filter {
            let mut kept = Vec::new();
            for item in items {
                self.step()?;
                let keeps = self.within(|interpreter| {
                    interpreter.assign(&each.target, item.clone())?;
                    let keeps = interpreter.expression(filter)?;
                    interpreter.is_true(&keeps)
                })?;
                if keeps {
                    kept.push(item);
                }
            }
            items = kept;
        }
        if items.is_empty() {
            return self.within(|interpreter| interpreter.nodes(&each.otherwise, out));
        }
        let context = self.context(each, items, depth);
        self.iterations(each, &context, iterable.downcast_object_ref::<LazyDict>(), out)
    }

    fn context(&self, each: &Arc<For>, items: Vec<Value>, depth: usize) -> Arc<LoopContext> {
        let recursion = each.is_recursive.then(|| (each.clone(), self.frame.clone()));
        Arc::new(LoopContext::new(items, depth, recursion))
    }

    /// Runs the body for each item. A dict whose keys are the items must not grow or shrink meanwhile.
    fn iterations(
        &mut self,
        each: &Arc<For>,
        context: &Arc<LoopContext>,
        dict: Option<&LazyDict>,
        out: &mut Vec<Value>,
    ) -> Run<()> {
        let length = dict.map(LazyDict::len);
        let loop_name: Arc<str> = "loop".into();
        for (index, item) in context.items.iter().enumerate() {
            self.step()?;
            context.go_to(index);
            self.within(|interpreter| {
                interpreter.frame.set(&loop_name, Value::from_dyn_object(context.clone()));
                interpreter.assign(&each.target, item.clone())?;
                interpreter.nodes(&each.body, out)
            })?;
            if dict.map(LazyDict::len) != length {
                return Err(self.raise("dictionary changed size during iteration"));
            }
        }
        Ok(())
    }

    /// Runs a recursive loop again, for other items: `loop(items)`.
    pub(crate) fn recurse(&mut self, context: &LoopContext, iterable: &Value) -> Run<Value> {
        let Some((each, frame)) = &context.recursion else {
            return Err(self.raise("The loop must have the 'recursive' marker to be called recursively."));
        };
        let outer = std::mem::replace(&mut self.frame, Frame::within(frame));
        let mut out = Vec::new();
        let ran = self.each_of(each, iterable, context.depth + 1, &mut out);
        self.frame = outer;
        ran?;
        self.captured(out)
    }

    /// Returns the items of a value, none of which is a marker.
    pub(crate) fn read_items(&self, value: &Value) -> Run<Vec<Value>> {
        let items = self.iterate(value)?;
        items.iter().find_map(Marker::of).map_or(Ok(items), |marker| Err(Stop(marker)))
    }

    /// Returns the items of a value: of a list, the keys of a dict, the characters of a text. Some may be markers.
    pub(crate) fn iterate(&self, value: &Value) -> Run<Vec<Value>> {
        if let Some(marker) = Marker::of(value) {
            return Err(Stop(marker));
        }
        if let Some(list) = value.downcast_object_ref::<LazyList>() {
            return Ok(list.all());
        }
        if let Some(dict) = value.downcast_object_ref::<LazyDict>() {
            return Ok(dict.keys());
        }
        if let Some(range) = value.downcast_object_ref::<Range>() {
            return match range.len() {
                0..=MAX_RANGE => Ok((0..range.len()).map_while(|index| range.get(index)).collect()),
                _ => Err(self.raise(format!("a range has more than {MAX_RANGE} items"))),
            };
        }
        if matches!(view(value), View::Undefined) {
            return Ok(Vec::new());
        }
        self.checked(items(value))
    }
}
