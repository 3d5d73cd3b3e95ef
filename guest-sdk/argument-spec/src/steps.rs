//! The steps of a validation, for a level of options and the levels inside it.
//!
//! In each step, Ansible looks up every option by its name. Here, its position among the parameters is found once,
//! since parameters are never removed.

use modbox_python_json::{Dict, Value};

use crate::constraints;
use crate::environment::Environment;
use crate::no_log;
use crate::run::{Positions, Run, sorted};
use crate::shared::Sharing;
use crate::spec::{ArgumentSpec, Flaw, OptionSpec, OptionType};
use crate::validated::{Deprecation, ErrorKind, Validated};
use crate::values;

/// Validates the arguments of a spec's top level.
pub(crate) fn finish(spec: &ArgumentSpec, mut parameters: Dict, environment: &dyn Environment) -> Validated {
    let mut run = Run::new(environment);
    run.level(spec, &mut parameters);
    run.unsupported_error();
    run.result.parameters = parameters;
    run.result
}

/// The state of the aliases of a level.
enum Aliases {
    Known,
    /// The spec is wrong, and the remaining aliases have no effect.
    Broken(ErrorKind, String),
}

impl<'a> Run<'a> {
    /// Runs all steps for one level of options.
    fn level(&mut self, spec: &'a ArgumentSpec, parameters: &mut Dict) {
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
        self.sub_specs(spec, parameters, &at, &sharing);
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
            // Ansible reads the aliases again to list the arguments, and fails again.
            self.error(*kind, message.clone());
            return;
        }
        let around: Vec<String> = self.path.iter().map(|(name, _)| (*name).to_owned()).collect();
        for name in unknown {
            // To list the known arguments, Ansible reads the aliases again, which copies them again: an alias of an
            // alias is copied one step further.
            copy_aliases(spec, parameters, sharing);
            let path = [around.as_slice(), &[name]].concat();
            // Every item of a list may have the same unknown argument.
            self.unsupported.insert(path);
        }
        self.supported.get_or_insert_with(|| supported_list(spec));
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

    /// Validates the dicts inside options, with all steps for each.
    fn sub_specs(&mut self, spec: &'a ArgumentSpec, parameters: &mut Dict, at: &Positions, sharing: &Sharing<'a>) {
        for ((name, option), at) in spec.options.iter().zip(at) {
            let Some(sub_spec) = option.sub_spec.as_deref().filter(|_| option.holds_dicts()) else { continue };
            let Some((_, value)) = at.and_then(|at| parameters.get_index_mut(at)) else { continue };
            if *value == Value::Null {
                if !option.apply_defaults {
                    continue;
                }
                *value = Value::Dict(Dict::new());
            }
            self.path.push((name, None));
            self.sub_spec(name, option, sub_spec, value);
            self.path.pop();
            sharing.spread(name, parameters);
        }
    }

    fn sub_spec(&mut self, name: &'a str, option: &OptionSpec, sub_spec: &'a ArgumentSpec, value: &mut Value) {
        let items = match value {
            Value::List(items) => items.as_mut_slice(),
            single => std::slice::from_mut(single),
        };
        for (index, item) in items.iter_mut().enumerate() {
            let Value::Dict(entries) = item else {
                self.error(
                    ErrorKind::SubParameterType,
                    format!("value of '{name}' must be of type dict or list of dicts"),
                );
                continue;
            };
            if let Some((_, position)) = self.path.last_mut() {
                *position = (option.option_type == OptionType::List).then_some(index);
            }
            self.level(sub_spec, entries);
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

/// Finds the given options, and whether all arguments are options.
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

/// Returns the options of a level, sorted, then all their aliases in one pair of parentheses.
fn supported_list(spec: &ArgumentSpec) -> String {
    let names = spec.options.keys().map(String::as_str).filter(|name| !spec.has_alias(name));
    let aliases = spec.options.values().flat_map(|option| &option.aliases).map(String::as_str);
    let names = sorted(names).join(", ");
    let mut aliases = sorted(aliases);
    aliases.dedup();
    if aliases.is_empty() { names } else { format!("{names} ({})", aliases.join(", ")) }
}
