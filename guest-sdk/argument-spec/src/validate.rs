//! Arguments against a spec: Ansible's steps, in Ansible's order, with all errors collected.
//!
//! A module shows only the first error; the order is therefore part of the contract. Sub-options go
//! through the same steps in `sub_spec.rs`.

use indexmap::IndexSet;
use modbox_python_json::{Dict, Value, str};

use crate::constraints;
use crate::convert::{choice_meant_by_bool, convert};
use crate::environment::Environment;
use crate::equality::python_eq;
use crate::no_log;
use crate::spec::{ArgumentSpec, OptionSpec, Removal};
use crate::sub_spec;

/// What became of the arguments.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Validated {
    /// The arguments, converted and completed with defaults. Aliases keep their entries beside the
    /// option's own, unknown arguments stay.
    pub parameters: Dict,
    /// What is wrong, in order; Ansible shows the first. Empty means that the arguments fit.
    pub errors: Vec<ValidationError>,
    /// What the caller should know though nothing is wrong.
    pub warnings: Vec<String>,
    /// Which arguments were given that will go away.
    pub deprecations: Vec<Deprecation>,
    /// The secrets, to be masked in everything that leaves the module.
    pub no_log_values: IndexSet<String>,
    /// The arguments that the spec does not know, as dotted paths.
    pub unsupported: Vec<String>,
}

/// One thing wrong with the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationError {
    /// What sort of thing it is.
    pub kind: ErrorKind,
    /// The message, in Ansible's words.
    pub message: String,
}

/// The sorts of errors, each one of Ansible's exception classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Secrets could not be collected (`NoLogError`).
    NoLog,
    /// Several options that exclude each other (`MutuallyExclusiveError`).
    MutuallyExclusive,
    /// A required option is missing (`RequiredError`).
    Required,
    /// A value cannot become the option's type (`ArgumentTypeError`).
    ArgumentType,
    /// An item cannot become the list's element type (`ElementError`).
    Element,
    /// A value is none of the choices (`ArgumentValueError`).
    ArgumentValue,
    /// Some of a group that is all or none (`RequiredTogetherError`).
    RequiredTogether,
    /// None of a group that needs one (`RequiredOneOfError`).
    RequiredOneOf,
    /// Missing because of another option's value (`RequiredIfError`).
    RequiredIf,
    /// Missing because of another option (`RequiredByError`).
    RequiredBy,
    /// Sub-options that are no dict (`SubParameterTypeError`).
    SubParameterType,
    /// Arguments that the spec does not know (`UnsupportedError`).
    Unsupported,
}

/// An argument or alias that will go away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deprecation {
    /// The message, in Ansible's words.
    pub message: String,
    /// When it goes away.
    pub removal: Removal,
}

impl ArgumentSpec {
    /// Converts, completes and checks arguments. Environment variables are asked of `environment`.
    #[must_use]
    pub fn validate(&self, arguments: &Dict, environment: &dyn Environment) -> Validated {
        let mut validated = Validated { parameters: arguments.clone(), ..Validated::default() };
        let mut parameters = std::mem::take(&mut validated.parameters);
        let mut run = Run { environment, result: validated, context: Vec::new(), supported: None };
        run.level(self, &mut parameters, "");
        run.unsupported_error();
        run.result.parameters = parameters;
        run.result
    }
}

/// One validation: what it collects, and which option it is inside of.
pub(crate) struct Run<'a> {
    pub(crate) environment: &'a dyn Environment,
    pub(crate) result: Validated,
    pub(crate) context: Vec<String>,
    /// What the options of the first level with unknown arguments are.
    supported: Option<String>,
}

