//! Objects that carry `__ansible_type`: Python modules of ansible-core 2.19 print warnings and errors in this form.
//!
//! [`resolve`] checks every object like Ansible's decoder: it refuses text that cannot be encoded as UTF-8, checks the
//! fields of typed objects against their class, and refuses unknown classes. [`present`] then converts typed objects to
//! the values that a playbook sees. Between the two they stay dicts with their `__ansible_type`.
//!
//! A refusal that reaches the user keeps Python's message. The classes are those of Ansible's profile for all modules,
//! `legacy`.

use modbox_python_json::{Dict, Value, repr, str_repr};

/// The key that marks a typed object.
const TYPE_KEY: &str = "__ansible_type";

/// The value of `exception` in a playbook for an error without a traceback.
pub(crate) const NO_TRACEBACK: &str = "(traceback unavailable)";

/// The reason why a document that is valid JSON is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Ansible reports the error like invalid JSON (a `ValueError`).
    Deserialization(String),
    /// Ansible fails the task.
    Task(String),
}

/// The required type of a field in a typed object.
#[derive(Debug, Clone, Copy)]
enum Field {
    Str,
    OptionalStr,
    Bool,
    /// Another typed object.
    Object(&'static str),
    OptionalObject(&'static str),
    /// Null only: a value would have to be a list, which Ansible's own decoder refuses.
    Null,
}

/// Name, whether the field is required, type.
type FieldRule = (&'static str, bool, Field);

const SUMMARY: &[FieldRule] = &[("event", true, Field::Object("Event"))];

const CLASSES: &[(&str, &[FieldRule])] = &[
    ("ErrorSummary", SUMMARY),
    ("WarningSummary", SUMMARY),
    (
        "DeprecationSummary",
        &[
            ("event", true, Field::Object("Event")),
            ("deprecator", false, Field::OptionalObject("PluginInfo")),
            ("date", false, Field::OptionalStr),
            ("version", false, Field::OptionalStr),
        ],
    ),
    (
        "Event",
        &[
            ("msg", true, Field::Str),
            ("formatted_source_context", false, Field::OptionalStr),
            ("formatted_traceback", false, Field::OptionalStr),
            ("help_text", false, Field::OptionalStr),
            ("chain", false, Field::OptionalObject("EventChain")),
            ("events", false, Field::Null),
            // Since ansible-core 2.22. Modules of that release send it whatever the contract is.
            ("redact_source_context", false, Field::Bool),
        ],
    ),
    (
        "EventChain",
        &[
            ("msg_reason", true, Field::Str),
            ("traceback_reason", true, Field::Str),
            ("event", true, Field::Object("Event")),
            ("follow", false, Field::Bool),
        ],
    ),
    ("PluginInfo", &[("resolved_name", true, Field::OptionalStr), ("type", true, Field::OptionalObject("PluginType"))]),
];

const PLUGIN_TYPES: &[&str] = &[
    "action",
    "become",
    "cache",
    "callback",
    "cliconf",
    "connection",
    "doc_fragments",
    "filter",
    "httpapi",
    "inventory",
    "lookup",
    "module",
    "netconf",
    "shell",
    "strategy",
    "terminal",
    "test",
    "vars",
];

/// Wrappers that add tags to a value. Ansible does not show the tags, so only the value is kept. Values are
/// resolved before their wrappers, so a typed object of an unknown class, such as a date, is refused inside of one too.
const TAGGED: &[&str] = &[
    "_AnsibleTaggedBytes",
    "_AnsibleTaggedDict",
    "_AnsibleTaggedFloat",
    "_AnsibleTaggedInt",
    "_AnsibleTaggedList",
    "_AnsibleTaggedSet",
    "_AnsibleTaggedStr",
    "_AnsibleTaggedTuple",
    "_AnsibleTaggedDate",
    "_AnsibleTaggedDateTime",
    "_AnsibleTaggedTime",
];

/// Checks every object of a document, innermost first like Ansible's decoder, and unwraps tagged values.
pub(crate) fn resolve(value: Value) -> Result<Value, Refusal> {
    match value {
        Value::List(items) => Ok(Value::List(items.into_iter().map(resolve).collect::<Result<_, _>>()?)),
        Value::Dict(mut entries) => {
            for item in entries.values_mut() {
                *item = resolve(std::mem::take(item))?;
            }
            entries.values().try_for_each(check_text)?;
            resolve_typed(entries)
        }
        other => Ok(other),
    }
}

/// Refuses a string with a lone surrogate, also in a list. Dicts were checked before.
fn check_text(value: &Value) -> Result<(), Refusal> {
    match value {
        Value::Surrogates(text) => Err(not_utf8(text.units())),
        Value::List(items) => items.iter().try_for_each(check_text),
        _ => Ok(()),
    }
}

/// Returns the refusal of a text, with the messages of Ansible and of Python's codec.
pub(crate) fn not_utf8(units: &[u16]) -> Refusal {
    let mut lone =
        char::decode_utf16(units.iter().copied()).map(Result::err).enumerate().skip_while(|(_, c)| c.is_none());
    let (start, code) = match lone.next() {
        Some((start, Some(error))) => (start, error.unpaired_surrogate()),
        _ => (0, 0xFFFD),
    };
    let more = lone.take_while(|(_, c)| c.is_some()).count();
    let what = match more {
        0 => format!("character '\\u{code:04x}' in position {start}"),
        _ => format!("characters in position {start}-{}", start + more),
    };
    Refusal::Task(format!(
        "Refusing to deserialize an invalid UTF8 string value: 'utf-8' codec can't encode {what}: surrogates not allowed"
    ))
}

fn resolve_typed(mut entries: Dict) -> Result<Value, Refusal> {
    let name = match entries.get(TYPE_KEY) {
        None => return Ok(entries.into()),
        Some(Value::Str(name)) => name.as_str(),
        Some(other @ (Value::List(_) | Value::Dict(_))) => {
            return Err(Refusal::Task(format!("unhashable type: '{}'", other.type_name())));
        }
        Some(other) => return Err(unknown(&repr(other))),
    };
    if let Some((class, rules)) = CLASSES.iter().find(|(class, _)| *class == name) {
        check_fields(class, rules, &entries)?;
    } else if name == "PluginType" {
        check_plugin_type(&entries)?;
    } else if TAGGED.contains(&name) {
        return unwrap_tagged(entries);
    } else if name == "Deprecated" {
        // A tag. Playbooks never see one; it is shown as a plain dict.
        entries.shift_remove(TYPE_KEY);
    } else {
        return Err(unknown(&str_repr(name)));
    }
    Ok(entries.into())
}

fn unknown(name: &str) -> Refusal {
    Refusal::Task(format!("Object of type {name} is not JSON deserializable by the 'module_legacy_m2c' profile."))
}

fn check_fields(class: &str, rules: &[FieldRule], entries: &Dict) -> Result<(), Refusal> {
    let known = |key: &str| key == TYPE_KEY || rules.iter().any(|(field, ..)| *field == key);
    if let Some(key) = entries.keys().find(|key| !known(key)) {
        return Err(unexpected(&format!("{class}.__init__"), key));
    }
    let missing = rules.iter().filter(|(field, required, _)| *required && !entries.contains_key(*field));
    let missing: Vec<_> = missing.map(|(field, ..)| *field).collect();
    if !missing.is_empty() {
        return Err(missing_arguments(&format!("{class}.__init__"), "keyword-only", &missing));
    }
    for (field, _, rule) in rules {
        if let Some(value) = entries.get(*field) {
            check_field(&format!("{class}.{field}"), *rule, value)?;
        }
    }
    Ok(())
}

fn unexpected(function: &str, key: &str) -> Refusal {
    Refusal::Task(format!("{function}() got an unexpected keyword argument {}", str_repr(key)))
}

fn missing_arguments(function: &str, sort: &str, names: &[&str]) -> Refusal {
    let quoted: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
    let list = match &quoted[..] {
        [one] => one.clone(),
        [one, two] => format!("{one} and {two}"),
        many => format!("{}, and {}", many[..many.len() - 1].join(", "), many[many.len() - 1]),
    };
    let plural = if names.len() == 1 { "" } else { "s" };
    Refusal::Task(format!("{function}() missing {} required {sort} argument{plural}: {list}", names.len()))
}

/// Checks one field. `name` is `Class.field`.
fn check_field(name: &str, rule: Field, value: &Value) -> Result<(), Refusal> {
    let null = matches!(value, Value::Null);
    let fits = match rule {
        Field::Str => value.as_str().is_some(),
        Field::OptionalStr => null || value.as_str().is_some(),
        Field::Bool => value.as_bool().is_some(),
        Field::Object(class) => class_of(value) == Some(class),
        Field::OptionalObject(class) => null || class_of(value) == Some(class),
        Field::Null => null,
    };
    if fits {
        return Ok(());
    }
    let wanted = match rule {
        Field::Str => "<class 'str'>".to_owned(),
        Field::OptionalStr => "<class 'NoneType'> or <class 'str'>".to_owned(),
        Field::Bool => "<class 'bool'>".to_owned(),
        Field::Object(class) => class_repr(class),
        Field::OptionalObject(class) => format!("<class 'NoneType'> or {}", class_repr(class)),
        Field::Null => "<class 'tuple'> or <class 'NoneType'>".to_owned(),
    };
    Err(Refusal::Task(format!("{name} must be {wanted} instead of {}", type_repr(value))))
}

/// Checks a field of a deprecation that was sent as a plain dict. Refuses unknown names.
pub(crate) fn check_deprecation_field(name: &str, value: &Value) -> Result<(), Refusal> {
    let (_, rules) = CLASSES.iter().find(|(class, _)| *class == "DeprecationSummary").expect("it is in the table");
    match rules.iter().find(|(field, ..)| *field == name) {
        Some((_, _, rule)) => check_field(&format!("DeprecationSummary.{name}"), *rule, value),
        None => Err(unexpected("DeprecationSummary.__init__", name)),
    }
}

fn class_repr(class: &str) -> String {
    match class {
        "PluginType" => "<enum 'PluginType'>".to_owned(),
        _ => format!("<class 'ansible.module_utils._internal._messages.{class}'>"),
    }
}

/// Returns Python's `repr(type(value))`.
pub(crate) fn type_repr(value: &Value) -> String {
    match class_of(value) {
        Some(class) => class_repr(class),
        None => format!("<class '{}'>", value.type_name()),
    }
}

fn check_plugin_type(entries: &Dict) -> Result<(), Refusal> {
    match entries.get("value") {
        None => Err(Refusal::Task("'value'".to_owned())),
        Some(Value::Str(word)) if PLUGIN_TYPES.contains(&word.to_lowercase().as_str()) => Ok(()),
        Some(Value::Str(word)) => {
            Err(Refusal::Deserialization(format!("{} is not a valid PluginType", str_repr(&word.to_lowercase()))))
        }
        Some(other) => Err(Refusal::Task(format!("'{}' object has no attribute 'lower'", other.type_name()))),
    }
}

fn unwrap_tagged(mut entries: Dict) -> Result<Value, Refusal> {
    let function = "AnsibleTagHelper.tag";
    let known = |key: &str| [TYPE_KEY, "value", "tags"].contains(&key);
    if let Some(key) = entries.keys().find(|key| !known(key)) {
        return Err(unexpected(function, key));
    }
    let missing: Vec<_> = ["value", "tags"].into_iter().filter(|name| !entries.contains_key(*name)).collect();
    if !missing.is_empty() {
        return Err(missing_arguments(function, "positional", &missing));
    }
    if entries["tags"].as_list().is_none() {
        // Ansible's message also lists its classes of tags, in an order that changes between runs.
        return Err(Refusal::Task(format!("tags must be a list instead of {}", type_repr(&entries["tags"]))));
    }
    Ok(entries.shift_remove("value").unwrap_or(Value::Null))
}

/// Returns the class of a resolved value that is a typed object.
pub(crate) fn class_of(value: &Value) -> Option<&str> {
    class_of_dict(value.as_dict()?)
}

/// Returns the class of a dict that is a typed object; see [`class_of`].
pub(crate) fn class_of_dict(dict: &Dict) -> Option<&str> {
    dict.get(TYPE_KEY)?.as_str()
}

/// Makes an object of a class. The fields have to match the class.
pub(crate) fn object<const N: usize>(class: &str, fields: [(&str, Value); N]) -> Value {
    let mut entries: Dict = fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect();
    entries.insert(TYPE_KEY.to_owned(), class.into());
    entries.into()
}

/// Converts a resolved value to the form that a playbook sees: typed objects become text or plain dicts.
pub(crate) fn present(value: Value) -> Value {
    match class_of(&value) {
        Some("WarningSummary") => return brief_message(&value).into(),
        Some("ErrorSummary") => return traceback(&value).unwrap_or(NO_TRACEBACK).into(),
        Some("DeprecationSummary") => return present_deprecation(&value),
        Some("PluginInfo") => return present_plugin(&value),
        Some("PluginType") => return plugin_type(&value),
        _ => {}
    }
    match value {
        Value::List(items) => Value::List(items.into_iter().map(present).collect()),
        Value::Dict(mut entries) => {
            entries.values_mut().for_each(|item| *item = present(std::mem::take(item)));
            Value::Dict(entries)
        }
        other => other,
    }
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.as_dict()?.get(name).filter(|value| !matches!(value, Value::Null))
}

fn traceback(summary: &Value) -> Option<&str> {
    field(field(summary, "event")?, "formatted_traceback")?.as_str()
}

/// Returns the message of a summary's event and of the events that caused it, in Ansible's one-line form.
pub(crate) fn brief_message(summary: &Value) -> String {
    let mut messages = Vec::new();
    let mut event = field(summary, "event");
    while let Some(current) = event {
        messages.push(field(current, "msg").and_then(Value::as_str).unwrap_or_default());
        let chain = field(current, "chain").filter(|chain| field(chain, "follow") != Some(&Value::Bool(false)));
        event = chain.and_then(|chain| field(chain, "event"));
    }
    join_messages(&messages)
}

/// Joins messages, outermost first. Drops the inner part when a message already ends with it.
pub(crate) fn join_messages(messages: &[&str]) -> String {
    let mut messages = messages.iter().rev();
    let innermost = (*messages.next().unwrap_or(&"")).to_owned();
    messages.fold(innermost, |joined, message| match message.ends_with(&joined) {
        true => (*message).to_owned(),
        false => format!("{}: {joined}", message.trim_end_matches(['.', ' '])),
    })
}

fn present_deprecation(summary: &Value) -> Value {
    let deprecator = field(summary, "deprecator");
    let name = deprecator.and_then(|plugin| field(plugin, "resolved_name")).and_then(Value::as_str);
    let collection = name.filter(|name| *name != "indeterminate").map(|name| {
        let end = name.match_indices('.').nth(1).map_or(name.len(), |(second, _)| second);
        name[..end].to_owned()
    });
    let mut shown = Dict::new();
    shown.insert("msg".to_owned(), brief_message(summary).into());
    shown.insert("collection_name".to_owned(), collection.into());
    let (key, when) = match field(summary, "date") {
        Some(date) if date.is_truthy() => ("date", date.clone()),
        _ => ("version", field(summary, "version").cloned().unwrap_or(Value::Null)),
    };
    shown.insert(key.to_owned(), when);
    shown.insert("deprecator".to_owned(), deprecator.map_or(Value::Null, present_plugin));
    shown.into()
}

fn present_plugin(plugin: &Value) -> Value {
    let name = field(plugin, "resolved_name").cloned().unwrap_or(Value::Null);
    let sort = field(plugin, "type").map_or(Value::Null, plugin_type);
    Value::from([("resolved_name", name), ("type", sort)])
}

fn plugin_type(value: &Value) -> Value {
    field(value, "value").and_then(Value::as_str).map(str::to_lowercase).into()
}
