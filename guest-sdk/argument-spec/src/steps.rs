//! The steps of a validation, for one level of options and, through `sub_spec.rs`, for those inside of them.
//!
//! Ansible looks every option up by its name in every step. Here its position among the parameters is found once: nothing is
//! ever removed from them.

use std::collections::BinaryHeap;

use indexmap::IndexSet;
use modbox_python_json::{Dict, Value};

use crate::constraints;
use crate::environment::Environment;
use crate::no_log;
use crate::shared::Sharing;
use crate::spec::{ArgumentSpec, Flaw};
use crate::sub_spec;
use crate::validate::{Deprecation, ErrorKind, Validated, ValidationError};
use crate::values;

/// Where each option of a level is among the parameters, in the order of the spec.
pub(crate) type Positions = Vec<Option<usize>>;

/// One validation: what it collects, and which option it is inside of.
pub(crate) struct Run<'a> {
    pub(crate) environment: &'a dyn Environment,
    pub(crate) result: Validated,
    /// The options around this level, and which item of a list it is.
    pub(crate) path: Vec<(&'a str, Option<usize>)>,
    /// Unknown arguments, each with the options around it.
    unsupported: IndexSet<Vec<String>>,
    /// What the options of the first level with unknown arguments are.
    supported: Option<String>,
}

/// What became of the aliases of a level.
enum Aliases {
    Known,
    /// The spec is wrong; the aliases from there on mean nothing.
    Broken(ErrorKind, String),
}

impl<'a> Run<'a> {
    pub(crate) fn new(environment: &'a dyn Environment) -> Self {
        let (path, unsupported) = (Vec::new(), IndexSet::new());
        Self { environment, result: Validated::default(), path, unsupported, supported: None }
    }

    /// Validates the arguments of a spec's top level.
    pub(crate) fn finish(mut self, spec: &'a ArgumentSpec, mut parameters: Dict) -> Validated {
        self.level(spec, &mut parameters);
        self.unsupported_error();
        self.result.parameters = parameters;
        self.result
    }

    /// All steps for one level of options.
    pub(crate) fn level(&mut self, spec: &'a ArgumentSpec, parameters: &mut Dict) {
        self.fallbacks(spec, parameters);
        let mut sharing = Sharing::default();
        let aliases = self.aliases(spec, parameters, &mut sharing);
        parameters.reserve(spec.options.len().saturating_sub(parameters.len()));
        let (mut at, all_known) = positions(spec, parameters);
        if let Err(message) = no_log::collect(spec, parameters, &mut self.result.no_log_values) {
            self.error(ErrorKind::NoLog, message);
        }
        if self.path.is_empty() {
            self.removals(spec, parameters, "");
        }
        if !all_known {
            self.note_unsupported(spec, parameters, aliases, &mut sharing);
        }
        self.errors(constraints::mutually_exclusive(&spec.constraints, parameters));
        self.defaults(spec, parameters, &mut at, false);
        self.errors(constraints::required(spec, &at));
        values::types(self, spec, parameters, &at, &mut sharing);
        values::choices(self, spec, parameters, &at);
        self.errors(constraints::between_options(&spec.constraints, parameters));
        self.defaults(spec, parameters, &mut at, true);
        sub_spec::validate(self, spec, parameters, &at, &sharing);
    }

    pub(crate) fn error(&mut self, kind: ErrorKind, message: impl Into<String>) {
        self.result.errors.push(ValidationError { kind, message: message.into() });
    }

    fn errors(&mut self, errors: impl IntoIterator<Item = (ErrorKind, String)>) {
        for (kind, message) in errors {
            let message = format!("{message}{}", self.found_in());
            self.error(kind, message);
        }
    }

