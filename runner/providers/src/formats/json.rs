//! The input and output of `get` and `set`.
//!
//! libral's program ignores errors of single resources; its document says that they count, and here they do. An exit
//! status other than 0 is always a failure.

use modbox_contract::{Dict, Value, decode};

use crate::failure::{ActionOutput, OutputError, ProviderFailure};
use crate::finding::{FindResult, ListResult, UpdateReport, Warnings};
use crate::metadata::{Metadata, NAME};
use crate::resource::{Attributes, Change, Resource};
use crate::text::Text;
use crate::value::AttributeValue;

/// The key of errors.
const ERROR: &str = "error";

/// Returns the input of `get` for some names; without names, for all resources.
#[must_use]
pub fn get_input(names: &[&Text]) -> Dict {
    let names: Vec<Value> = names.iter().map(|name| name.to_value()).collect();
    Dict::from_iter([("names".to_owned(), names.into())])
}

/// Returns the input of `set` for one resource. `is` is the resource before, if the provider knows it; `should` has all
/// attributes that the caller sets.
#[must_use]
pub fn set_input(name: &Text, is: Option<&Resource>, should: &Attributes, noop: bool) -> Dict {
    let mut update = Dict::from_iter([(NAME.to_owned(), name.to_value())]);
    update.extend(is.map(|is| ("is".to_owned(), values(&is.attributes))));
    update.insert("should".to_owned(), values(should));
    let ral: Value = [("noop", noop)].into();
    Dict::from_iter([("ral".to_owned(), ral), ("updates".to_owned(), vec![Value::Dict(update)].into())])
}

fn values(attributes: &Attributes) -> Value {
    Value::Dict(attributes.iter().map(|(name, value)| (name.clone(), value.to_value())).collect())
}

/// Reads the output of `get` for one name. Other resources are left out.
///
/// # Errors
///
/// The action failed, or its output is not valid.
pub fn find(output: &ActionOutput<'_>, metadata: &Metadata, name: &Text) -> Result<FindResult, ProviderFailure> {
    let (answer, status) = answer(output)?;
    let invalid = ProviderFailure::of_output(status);
    let mut warnings = Warnings::default();
    let mut found = None;
    let mut is_unknown = false;
    for entry in entries(&answer, "resources", true).map_err(&invalid)? {
        if resource_name(entry, "resources").map_err(&invalid)? != *name {
            continue;
        }
        match error_of(entry, metadata) {
            Some(ReportedError { kind: ErrorKind::Unknown, .. }) => is_unknown = true,
            Some(ReportedError { message, .. }) => return Err(ProviderFailure::Reported { message }),
            None if found.is_some() => return Err(invalid(OutputError::Twice(name.clone()))),
            None => found = Some(resource(entry, metadata, &mut warnings).map_err(&invalid)?),
        }
    }
    ProviderFailure::check_status(status)?;
    Ok(FindResult { resource: found.filter(|_| !is_unknown), warnings: warnings.into_vec() })
}

/// Reads the output of `get` for all resources.
///
/// # Errors
///
/// The action failed, or its output is not valid.
pub fn list(output: &ActionOutput<'_>, metadata: &Metadata) -> Result<ListResult, ProviderFailure> {
    let (answer, status) = answer(output)?;
    let invalid = ProviderFailure::of_output(status);
    let mut warnings = Warnings::default();
    let mut resources = Vec::new();
    for entry in entries(&answer, "resources", true).map_err(&invalid)? {
        let name = resource_name(entry, "resources").map_err(&invalid)?;
        if let Some(ReportedError { message, .. }) = error_of(entry, metadata) {
            let message = format!("`{name}`: {message}").into();
            return Err(ProviderFailure::Reported { message });
        }
        resources.push(resource(entry, metadata, &mut warnings).map_err(&invalid)?);
    }
    ProviderFailure::check_status(status)?;
    Ok(ListResult { resources, warnings: warnings.into_vec() })
}

