//! The variables of a template as a plugin that it calls reads them: by name, each rendered when it is read.

use std::sync::Arc;

use minijinja::Value;
use modbox_python_json::Value as Json;

use super::encode;
use super::exchange::Exchange;
use crate::marker::Marker;
use crate::python_plugins::{CallVariables, Variable};
use crate::scope::{Content, Scope};

/// The variables of the template that made a call.
#[derive(Debug)]
pub(super) struct TemplateVariables<'e>(pub(super) &'e Exchange<'e>);

impl TemplateVariables<'_> {
    /// Returns the mapping of variables at a path: all variables for an empty one.
    fn scope(&self, path: &[&str]) -> Option<Scope> {
        let mut scope = self.0.evaluation.scope.clone();
        for name in path {
            scope = match scope.get(name)?.content() {
                Content::Scope(inner) | Content::Hosts(inner) => inner.clone(),
                Content::Everything => self.0.evaluation.scope.clone(),
                _ => return None,
            };
        }
        Some(scope)
    }

    fn value(&self, path: &[&str], name: &str) -> Option<Value> {
        let is_own = path.is_empty();
        if let Some(known) = self.0.evaluation.known_variable(name).filter(|_| is_own) {
            return Some(known);
        }
        let value = self.0.evaluation.slot_value(self.scope(path)?.get(name)?);
        if is_own {
            self.0.evaluation.keep_variable(name, &value);
        }
        Some(value)
    }
}

impl CallVariables for TemplateVariables<'_> {
    fn names(&self, path: &[&str]) -> Vec<Arc<str>> {
        self.scope(path).map(|scope| scope.names()).unwrap_or_default()
    }

    fn read(&self, path: &[&str]) -> Variable {
        if self.scope(path).is_some() {
            return Variable::Mapping;
        }
        let Some((name, around)) = path.split_last() else { return Variable::Missing };
        let Some(value) = self.value(around, name) else { return Variable::Missing };
        let sent = encode::encode(self.0, &value, 0);
        // What a template reads while it makes a variable is not an argument of the plugin.
        self.0.evaluation.trip.take();
        sent.map_or_else(|error| self.failed(&error.to_string()), Variable::Value)
    }
}

impl TemplateVariables<'_> {
    /// Returns a variable that cannot be sent as one whose use fails.
    fn failed(&self, reason: &str) -> Variable {
        let value = self.0.undefined(reason);
        let marker = Marker::of(&value).and_then(|marker| encode::undefined(self.0, marker).ok());
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
        let variables = TemplateVariables(&exchange);
        let shown = |path: &[&str]| match variables.read(path) {
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
        assert_eq!(variables.names(&["hostvars"]), [Arc::from("h")]);
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
