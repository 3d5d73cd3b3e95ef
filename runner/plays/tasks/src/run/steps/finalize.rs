//! Finalizing a task's arguments: evaluating them, with the defaults of `module_defaults` below them.

use std::sync::Arc;

use indexmap::IndexMap;
use modbox_python_json::{Dict, Value};
use modbox_template::{Engine, Origin, Provenance, Scope};
use modbox_yaml::Source;

use crate::actions::table::Action;
use crate::fields::finalize_error::FinalizeError;
use crate::load::values;
use crate::model::task::{Args, Argument};
use crate::vars::layer;

/// Finalized arguments.
#[derive(Debug, Default)]
pub struct FinalArgs {
    /// The arguments, evaluated.
    pub args: Dict,
    /// Arguments that the action evaluates itself.
    pub sources: IndexMap<Arc<str>, Argument>,
    /// Where the arguments come from.
    pub provenance: Vec<(String, Provenance)>,
    /// Whether a template gave the mapping of arguments, and thus their names.
    pub is_templated: bool,
}

/// Evaluates arguments with the variables of a task.
pub struct Finalizer<'a> {
    /// The template engine.
    pub engine: &'a Engine,
    /// The variables.
    pub scope: &'a Scope,
    /// The action.
    pub action: &'static Action,
}

impl std::fmt::Debug for Finalizer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Finalizer").field("action", &self.action.name).finish_non_exhaustive()
    }
}

impl Finalizer<'_> {
    /// Evaluates arguments: the defaults, then a template for all of them, then each by itself.
    ///
    /// # Errors
    ///
    /// An argument cannot be evaluated, or the action does not take its form.
    pub fn finalize(&self, args: &Args, defaults: &[Source]) -> Result<FinalArgs, FinalizeError> {
        let mut found = FinalArgs::default();
        for source in defaults {
            self.mapping(source, &mut found)?;
        }
        if let Some(whole) = &args.whole {
            found.is_templated = whole.as_text().is_some();
            self.mapping(whole, &mut found)?;
        }
        if let Some(raw) = &args.raw {
            if self.action.free_form {
                self.argument("_raw_params", raw, &mut found)?;
            } else if raw.as_text().is_some_and(|text| text.trim_start().starts_with("{{")) {
                found.is_templated = true;
                self.mapping(raw, &mut found)?;
            } else {
                return Err(FinalizeError::FreeForm(raw.clone()));
            }
        }
        for (name, argument) in &args.named {
            if self.action.unevaluated.contains(&&**name) {
                found.args.shift_remove(&**name);
                found.sources.insert(Arc::clone(name), argument.clone());
            } else if self.action.evaluates_names && modbox_template::is_template(&argument.key) {
                let name = self.evaluate(name, &argument.key)?.map(|(name, _)| modbox_python_json::str(&name));
                self.argument(&name.unwrap_or_default(), &argument.value, &mut found)?;
            } else {
                self.argument(name, &argument.value, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Evaluates an argument. One that is omitted is left out.
    fn argument(&self, name: &str, source: &Source, found: &mut FinalArgs) -> Result<(), FinalizeError> {
        match self.evaluate(name, source)? {
            None => {
                found.args.shift_remove(name);
                found.provenance.retain(|(known, _)| known != name);
            }
            Some((value, provenance)) => {
                found.args.insert(name.to_owned(), value);
                found.provenance.retain(|(known, _)| known != name);
                found.provenance.push((name.to_owned(), provenance));
            }
        }
        Ok(())
    }

    fn evaluate(&self, name: &str, source: &Source) -> Result<Option<(Value, Provenance)>, FinalizeError> {
        let failed = |cause| FinalizeError::Argument { name: name.to_owned(), source: source.clone(), cause };
        let evaluated = self.engine.evaluate_omittable(source, self.scope).map_err(failed)?;
        let mut provenance = evaluated.provenance;
        add_text(&mut provenance, source);
        Ok(evaluated.value.map(|value| (layer::to_json(&value), provenance)))
    }

    /// Returns the mapping of the play that a template stands for.
    fn written(&self, source: &Source) -> Option<Source> {
        if !modbox_template::is_template(source) {
            return None;
        }
        let written = self.engine.written(source, self.scope).ok()?.value?;
        written.as_map().is_some().then_some(written)
    }

    /// Adds the arguments of a mapping, or of a template for one.
    fn mapping(&self, source: &Source, found: &mut FinalArgs) -> Result<(), FinalizeError> {
        if let Some(map) = source.as_map() {
            for (key, entry) in map.iter() {
                let name = values::key_text(key);
                if self.action.unevaluated.contains(&name.as_str()) {
                    let argument = Argument { key: entry.key.clone(), value: entry.value.clone() };
                    found.sources.insert(name.into(), argument);
                } else {
                    self.argument(&name, &entry.value, found)?;
                }
            }
            return Ok(());
        }
        if source.is_null() {
            return Ok(());
        }
        if let Some(written) = self.written(source) {
            self.mapping(&written, found)?;
            found.sources.values_mut().for_each(|argument| argument.value = indirect(&argument.value));
            return Ok(());
        }
        let Some((value, provenance)) = self.evaluate("args", source)? else { return Ok(()) };
        let Value::Dict(entries) = value else {
            return Err(FinalizeError::NotMapping { source: source.clone(), found: value.type_name() });
        };
        for (name, value) in entries {
            found.provenance.retain(|(known, _)| *known != name);
            found.provenance.push((name.clone(), provenance.clone()));
            found.args.insert(name, value);
        }
        Ok(())
    }
}

/// Returns what an action gets that evaluates an argument by itself, when the argument came from a variable. Templates in
/// it are rendered before the action reads them, so that a text with a template in it is data, as in Ansible. A text that
/// is one template may stand for an expression of the play.
fn indirect(source: &Source) -> Source {
    if let Some(items) = source.as_list() {
        return Source::list_of(items.iter().map(indirect).collect(), source.position().clone());
    }
    let is_whole = |text: &str| text.trim_start().starts_with("{{") && text.trim_end().ends_with("}}");
    match source.as_text() {
        Some(text) if !is_whole(text) && modbox_template::is_template(source) => source.as_unsafe(),
        _ => source.clone(),
    }
}

/// Adds the text that was evaluated to the origins of its value, unless it is nothing but the name of a variable that a
/// person wrote: then the value is that person's.
pub fn add_text(provenance: &mut Provenance, source: &Source) {
    let is_reference = source.as_text().is_some_and(|text| is_reference(text));
    let only_written = || {
        let neutral = |origin: &Origin| origin.is_written() || *origin == Origin::LoopItem;
        provenance.iter().any(Origin::is_written) && provenance.iter().all(neutral)
    };
    if !(is_reference && only_written()) {
        provenance.insert(Origin::Play(source.position().clone()));
    }
}

/// Says whether a template is the name of a variable, of an attribute or of an item, and nothing else.
fn is_reference(text: &str) -> bool {
    let inner = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    inner.map(str::trim).is_some_and(|name| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || "_.[]'\"".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_references() {
        for text in ["{{ a }}", "{{a.b}}", "{{ a['b'][0].c }}", " {{ item }} "] {
            assert!(is_reference(text), "{text}");
        }
        for text in [
            "a",
            "{{ a }}/x",
            "{{ a | d }}",
            "{{ a ~ 'x' }}",
            "{{ a[:1] }}",
            "{{ f(a) }}",
            "{{ 'x' }}",
            "{{ a }}{{ b }}",
            "",
        ] {
            assert!(!is_reference(text), "{text}");
        }
    }
}