/// Reads the output of `set` for the resource `name`. Changes of other resources are left out, with a warning.
///
/// # Errors
///
/// The action failed, its output is not valid, or the resource does not exist and cannot be created.
pub fn update(output: &ActionOutput<'_>, metadata: &Metadata, name: &Text) -> Result<UpdateReport, ProviderFailure> {
    let (answer, status) = answer(output)?;
    let invalid = ProviderFailure::of_output(status);
    let mut warnings = Warnings::default();
    let mut changes = Vec::new();
    let mut is_unknown = false;
    for entry in entries(&answer, "changes", false).map_err(&invalid)? {
        let changed = resource_name(entry, "changes").map_err(&invalid)?;
        if changed != *name {
            warnings.add(format!("the update also changed `{changed}`"));
            continue;
        }
        match error_of(entry, metadata) {
            Some(ReportedError { kind: ErrorKind::Unknown, .. }) => is_unknown = true,
            Some(ReportedError { message, .. }) => return Err(ProviderFailure::Reported { message }),
            None => changes.extend(self::changes(entry, metadata, &mut warnings).map_err(&invalid)?),
        }
    }
    let derive = match answer.get("derive") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(derive)) => *derive,
        Some(other) => return Err(invalid(form(format!("`derive` must be a boolean, not {}", other.type_name())))),
    };
    ProviderFailure::check_status(status)?;
    if is_unknown {
        return Err(ProviderFailure::Unknown(name.clone()));
    }
    // Other than in the simple convention, a resource has either its own changes or derived ones.
    let derive = derive && changes.is_empty();
    Ok(UpdateReport { changes, derive, warnings: warnings.into_vec() })
}

/// Reads the one object of an output; its error is a failure.
fn answer(output: &ActionOutput<'_>) -> Result<(Dict, i32), ProviderFailure> {
    let status = output.status()?;
    let invalid = ProviderFailure::of_output(status);
    let not_json = |reason: String| invalid(OutputError::NotJson(reason));
    if output.stdout.trim_ascii().is_empty() {
        ProviderFailure::check_status(status)?;
        return Err(not_json("there is no output".to_owned()));
    }
    let text = str::from_utf8(output.stdout).map_err(|_| not_json("it is not UTF-8".to_owned()))?;
    let answer = match decode(text.trim()).map_err(|error| not_json(error.to_string()))? {
        Value::Dict(answer) => answer,
        other => return Err(invalid(form(format!("it must be an object, not {}", other.type_name())))),
    };
    match answer.get(ERROR) {
        Some(error) => Err(ProviderFailure::Reported { message: ReportedError::read(error).message }),
        None => Ok((answer, status)),
    }
}

fn form(problem: String) -> OutputError {
    OutputError::Form(problem)
}

/// Returns the objects of a list; an empty list if it may be missing and is.
fn entries<'a>(answer: &'a Dict, key: &str, required: bool) -> Result<Vec<&'a Dict>, OutputError> {
    let list = match answer.get(key) {
        None if required => return Err(form(format!("`{key}` is missing"))),
        None => return Ok(Vec::new()),
        Some(list) => {
            list.as_list().ok_or_else(|| form(format!("`{key}` must be a list, not {}", list.type_name())))?
        }
    };
    let object = |entry: &'a Value| {
        entry
            .as_dict()
            .ok_or_else(|| form(format!("`{key}` has an entry that is not an object: {}", entry.type_name())))
    };
    list.iter().map(object).collect()
}

fn resource_name(entry: &Dict, list: &str) -> Result<Text, OutputError> {
    let name = entry.get(NAME).and_then(Text::from_value);
    name.ok_or_else(|| form(format!("an entry of `{list}` has no `name` that is a string")))
}

/// Kind of a reported error, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorKind {
    Unknown,
    Other,
}

/// Error that a provider reports.
struct ReportedError {
    message: Text,
    kind: ErrorKind,
}

impl ReportedError {
    fn read(error: &Value) -> Self {
        let entry = |key: &str| error.as_dict().and_then(|error| error.get(key));
        let message = entry("message").and_then(Text::from_value).or_else(|| Text::from_value(error));
        let is_unknown = entry("kind").and_then(Value::as_str) == Some("unknown");
        let kind = if is_unknown { ErrorKind::Unknown } else { ErrorKind::Other };
        Self { message: message.unwrap_or_default(), kind }
    }
}

/// Returns the error of one resource. An attribute may have the same name.
fn error_of(entry: &Dict, metadata: &Metadata) -> Option<ReportedError> {
    let error =
        entry.get(ERROR).filter(|error| error.as_dict().is_some() || !metadata.attributes.contains_key(ERROR))?;
    Some(ReportedError::read(error))
}

fn resource(entry: &Dict, metadata: &Metadata, warnings: &mut Warnings) -> Result<Resource, OutputError> {
    let mut resource = Resource::new(resource_name(entry, "resources")?);
    for (attribute, value) in entry.iter().filter(|(key, _)| *key != NAME) {
        if !metadata.attributes.contains_key(attribute) {
            warnings.add(format!("the attribute `{attribute}` is not in the metadata, and is left out"));
            continue;
        }
        resource.attributes.insert(attribute.clone(), typed(metadata, attribute, value, warnings)?);
    }
    Ok(resource)
}