    fn context(&self) -> String {
        self.path.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" -> ")
    }

    /// Which options a message is about that names only one, if they are not at the top.
    pub(crate) fn found_in(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!(" found in {}", self.context()) }
    }

    /// The same in quotes, as messages about types have it.
    pub(crate) fn found_in_quoted(&self, stop: &str) -> String {
        if self.path.is_empty() { String::new() } else { format!(" found in '{}'{stop}", self.context()) }
    }

    /// How warnings name this level: `users[0].keys.`.
    fn prefix(&self) -> String {
        let step = |(name, index): &(&str, Option<usize>)| match index {
            Some(index) => format!("{name}[{index}]."),
            None => format!("{name}."),
        };
        self.path.iter().map(step).collect()
    }

    fn fallbacks(&mut self, spec: &ArgumentSpec, parameters: &mut Dict) {
        for (name, option) in spec.options.iter().filter(|(_, option)| !option.fallback.is_empty()) {
            if parameters.contains_key(name) {
                continue;
            }
            let Some(value) = option.fallback.iter().find_map(|name| self.environment.variable(name)) else { continue };
            let value = Value::from(value);
            if option.no_log == Some(true) {
                no_log::add(&value, &mut self.result.no_log_values);
            }
            parameters.insert(name.clone(), value);
        }
    }

    fn aliases(&mut self, spec: &'a ArgumentSpec, parameters: &mut Dict, sharing: &mut Sharing<'a>) -> Aliases {
        for (name, option) in &spec.options {
            for alias in option.deprecated_aliases.iter().filter(|alias| parameters.contains_key(&alias.name)) {
                let path = format!("{}{}", self.prefix(), alias.name);
                let message = format!("Alias '{path}' is deprecated. See the module docs for more information");
                self.result.deprecations.push(Deprecation { message, removal: alias.removal.clone() });
            }
            if option.required && option.default_value().is_some() {
                let message = format!("internal error: required and default are mutually exclusive for {name}");
                self.error(ErrorKind::Alias, message.clone());
                return Aliases::Broken(ErrorKind::Alias, message);
            }
            if option.flaws.contains(&Flaw::AliasesAreNoList) {
                let message = "internal error: aliases must be a list or tuple".to_owned();
                self.error(ErrorKind::Alias, message.clone());
                return Aliases::Broken(ErrorKind::RequiredDefault, message);
            }
            for alias in &option.aliases {
                let Some(value) = parameters.get(alias).cloned() else { continue };
                sharing.join(name, alias, &value);
                if parameters.insert(name.clone(), value).is_some() {
                    let prefix = self.prefix();
                    let warning = format!("Both option {prefix}{name} and its alias {prefix}{alias} are set.");
                    self.result.warnings.push(warning);
                }
            }
        }
        Aliases::Known
    }

    fn removals(&mut self, spec: &ArgumentSpec, parameters: &Dict, prefix: &str) {
        let concerned = spec.options.iter().filter(|(_, option)| option.removal.is_some() || option.sub_spec.is_some());
        for (name, option) in concerned {
            let Some(value) = parameters.get(name) else { continue };
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}[\"{name}\"]") };
            if let Some(removal) = &option.removal {
                let message = format!("Param '{path}' is deprecated. See the module docs for more information");
                self.result.deprecations.push(Deprecation { message, removal: removal.clone() });
            }
            let Some(sub_spec) = option.sub_spec.as_deref() else { continue };
            for item in value.as_list().unwrap_or_else(|| std::slice::from_ref(value)) {
                if let Value::Dict(entries) = item {
                    self.removals(sub_spec, entries, &path);
                }
            }
        }
    }

    fn note_unsupported(
        &mut self,
        spec: &'a ArgumentSpec,
        parameters: &mut Dict,
        aliases: Aliases,
        sharing: &mut Sharing<'a>,
    ) {
        let known =
            |name: &str| spec.options.contains_key(name) || (matches!(aliases, Aliases::Known) && spec.has_alias(name));
        let unknown: Vec<String> = parameters.keys().filter(|name| !known(name)).cloned().collect();
        if unknown.is_empty() {
            return;
        }
        if let Aliases::Broken(kind, message) = &aliases
            && self.path.is_empty()
        {
            // Ansible looks at the aliases once more, to say which arguments there are, and fails again.
            self.error(*kind, message.clone());
            return;
        }
        let around: Vec<String> = self.path.iter().map(|(name, _)| (*name).to_owned()).collect();
        for name in unknown {
            // To tell what is known, Ansible looks at the aliases once more, which copies them once more: an alias of an alias
            // comes one step further.
            copy_aliases(spec, parameters, sharing);
            let path = [around.as_slice(), &[name]].concat();
            // Every item of a list may have the same one.
            self.unsupported.insert(path);
        }
        self.supported.get_or_insert_with(|| supported_list(spec));
    }

    fn unsupported_error(&mut self) {
        let Some(supported) = self.supported.take() else { return };
        let names: Vec<String> = self.unsupported.iter().map(|path| path.join(".")).collect();
        let names: Vec<String> = sorted(names.iter().map(String::as_str)).into_iter().map(str::to_owned).collect();
        let message = format!("{}. Supported parameters include: {supported}.", names.join(", "));
        self.error(ErrorKind::Unsupported, message);
        self.result.unsupported = names;
    }

    fn defaults(&mut self, spec: &ArgumentSpec, parameters: &mut Dict, at: &mut Positions, with_null: bool) {
        for ((name, option), at) in spec.options.iter().zip(at) {
            if at.is_some() {
                continue;
            }
            let default = match option.default_value() {
                Some(default) => default.clone(),
                None if with_null => Value::Null,
                None => continue,
            };
            if option.no_log == Some(true) && default.is_truthy() {
                no_log::add_default(&default, &mut self.result.no_log_values);
            }
            *at = Some(parameters.insert_full(name.clone(), default).0);
        }
    }
}

fn copy_aliases<'a>(spec: &'a ArgumentSpec, parameters: &mut Dict, sharing: &mut Sharing<'a>) {
    for (name, option) in &spec.options {
        for alias in option.aliases.iter().filter(|alias| spec.options.contains_key(*alias)) {
            let Some(value) = parameters.get(alias).cloned() else { continue };
            sharing.join(name, alias, &value);
            parameters.insert(name.clone(), value);
        }
    }
}

/// Finds the options that are given, and whether nothing else is.
fn positions(spec: &ArgumentSpec, parameters: &Dict) -> (Positions, bool) {
    let mut at = vec![None; spec.options.len()];
    let mut all_known = true;
    for (position, name) in parameters.keys().enumerate() {
        match spec.options.get_index_of(name) {
            Some(option) => at[option] = Some(position),
            None => all_known = false,
        }
    }
    (at, all_known)
}

/// The options of a level, sorted, then all their aliases in one pair of parentheses.
fn supported_list(spec: &ArgumentSpec) -> String {
    let names = spec.options.keys().map(String::as_str).filter(|name| !spec.has_alias(name));
    let aliases = spec.options.values().flat_map(|option| &option.aliases).map(String::as_str);
    let names = sorted(names).join(", ");
    let mut aliases = sorted(aliases);
    aliases.dedup();
    if aliases.is_empty() { names } else { format!("{names} ({})", aliases.join(", ")) }
}

/// Sorts, with the smallest code: a guest has room for one way to do it.
pub(crate) fn sorted<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    texts.collect::<BinaryHeap<_>>().into_sorted_vec()
}
