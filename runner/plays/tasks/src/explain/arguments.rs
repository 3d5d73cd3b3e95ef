//! Arguments of a task as far as they are known before anything runs.

use indexmap::IndexMap;
use modbox_python_json::Value;
use modbox_template::{Engine, Origin, Scope, TemplateError};
use modbox_yaml::Source;

use crate::explain::explanation::UnknownReason;
use crate::fields::finalize_error::FinalizeError;
use crate::model::task::Args;
use crate::run::steps::finalize::{FinalArgs, Finalizer};

/// Arguments of which some are known.
#[derive(Debug, Default)]
pub(super) struct KnownArguments {
    /// Those that are known.
    pub(super) found: FinalArgs,
    /// Those that are not, with the reason of each.
    pub(super) unknown: IndexMap<String, UnknownReason>,
    /// The templates in those that are not, by argument.
    pub(super) templates: IndexMap<String, String>,
}

/// Evaluates arguments one by one, with `defaults` below them.
#[must_use]
pub(super) fn known(finalizer: &Finalizer<'_>, args: &Args, defaults: &[Source]) -> KnownArguments {
    let whole = |source: &Source| Args { whole: Some(source.clone()), ..Args::default() };
    let mut known = KnownArguments::default();
    for part in defaults.iter().chain(&args.whole).map(whole) {
        add(finalizer, "args", &part, &mut known);
    }
    if let Some(raw) = &args.raw {
        let part = Args { raw: Some(raw.clone()), ..Args::default() };
        add(finalizer, "_raw_params", &part, &mut known);
    }
    for (name, argument) in &args.named {
        let named = std::iter::once((name.clone(), argument.clone())).collect();
        add(finalizer, name, &Args { named, ..Args::default() }, &mut known);
        if known.unknown.contains_key(&**name) {
            known.templates.insert(name.to_string(), templates(&argument.value));
        }
    }
    known.templates.retain(|_, templates| !templates.is_empty());
    known
}

/// Returns the templates in a value, without the text around them.
fn templates(source: &Source) -> String {
    let text = source.to_data().map_or_else(
        |_| String::new(),
        |data| match data {
            Value::Str(text) => text,
            data => modbox_python_json::encode(&data),
        },
    );
    let (mut found, mut rest) = (Vec::new(), text.as_str());
    while let Some(at) = rest.find("{{") {
        let Some(end) = rest[at..].find("}}") else { break };
        found.push(&rest[at..at + end + 2]);
        rest = &rest[at + end + 2..];
    }
    found.join(" ")
}

fn add(finalizer: &Finalizer<'_>, name: &str, part: &Args, known: &mut KnownArguments) {
    let found = match finalizer.finalize(part, &[]) {
        Ok(found) => found,
        Err(error) => {
            let (name, reason) = reason(finalizer, name, error);
            known.found.args.shift_remove(&name);
            known.unknown.insert(name, reason);
            return;
        }
    };
    for (name, provenance) in found.provenance {
        let Some(value) = found.args.get(&name) else { continue };
        known.found.args.shift_remove(&name);
        known.found.provenance.retain(|(other, _)| *other != name);
        known.unknown.shift_remove(&name);
        let results = results(provenance.iter());
        if results.is_empty() {
            known.found.args.insert(name.clone(), value.clone());
            known.found.provenance.push((name, provenance));
        } else {
            known.unknown.insert(name, UnknownReason::Results(results));
        }
    }
    known.found.sources.extend(found.sources);
}

/// Returns why an argument is not known.
fn reason(finalizer: &Finalizer<'_>, name: &str, error: FinalizeError) -> (String, UnknownReason) {
    match error {
        FinalizeError::Argument { name, source, cause } => {
            let reason = unknown(finalizer.engine, finalizer.scope, &source, &cause);
            (name, reason)
        }
        FinalizeError::FreeForm(_) => {
            (name.to_owned(), UnknownReason::Fault("the action takes no free form".to_owned()))
        }
        FinalizeError::NotMapping { found, .. } => {
            (name.to_owned(), UnknownReason::Fault(format!("a mapping is expected, not `{found}`")))
        }
    }
}

/// Returns why a template cannot be evaluated yet.
#[must_use]
pub(super) fn unknown(engine: &Engine, scope: &Scope, source: &Source, cause: &TemplateError) -> UnknownReason {
    let origins = engine.origins(source, scope);
    let results = results(origins.iter());
    if !results.is_empty() {
        UnknownReason::Results(results)
    } else if cause.missing_name().is_some_and(|name| name.starts_with("ansible_")) {
        UnknownReason::Facts
    } else {
        UnknownReason::Fault(format!("not known: {}", cause.message()))
    }
}

/// Returns the results among origins as a text, which is empty without results.
#[must_use]
pub(super) fn results<'a>(origins: impl Iterator<Item = &'a Origin>) -> String {
    origins.filter(|origin| origin.needs_run()).map(Origin::to_string).collect::<Vec<_>>().join(" and ")
}
