//! The `warnings` and `deprecations` of a result: those of the runner and those of the module.
//!
//! The rules follow ansible-core 2.19 (`_apply_task_result_compat`): the runner's warnings come first, equal entries
//! are kept once, plain text and plain dicts become typed objects, and an entry of the wrong type adds a warning.
//! Ansible crashes on a deprecation that is a malformed dict or a list; here the result is a failure instead.

use modbox_python_json::{Dict, Value, str as python_str};

use crate::results::typed::{self, Refusal};

/// The entries collected so far, as typed objects.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    warnings: Vec<Value>,
    deprecations: Vec<Value>,
}

impl Warnings {
    /// Adds a warning of the runner.
    pub(crate) fn add_text(&mut self, text: String) {
        self.add(summary("WarningSummary", text));
    }

    /// Adds an entry unless the list has an equal one.
    fn add(&mut self, entry: Value) {
        let list = match typed::class_of(&entry) {
            Some("DeprecationSummary") => &mut self.deprecations,
            _ => &mut self.warnings,
        };
        if !list.contains(&entry) {
            list.push(entry);
        }
    }

    /// Removes both keys from a result and collects their entries.
    pub(crate) fn take_from(&mut self, dict: &mut Dict) -> Result<(), Refusal> {
        let entries = |value: Option<Value>| value.filter(Value::is_truthy);
        match entries(dict.shift_remove("warnings")) {
            None => {}
            Some(Value::List(items)) => items.into_iter().for_each(|item| self.add(upgrade_warning(item))),
            Some(other) => self.add_text(wrong_container("warnings", &other)),
        }
        match entries(dict.shift_remove("deprecations")) {
            None => Ok(()),
            Some(Value::List(items)) => items.into_iter().try_for_each(|item| self.add_deprecation(item)),
            Some(other) => {
                self.add_text(wrong_container("deprecations", &other));
                Ok(())
            }
        }
    }

    /// Adds the value of the key `warnings` by the rules of ansible-core 2.21 (`_convert_warnings`).
    pub(crate) fn add_sent(&mut self, value: Value) {
        match value {
            Value::List(items) => items.into_iter().for_each(|item| self.add(upgrade_warning(item))),
            nothing if !nothing.is_truthy() => {}
            other => self.add_text(discarded("warnings", &other)),
        }
    }

    /// Adds the value of the key `deprecations` by the rules of ansible-core 2.21 (`_convert_deprecations`).
    ///
    /// # Errors
    ///
    /// An item cannot be kept. Those before it are.
    pub(crate) fn add_sent_deprecations(&mut self, value: Value) -> Result<(), ()> {
        match value {
            Value::List(items) => items.into_iter().try_for_each(|item| self.add_deprecation(item)).map_err(drop),
            nothing if !nothing.is_truthy() => Ok(()),
            other => {
                self.add_text(discarded("deprecations", &other));
                Ok(())
            }
        }
    }

    fn add_deprecation(&mut self, item: Value) -> Result<(), Refusal> {
        let invalid = |reason: &str| format!("Task result `deprecations` contained an invalid item: {reason}");
        if typed::class_of(&item) == Some("DeprecationSummary") {
            self.add(item);
            return Ok(());
        }
        let sort = typed::class_of(&item).map(str::to_owned);
        let entry = match (sort, item) {
            (None, Value::Dict(fields)) => match upgrade_deprecation(fields) {
                Ok(summary) => summary,
                Err(reason) => {
                    self.add_text(invalid(&reason));
                    return Err(Refusal::Task("unhashable type: 'dict'".to_owned()));
                }
            },
            (_, Value::List(_)) => {
                self.add_text(invalid("pop expected at most 1 argument, got 2"));
                return Err(Refusal::Task("unhashable type: 'list'".to_owned()));
            }
            (sort, other) => {
                let sort = sort.as_deref().unwrap_or_else(|| other.type_name());
                self.add_text(invalid(&format!("'{sort}' object has no attribute 'pop'")));
                other
            }
        };
        self.add(entry);
        Ok(())
    }

    /// Appends the collected entries to a result, in the form that a playbook sees.
    pub(crate) fn add_to(self, mut dict: Dict) -> Dict {
        for (key, entries) in [("warnings", self.warnings), ("deprecations", self.deprecations)] {
            if !entries.is_empty() {
                dict.insert(key.to_owned(), Value::List(entries.into_iter().map(typed::present).collect()));
            }
        }
        dict
    }
}

fn summary(class: &str, text: String) -> Value {
    typed::object(class, [("event", typed::object("Event", [("msg", text.into())]))])
}

fn discarded(key: &str, value: &Value) -> String {
    format!("Task result `{key}` was {} instead of list and has been discarded.", value.type_name())
}

fn wrong_container(key: &str, value: &Value) -> String {
    format!("Task result `{key}` was {} instead of <class 'list'>.", typed::type_repr(value))
}

fn upgrade_warning(item: Value) -> Value {
    match typed::class_of(&item) {
        // Ansible accepts a deprecation as a warning.
        Some("WarningSummary" | "DeprecationSummary") => item,
        // Ansible shows the object's `repr()`.
        Some("ErrorSummary") => summary("WarningSummary", typed::brief_message(&item)),
        _ => summary("WarningSummary", python_str(&item)),
    }
}

/// Makes a typed object of `{msg, version | date, collection_name}`. An error is Python's message.
fn upgrade_deprecation(mut fields: Dict) -> Result<Value, String> {
    let reason = |refusal| match refusal {
        Refusal::Task(reason) | Refusal::Deserialization(reason) => reason,
    };
    let collection = fields.shift_remove("collection_name").map(deprecator).transpose()?;
    if let Some(deprecator) = collection {
        fields.insert("deprecator".to_owned(), deprecator);
    }
    let msg = match fields.shift_remove("msg") {
        None => return Err("'msg'".to_owned()),
        Some(Value::Str(text)) => text,
        Some(other) => return Err(format!("Event.msg must be <class 'str'> instead of {}", typed::type_repr(&other))),
    };
    if fields.contains_key("event") {
        return Err("ansible.module_utils._internal._messages.DeprecationSummary() got multiple values for keyword \
                    argument 'event'"
            .to_owned());
    }
    for (name, value) in &fields {
        typed::check_deprecation_field(name, value).map_err(reason)?;
    }
    // Null is the default of all three fields. Without the nulls, equal deprecations compare as equal.
    fields.retain(|_, value| !matches!(value, Value::Null));
    let Value::Dict(mut whole) = summary("DeprecationSummary", msg) else { unreachable!("summaries are dicts") };
    whole.extend(fields);
    Ok(whole.into())
}

fn deprecator(collection: Value) -> Result<Value, String> {
    match collection {
        Value::Str(name) if is_collection(&name) => {
            Ok(typed::object("PluginInfo", [("resolved_name", name.into()), ("type", Value::Null)]))
        }
        Value::Str(name) if !name.is_empty() => {
            Err("collection_name must consist of two non-keyword identifiers separated by '.'".to_owned())
        }
        nothing if !nothing.is_truthy() => Ok(Value::Null),
        other => Err(format!("collection_name must be <class 'str'> instead of {}", typed::type_repr(&other))),
    }
}

fn is_collection(name: &str) -> bool {
    let identifier = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
    };
    name.split_once('.').is_some_and(|(namespace, collection)| identifier(namespace) && identifier(collection))
}