fn changes(entry: &Dict, metadata: &Metadata, warnings: &mut Warnings) -> Result<Vec<Change>, OutputError> {
    let mut changes = Vec::new();
    for (attribute, change) in entry.iter().filter(|(key, _)| *key != NAME) {
        if !metadata.attributes.contains_key(attribute) {
            return Err(form(format!("the change of `{attribute}` is of an attribute that is not in the metadata")));
        }
        let value = |key: &str| {
            let value = change.as_dict().and_then(|change| change.get(key));
            value.ok_or_else(|| form(format!("the change of `{attribute}` has no `{key}`")))
        };
        let (is, was) = (value("is")?, value("was")?);
        let is = typed(metadata, attribute, is, warnings)?;
        let was = typed(metadata, attribute, was, warnings)?;
        changes.push(Change { attribute: attribute.clone(), is, was });
    }
    Ok(changes)
}

/// Returns a value with the type of its attribute; with a warning, the value as it is.
fn typed(
    metadata: &Metadata,
    attribute: &str,
    value: &Value,
    warnings: &mut Warnings,
) -> Result<AttributeValue, OutputError> {
    let plain = AttributeValue::from_value(value);
    let plain =
        plain.ok_or_else(|| form(format!("the value of `{attribute}` has an invalid type: {}", value.type_name())))?;
    let Some(declared) = metadata.attributes.get(attribute) else { return Ok(plain) };
    Ok(declared.attribute_type.convert(plain.clone()).unwrap_or_else(|error| {
        warnings.add(format!("the value of `{attribute}` is not valid: {error}"));
        plain
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::ActionEnd;
    use crate::formats::ralsh_json::compact;

    const METADATA: &str = "provider: {type: t, invoke: json, suitable: true, attributes: {name: , s: , \
        b: {type: boolean}, l: {type: 'array[string]'}, ensure: {type: 'enum[present, absent]'}}}";

    fn metadata() -> Metadata {
        Metadata::from_yaml(METADATA.as_bytes(), "p").unwrap()
    }

    fn run<T>(
        read: impl Fn(&ActionOutput<'_>, &Metadata) -> Result<T, ProviderFailure>,
        stdout: &str,
        status: i32,
    ) -> Result<T, ProviderFailure> {
        read(&ActionOutput { end: &ActionEnd::Exited(status), stdout: stdout.as_bytes() }, &metadata())
    }

    fn found(stdout: &str, status: i32) -> Result<FindResult, ProviderFailure> {
        run(|output, metadata| find(output, metadata, &"n".into()), stdout, status)
    }

    fn updated(stdout: &str, status: i32) -> Result<UpdateReport, ProviderFailure> {
        run(|output, metadata| update(output, metadata, &"n".into()), stdout, status)
    }

    #[track_caller]
    fn fails<T: std::fmt::Debug>(got: Result<T, ProviderFailure>, expect: &str) {
        let error = got.expect_err(expect).to_string();
        assert!(error.contains(expect), "{error}");
    }

    #[test]
    fn input_is_compact_json() {
        let shown = |input: Dict| compact(&input.into());
        assert_eq!(shown(get_input(&[])), r#"{"names":[]}"#);
        let names = [&"a'b".into(), &Text::from_bytes(*b"\xff")];
        assert_eq!(shown(get_input(&names)), r#"{"names":["a'b","\udcff"]}"#);
        let should: Attributes = [
            ("s".to_owned(), AttributeValue::text("x\n")),
            ("b".to_owned(), AttributeValue::Boolean(true)),
            ("l".to_owned(), AttributeValue::Array(vec!["a,b".into()])),
        ]
        .into();
        let mut is = Resource::new("n".into());
        is.attributes.insert("s".to_owned(), AttributeValue::None);
        let expect = r#"{"ral":{"noop":false},"updates":[{"name":"n","is":{"s":null},"should":{"b":true,"l":["a,b"],"s":"x\n"}}]}"#;
        assert_eq!(shown(set_input(&"n".into(), Some(&is), &should, false)), expect);
        let expect = r#"{"ral":{"noop":true},"updates":[{"name":"n","should":{}}]}"#;
        assert_eq!(shown(set_input(&"n".into(), None, &Attributes::new(), true)), expect);
    }

    #[test]
    fn resources_are_read_by_type() {
        let got = found(r#"{"resources": [{"name": "x"}, {"name": "n", "s": 10, "b": "true", "l": ["a"], "z": 1, "ensure": null}]}"#, 0).unwrap();
        let resource = got.resource.unwrap();
        let shown: Vec<String> = resource.attributes.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        assert_eq!(shown, ["b=Boolean(true)", "ensure=None", r#"l=Array(["a"])"#, r#"s=Text("10")"#]);
        assert_eq!(got.warnings, ["the attribute `z` is not in the metadata, and is left out"]);
        let got = found(r#"{"resources": [{"name": "n", "b": ["x"], "ensure": "gone"}]}"#, 0).unwrap();
        assert_eq!(got.warnings.len(), 2, "{:?}", got.warnings);
        let all = run(list, r#" {"resources": [{"name": "b"}, {"name": "a"}], "more": 1} "#, 0).unwrap();
        assert_eq!(all.resources.iter().map(|one| one.name.to_string()).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(found(r#"{"resources": []}"#, 0).unwrap().resource, None);
    }

    #[test]
    fn changes_have_both_values() {
        let got =
            updated(r#"{"changes": [{"name": "n", "s": {"is": "b", "was": "a"}}, {"name": "m"}], "derive": true}"#, 0)
                .unwrap();
        let change =
            Change { attribute: "s".to_owned(), is: AttributeValue::text("b"), was: AttributeValue::text("a") };
        assert_eq!((got.changes, got.derive), (vec![change], false));
        assert_eq!(got.warnings, ["the update also changed `m`"]);
        assert!(updated(r#"{"derive": true}"#, 0).unwrap().derive);
        assert!(!updated("{}", 0).unwrap().derive);
        fails(updated(r#"{"changes": [{"name": "n", "s": {"is": "b"}}]}"#, 0), "the change of `s` has no `was`");
        fails(updated(r#"{"changes": [{"name": "n", "s": "b"}]}"#, 0), "the change of `s` has no `is`");
        fails(updated(r#"{"changes": [{"name": "n", "z": {"is": 1, "was": 2}}]}"#, 0), "not in the metadata");
        fails(updated(r#"{"derive": 1}"#, 0), "`derive` must be a boolean, not int");
    }

    #[test]
    fn errors_count() {
        let error = r#"{"error": {"message": "boom", "kind": "failed"}}"#;
        fails(found(error, 0), "the provider reported: boom");
        fails(found(error, 3), "the provider reported: boom");
        fails(run(list, error, 0), "the provider reported: boom");
        fails(updated(r#"{"error": {}}"#, 0), "an error without a message");
        fails(updated(r#"{"error": "boom"}"#, 0), "the provider reported: boom");
        let entry = r#"{"name": "n", "error": {"message": "boom", "kind": "KIND"}}"#;
        let get = |kind: &str| format!(r#"{{"resources": [{}]}}"#, entry.replace("KIND", kind));
        fails(found(&get("forbidden"), 0), "the provider reported: boom");
        assert_eq!(found(&get("unknown"), 0).unwrap().resource, None);
        fails(run(list, &get("failed"), 0), "`n`: boom");
        let set = |kind: &str| format!(r#"{{"changes": [{}]}}"#, entry.replace("KIND", kind));
        fails(updated(&set("forbidden"), 0), "the provider reported: boom");
        fails(updated(&set("unknown"), 0), "failed to update `n`: it does not exist");
    }

    #[test]
    fn other_output_is_refused() {
        fails(found("", 0), "it is not one JSON value: there is no output");
        fails(found("", 2), "exited with status 2");
        fails(found(r#"{"resources": []}"#, 2), "exited with status 2");
        fails(found("Traceback", 2), "is not one JSON value: Expecting value");
        fails(found("{} {}", 0), "Extra data");
        fails(found("[]", 0), "it must be an object, not list");
        fails(found("{}", 0), "`resources` is missing");
        fails(found(r#"{"resources": {}}"#, 0), "`resources` must be a list, not dict");
        fails(found(r#"{"resources": [1]}"#, 0), "an entry that is not an object: int");
        fails(found(r#"{"resources": [{"s": "x"}]}"#, 0), "has no `name`");
        fails(found(r#"{"resources": [{"name": "n", "s": 1.5}]}"#, 0), "the value of `s` has an invalid type: float");
        fails(found(r#"{"resources": [{"name": "n", "s": {}}]}"#, 0), "invalid type: dict");
        fails(found(r#"{"resources": [{"name": "n"}, {"name": "n"}]}"#, 0), "more than one resource");
        fails(found(&"[".repeat(100_000), 0), "is not one JSON value");
    }
}
