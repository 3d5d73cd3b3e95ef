//! The functions `lookup`, `query` and `q`.

use minijinja::Value;
use modbox_jinja::{PluginKind, values};

use super::meaning::{Meaning, meaning};
use super::table::Lookup;
use crate::call_errors::{WholeMessage, detail};
use crate::lookup::{LookupCall, LookupError};
use crate::marker::{Cause, Marker, Run, Stop};
use crate::nested::NestedRenderer;
use crate::origin::Origin;
use crate::python;
use crate::run::{Given, Interpreter, Mode, stop_of};

/// What a failure becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnError {
    Fail,
    Ignore,
}

impl Interpreter<'_> {
    /// Calls a lookup. `query` always wants a list.
    pub(crate) fn lookup(&mut self, given: Given, wants_list: bool) -> Run<Value> {
        self.lookup_for(given, wants_list, false)
    }

    /// Calls a lookup, for a loop or within a template.
    pub(crate) fn lookup_for(&mut self, given: Given, wants_list: bool, is_loop: bool) -> Run<Value> {
        let mut given = given;
        if given.positional.is_empty() {
            return Err(self.raise("missing the name of the lookup"));
        }
        let name = given.positional.remove(0);
        let Some(name) = name.as_str().map(str::to_owned) else {
            return if Marker::is(&name) { Ok(name) } else { Err(self.raise("the name of a lookup must be text")) };
        };
        let Some(found) = meaning(&self.evaluation.machine, &name) else {
            return Err(self.stop(Cause::Failed, LookupError::Unknown(name).to_string()));
        };
        let accepts_markers = match &found {
            Meaning::Own(lookup) => lookup.accepts_markers,
            Meaning::Python(name) => self.evaluation.machine.python.accepts_undefined(PluginKind::Lookup, name),
        };
        if let Some(marker) = given.marker().filter(|_| !accepts_markers) {
            return Ok(marker);
        }
        let wants_list = take(&mut given, "wantlist").map_or(wants_list, |value| values::is_true(&value) || wants_list);
        let on_error = match take(&mut given, "errors").as_ref().and_then(|value| value.as_str()) {
            Some("ignore" | "warn") => OnError::Ignore,
            _ => OnError::Fail,
        };
        let outer = self.evaluation.accept_markers(accepts_markers);
        let results = match found {
            Meaning::Own(lookup) => self.results(lookup, &given, is_loop),
            Meaning::Python(called) => self.python_results(called, given),
        };
        self.evaluation.accept_markers(outer);
        match results {
            Ok(results) => Ok(self.shaped(results, wants_list)),
            // Only failures can be ignored; an undefined value and a limit cannot.
            Err(stop) if is_failure(stop.0.cause) && on_error == OnError::Ignore => {
                Ok(if wants_list { Value::from(Vec::<Value>::new()) } else { Value::from(()) })
            }
            Err(stop) if is_failure(stop.0.cause) => {
                let message = match &*stop.0.message {
                    "" => format!("The lookup plugin '{name}' failed."),
                    reason => format!("The lookup plugin '{name}' failed: {reason}"),
                };
                let cause = if stop.0.cause == Cause::Denied { Cause::Denied } else { Cause::Failed };
                Err(self.stop(cause, message))
            }
            Err(stop) => Err(stop),
        }
    }

    /// Calls a Python plugin, which returns a list.
    fn python_results(&mut self, name: &str, given: Given) -> Run<Vec<Value>> {
        self.evaluation.read(&Origin::Lookup(name.into()));
        let result = python::call(self.evaluation, PluginKind::Lookup, name, &given.passed());
        if let Some(limit) = self.evaluation.exceeded() {
            return Err(limit);
        }
        match result {
            Ok(value) => match Marker::of(&value) {
                Some(marker) => Err(Stop(marker)),
                None => Ok(values::items(&value).unwrap_or_default()),
            },
            Err(error) => Err(match stop_of(&error) {
                Some(stop) => stop,
                None if WholeMessage::is_source_of(&error) => self.stop(Cause::Failed, detail(&error)),
                None => self.raise(detail(&error)),
            }),
        }
    }

    fn results(&mut self, lookup: &Lookup, given: &Given, is_loop: bool) -> Run<Vec<Value>> {
        let results = match lookup.compute {
            Some(compute) => compute(self, given),
            None => self.acted(lookup, given, is_loop),
        };
        match self.evaluation.trip.take() {
            Some(marker) => Err(Stop(marker)),
            None => results,
        }
    }

    /// Asks the caller. It gets plain data, as a lookup does not need more.
    fn acted(&mut self, lookup: &Lookup, given: &Given, is_loop: bool) -> Run<Vec<Value>> {
        let (at, line) = (self.source.position(), self.line);
        let plain = |value: &Value, accepts: bool| match accepts {
            true => self.evaluation.finalize_defined(value, at, line),
            false => self.evaluation.finalize(value, Mode::Result, at, line),
        };
        // Only loops leave out terms that are undefined, and only a default may be.
        let terms = given.positional.iter().map(|value| plain(value, lookup.accepts_markers && is_loop));
        let terms = terms.collect::<Run<Vec<_>>>()?;
        let mut options = Vec::new();
        for (name, value) in &given.named {
            let accepts = lookup.accepts_markers && &**name == "default";
            options.push((name.clone(), plain(value, accepts)?));
        }
        let scope = &self.evaluation.scope;
        let renderer = NestedRenderer(self.evaluation);
        let call = LookupCall { name: lookup.name, terms, options, is_loop, scope, renderer: &renderer };
        self.evaluation.read(&Origin::Lookup(lookup.name.into()));
        self.evaluation.machine.lookups.lookup(&call).map_err(|error| match error {
            LookupError::Undefined(message) => self.stop(Cause::Undefined, message),
            LookupError::Unknown(_) => self.stop(Cause::Failed, error.to_string()),
            LookupError::Denied(_) => self.stop(Cause::Denied, error.to_string()),
            LookupError::Failed(_) => self.raise(error.to_string()),
        })
    }

    /// Returns the results as a template gets them: a list, the only one, or texts joined by commas.
    fn shaped(&self, results: Vec<Value>, wants_list: bool) -> Value {
        if wants_list {
            return Value::from(results);
        }
        if let [only] = &results[..] {
            return only.clone();
        }
        let texts: Option<Vec<&str>> = results.iter().map(Value::as_str).collect();
        match texts.filter(|texts| !texts.is_empty()) {
            Some(texts) => Value::from(texts.join(",")),
            None => Value::from(results),
        }
    }
}

/// Returns whether a lookup failed for a reason that `errors` can ignore.
fn is_failure(cause: Cause) -> bool {
    matches!(cause, Cause::Raised | Cause::Denied)
}

/// Removes a named argument and returns it.
fn take(given: &mut Given, name: &str) -> Option<Value> {
    let at = given.named.iter().position(|(known, _)| **known == *name)?;
    Some(given.named.remove(at).1)
}