impl Run<'_> {
    /// All steps for one level of options.
    pub(crate) fn level(&mut self, spec: &ArgumentSpec, parameters: &mut Dict, prefix: &str) {
        if self.context.is_empty() {
            self.fallbacks(spec, parameters);
        }
        self.aliases(spec, parameters, prefix);
        if let Err(message) = no_log::collect(spec, parameters, &mut self.result.no_log_values) {
            self.error(ErrorKind::NoLog, message);
        }
        if self.context.is_empty() {
            self.removals(spec, parameters, "");
        }
        self.note_unsupported(spec, parameters);
        self.errors(constraints::mutually_exclusive(&spec.constraints, parameters));
        self.defaults(spec, parameters, false);
        self.errors(constraints::required(spec, parameters));
        self.types(spec, parameters);
        self.choices(spec, parameters);
        self.errors(constraints::between_options(&spec.constraints, parameters));
        self.defaults(spec, parameters, true);
        sub_spec::validate(self, spec, parameters, prefix);
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

    fn found_in(&self) -> String {
        if self.context.is_empty() { String::new() } else { format!(" found in {}", self.context.join(" -> ")) }
    }

    pub(crate) fn fallbacks(&mut self, spec: &ArgumentSpec, parameters: &mut Dict) {
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

    fn aliases(&mut self, spec: &ArgumentSpec, parameters: &mut Dict, prefix: &str) {
        for (name, option) in &spec.options {
            for alias in option.deprecated_aliases.iter().filter(|alias| parameters.contains_key(&alias.name)) {
                let path = format!("{prefix}{}", alias.name);
                let message = format!("Alias '{path}' is deprecated. See the module docs for more information");
                self.result.deprecations.push(Deprecation { message, removal: alias.removal.clone() });
            }
            for alias in &option.aliases {
                let Some(value) = parameters.get(alias).cloned() else { continue };
                if parameters.insert(name.clone(), value).is_some() {
                    let warning = format!("Both option {prefix}{name} and its alias {prefix}{alias} are set.");
                    self.result.warnings.push(warning);
                }
            }
        }
    }

    fn removals(&mut self, spec: &ArgumentSpec, parameters: &Dict, prefix: &str) {
        for (name, option) in &spec.options {
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

    fn note_unsupported(&mut self, spec: &ArgumentSpec, parameters: &Dict) {
        let prefix: String = self.context.iter().map(|name| format!("{name}.")).collect();
        let before = self.result.unsupported.len();
        for name in parameters.keys().filter(|name| !spec.knows(name)) {
            self.result.unsupported.push(format!("{prefix}{name}"));
        }
        if self.result.unsupported.len() > before && self.supported.is_none() {
            self.supported = Some(supported_list(spec));
        }
    }

    fn unsupported_error(&mut self) {
        self.result.unsupported.sort_unstable();
        // Every item of a list may have the same one.
        self.result.unsupported.dedup();
        let Some(supported) = self.supported.take() else { return };
        let mut message = format!("{}.", self.result.unsupported.join(", "));
        if !supported.is_empty() {
            message.push_str(&format!(" Supported parameters include: {supported}."));
        }
        self.error(ErrorKind::Unsupported, message);
    }

    pub(crate) fn defaults(&mut self, spec: &ArgumentSpec, parameters: &mut Dict, with_null: bool) {
        for (name, option) in &spec.options {
            let default = option.default_value().cloned();
            if parameters.contains_key(name) || (default.is_none() && !with_null) {
                continue;
            }
            let default = default.unwrap_or(Value::Null);
            if option.no_log == Some(true) && default.is_truthy() {
                no_log::add(&default, &mut self.result.no_log_values);
            }
            parameters.insert(name.clone(), default);
        }
    }

    fn types(&mut self, spec: &ArgumentSpec, parameters: &mut Dict) {
        for (name, option) in &spec.options {
            let Some(value) = parameters.get(name) else { continue };
            if *value == Value::Null && !option.required && option.default_value().is_none() {
                continue;
            }
            match convert(value, option.option_type, self.environment) {
                Ok(converted) => {
                    let converted = self.elements(name, option, converted);
                    parameters.insert(name.clone(), converted);
                }
                Err(why) => {
                    let (found, wanted) = (value.type_name(), option.option_type.name());
                    // The stray full stop is Ansible's.
                    let place = self.quoted_context().map_or(String::new(), |path| format!("{path}."));
                    let message = format!(
                        "argument '{name}' is of type {found}{place} and we were unable to convert to {wanted}: {why}"
                    );
                    self.error(ErrorKind::ArgumentType, message);
                }
            }
        }
    }

    fn quoted_context(&self) -> Option<String> {
        (!self.context.is_empty()).then(|| format!(" found in '{}'", self.context.join(" -> ")))
    }

    /// Converts the items of a list; those that do not fit are dropped.
    fn elements(&mut self, name: &str, option: &OptionSpec, value: Value) -> Value {
        let (Some(wanted), Value::List(items)) = (option.elements, &value) else {
            return value;
        };
        let mut converted = Vec::with_capacity(items.len());
        for item in items {
            match convert(item, wanted, self.environment) {
                Ok(item) => converted.push(item),
                Err(why) => {
                    let (found, wanted) = (item.type_name(), wanted.name());
                    let place = self.quoted_context().unwrap_or_default();
                    let message = format!(
                        "Elements value for option '{name}'{place} is of type {found} and we were unable to convert to \
                         {wanted}: {why}"
                    );
                    self.error(ErrorKind::Element, message);
                }
            }
        }
        Value::List(converted)
    }

    fn choices(&mut self, spec: &ArgumentSpec, parameters: &mut Dict) {
        for (name, option) in &spec.options {
            let (Some(choices), Some(value)) = (&option.choices, parameters.get_mut(name)) else { continue };
            let allowed = |value: &Value| choices.iter().any(|choice| python_eq(choice, value));
            let message = if let Value::List(items) = value {
                let others: Vec<String> = items.iter().filter(|item| !allowed(item)).map(str).collect();
                if others.is_empty() {
                    continue;
                }
                let (choices, others) = (joined(choices), others.join(", "));
                format!("value of {name} must be one or more of: {choices}. Got no match for: {others}")
            } else {
                if let Some(choice) =
                    value.as_str().filter(|_| !allowed(value)).and_then(|text| choice_meant_by_bool(text, choices))
                {
                    *value = choice.clone();
                }
                if allowed(value) {
                    continue;
                }
                format!("value of {name} must be one of: {}, got: {}", joined(choices), str(value))
            };
            let message = format!("{message}{}", self.found_in());
            self.error(ErrorKind::ArgumentValue, message);
        }
    }
}

fn joined(values: &[Value]) -> String {
    values.iter().map(str).collect::<Vec<_>>().join(", ")
}

/// The options of a level, sorted, then all their aliases in one pair of parentheses.
fn supported_list(spec: &ArgumentSpec) -> String {
    let mut names: Vec<&str> = spec.options.keys().map(String::as_str).collect();
    names.sort_unstable();
    let mut aliases: Vec<&str> = spec.options.values().flat_map(|option| &option.aliases).map(String::as_str).collect();
    aliases.sort_unstable();
    aliases.dedup();
    let names = names.join(", ");
    if aliases.is_empty() { names } else { format!("{names} ({})", aliases.join(", ")) }
}
