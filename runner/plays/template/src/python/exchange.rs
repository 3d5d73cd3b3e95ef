//! What one call of a Python plugin exchanges with the evaluation: undefined values by number, variables by name, and how much
//! may still be sent.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use minijinja::Value;
use modbox_python_json::Value as Json;

use super::encode;
use crate::evaluation::Evaluation;
use crate::marker::Marker;
use crate::python_plugins::{CallVariables, Variable};
use crate::scope::{Content, Scope};

/// Maximum size of what is sent in one call: bytes of text, and one for each value. A frame has no more bytes.
const MAX_SENT: usize = 32 << 20;

/// How many undefined values a call may have in its arguments.
const MAX_MARKERS: usize = 10_000;

/// Maximum characters of the reason of an undefined value that a plugin makes.
const MAX_REASON: usize = 10_000;

/// A call that runs.
#[derive(Debug)]
pub(super) struct Exchange<'e> {
    evaluation: &'e Arc<Evaluation>,
    markers: RefCell<Vec<Arc<Marker>>>,
    left: Cell<usize>,
}

impl<'e> Exchange<'e> {
    pub(super) fn new(evaluation: &'e Arc<Evaluation>) -> Self {
        Self { evaluation, markers: RefCell::default(), left: Cell::new(MAX_SENT) }
    }

    /// Counts what is sent.
    ///
    /// # Errors
    ///
    /// It is too much, as `vars` is, which has itself in it.
    pub(super) fn spend(&self, size: usize) -> Result<(), String> {
        let left = self.left.get().checked_sub(size).filter(|_| self.markers.borrow().len() <= MAX_MARKERS);
        self.left.set(left.ok_or("what the plugin is given is larger than the limit of 32 MiB")?);
        Ok(())
    }

    /// Keeps an undefined value, and returns its number.
    pub(super) fn keep(&self, marker: Arc<Marker>) -> i64 {
        let mut markers = self.markers.borrow_mut();
        markers.push(marker);
        i64::try_from(markers.len() - 1).unwrap_or(i64::MAX)
    }

    /// Returns the undefined value of a number.
    pub(super) fn kept(&self, number: i64) -> Option<Value> {
        let markers = self.markers.borrow();
        Some(markers.get(usize::try_from(number).ok()?)?.value())
    }

    /// Makes an undefined value of a plugin's own.
    pub(super) fn undefined(&self, reason: &str) -> Value {
        self.evaluation.absent(reason.chars().take(MAX_REASON).collect()).value()
    }

    /// Returns the mapping of variables at a path: all variables for an empty one.
    fn scope(&self, path: &[&str]) -> Option<Scope> {
        let mut scope = self.evaluation.scope.clone();
        for name in path {
            scope = match scope.get(name)?.content() {
                Content::Scope(inner) => inner.clone(),
                Content::Everything => self.evaluation.scope.clone(),
                _ => return None,
            };
        }
        Some(scope)
    }

    fn value(&self, path: &[&str], name: &str) -> Option<Value> {
        let is_own = path.is_empty();
        if let Some(known) = self.evaluation.known_variable(name).filter(|_| is_own) {
            return Some(known);
        }
        let value = self.evaluation.slot_value(self.scope(path)?.get(name)?);
        if is_own {
            self.evaluation.keep_variable(name, &value);
        }
        Some(value)
    }
}

impl CallVariables for Exchange<'_> {
    fn names(&self, path: &[&str]) -> Vec<Arc<str>> {
        self.scope(path).map(|scope| scope.names()).unwrap_or_default()
    }

    fn read(&self, path: &[&str]) -> Variable {
        if self.scope(path).is_some() {
            return Variable::Mapping;
        }
        let Some((name, around)) = path.split_last() else { return Variable::Missing };
        let Some(value) = self.value(around, name) else { return Variable::Missing };
        let sent = encode::encode(self, &value, 0);
        // What a template reads while it makes a variable is not an argument of the plugin.
        self.evaluation.trip.take();
        sent.map_or_else(|error| self.failed(&error.to_string()), Variable::Value)
    }
}

impl Exchange<'_> {
    /// Returns a variable that cannot be sent as one whose use fails.
    fn failed(&self, reason: &str) -> Variable {
        let value = self.undefined(reason);
        let marker = Marker::of(&value).map(|marker| encode::undefined(self, marker));
        marker.map_or(Variable::Missing, |marker: Json| Variable::Value(marker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::origin::Origin;
    use crate::scope::{Layer, Slot};

    fn layer(entries: &str) -> Arc<Layer> {
        Arc::new(Layer::of_source(&modbox_yaml::load_play_file(entries, "vars").unwrap().root).unwrap())
    }

    #[test]
    fn variables_are_read_by_their_paths_and_undefined_ones_keep_their_number() {
        let host: Scope = [layer("x: 1")].into_iter().collect();
        let hosts = Layer::from_iter([(Arc::from("h"), Slot::scope(host, Origin::Magic))]);
        let hosts = Slot::scope([Arc::new(hosts)].into_iter().collect(), Origin::Magic);
        let own = Layer::from_iter([(Arc::from("hostvars"), hosts), (Arc::from("vars"), Slot::everything())]);
        let scope = [layer("a: '{{ 1 + 1 }}'\nbad: ['{{ nothing }}']"), Arc::new(own)].into_iter().collect();
        let evaluation = Engine::default().evaluation(scope);
        let exchange = Exchange::new(&evaluation);
        let shown = |path: &[&str]| match exchange.read(path) {
            Variable::Missing => "missing".to_owned(),
            Variable::Mapping => "mapping".to_owned(),
            Variable::Value(value) => modbox_python_json::encode(&value),
        };
        assert_eq!(shown(&["a"]), "2");
        assert_eq!(shown(&["vars", "vars", "a"]), "2");
        assert_eq!(shown(&["hostvars", "h", "x"]), "1");
        assert_eq!((shown(&["hostvars", "h"]), shown(&["vars"])), ("mapping".to_owned(), "mapping".to_owned()));
        for missing in [&["none"][..], &["a", "b"], &["hostvars", "h", "y"], &["hostvars", "i", "x"]] {
            assert_eq!(shown(missing), "missing");
        }
        assert_eq!(shown(&["bad"]), r#"[{"~": "undefined", "v": [0, "'nothing' is undefined"]}]"#);
        assert!(Marker::is_undefined(&exchange.kept(0).unwrap()) && exchange.kept(1).is_none());
        assert_eq!(exchange.names(&["hostvars"]), [Arc::from("h")]);
        evaluation.finish();
    }

    #[test]
    fn what_has_itself_in_it_is_too_large_to_be_sent() {
        let own = Layer::from_iter([(Arc::from("vars"), Slot::everything()), (Arc::from("again"), Slot::everything())]);
        let evaluation = Engine::default().evaluation([Arc::new(own)].into_iter().collect());
        let exchange = Exchange::new(&evaluation);
        let value = evaluation.slot_value(evaluation.scope.get("vars").unwrap());
        let error = encode::arguments(&exchange, &[value]).unwrap_err().to_string();
        assert!(error.contains("32 MiB") || error.contains("200 levels"), "{error}");
        evaluation.finish();
    }
}
