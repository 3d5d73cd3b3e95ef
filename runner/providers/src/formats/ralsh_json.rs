//! The JSON format of `ralsh`, libral's own program: one compact object on one line, in ASCII.

use modbox_contract::{Dict, Value, encode};

use crate::metadata::Metadata;
use crate::resource::{Change, Resource};
use crate::update::UpdateResult;
use crate::value::AttributeValue;

/// The text in place of a missing value.
const NONE: &str = "__none__";

/// How a missing value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoneForm {
    /// As `null`.
    Null,
    /// As the text `__none__`, as `ralsh` does.
    Text,
}

/// Provider in a list.
#[derive(Debug, Clone, Copy)]
pub struct ListedProvider<'a> {
    /// Its declaration.
    pub metadata: &'a Metadata,
    /// Path of its file.
    pub source: &'a str,
    /// Whether it works here.
    pub suitable: bool,
}

/// Returns the list of providers.
#[must_use]
pub fn providers(providers: &[ListedProvider<'_>]) -> Value {
    [("providers", providers.iter().map(provider).collect::<Vec<_>>())].into()
}

/// Returns one provider, with its attributes.
#[must_use]
pub fn provider(listed: &ListedProvider<'_>) -> Value {
    let metadata = listed.metadata;
    let attributes = metadata.attributes.iter().map(|(name, attribute)| -> Value {
        [
            ("name", name.as_str()),
            ("desc", &attribute.description),
            ("type", &attribute.attribute_type.to_string()),
            ("kind", &attribute.kind.to_string()),
        ]
        .into()
    });
    [
        ("name", Value::from(metadata.qualified_name())),
        ("type", metadata.resource_type.as_str().into()),
        ("source", listed.source.into()),
        ("desc", metadata.description.as_str().into()),
        ("suitable", listed.suitable.into()),
        ("attributes", attributes.collect::<Vec<_>>().into()),
    ]
    .into()
}

/// Returns the answer of `list`.
#[must_use]
pub fn list(metadata: &Metadata, resources: &[Resource], none: NoneForm) -> Value {
    [("resources", resources.iter().map(|one| resource(metadata, one, none)).collect::<Vec<_>>())].into()
}

/// Returns the answer of `find`; an empty object if there is no such resource.
#[must_use]
pub fn find(metadata: &Metadata, found: Option<&Resource>, none: NoneForm) -> Value {
    let entry = found.map(|found| ("resource".to_owned(), resource(metadata, found, none)));
    Dict::from_iter(entry).into()
}

/// Returns the answer of `update`.
#[must_use]
pub fn update(metadata: &Metadata, result: &UpdateResult, none: NoneForm) -> Value {
    let changes: Vec<Value> = result.changes.iter().map(|one| change(one, none)).collect();
    let entry: Value = [("resource", resource(metadata, &result.resource, none)), ("changes", changes.into())].into();
    [("result", vec![entry])].into()
}

/// Returns the answer of an action that failed.
#[must_use]
pub fn error(message: &str) -> Value {
    let error: Value = [("message", format!("failed: {message}"))].into();
    [("error", error)].into()
}

fn resource(metadata: &Metadata, resource: &Resource, none: NoneForm) -> Value {
    let mut entries = resource.to_dict();
    for (name, attribute) in resource.attributes.iter().filter(|(_, attribute)| **attribute == AttributeValue::None) {
        entries.insert(name.clone(), value(attribute, none));
    }
    let about: Value = [("type", metadata.resource_type.clone()), ("provider", metadata.qualified_name())].into();
    entries.insert("ral".to_owned(), about);
    entries.into()
}

fn change(change: &Change, none: NoneForm) -> Value {
    let attribute = Value::from(change.attribute.as_str());
    [("attr", attribute), ("is", value(&change.is, none)), ("was", value(&change.was, none))].into()
}

fn value(value: &AttributeValue, none: NoneForm) -> Value {
    match (value, none) {
        (AttributeValue::None, NoneForm::Text) => NONE.into(),
        (value, _) => value.to_value(),
    }
}

/// Writes a value without blanks.
#[must_use]
pub fn compact(value: &Value) -> String {
    match value {
        Value::List(items) => format!("[{}]", items.iter().map(compact).collect::<Vec<_>>().join(",")),
        Value::Dict(entries) => {
            let entry =
                |(key, value): (&String, &Value)| format!("{}:{}", encode(&key.as_str().into()), compact(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
        }
        scalar => encode(scalar),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn metadata() -> Metadata {
        let yaml =
            "provider: {type: t, desc: D, invoke: simple, suitable: true, attributes: {name: , a: {type: boolean}}}";
        Metadata::from_yaml(yaml.as_bytes(), "p").unwrap()
    }

    fn thing() -> Resource {
        let attributes = [("z", AttributeValue::None), ("a", AttributeValue::Boolean(true))];
        let attributes = attributes.map(|(name, value)| (name.to_owned(), value)).into();
        Resource { name: "n\u{e9}\n".into(), attributes }
    }

    #[test]
    fn answers_are_compact() {
        let (metadata, none) = (metadata(), NoneForm::Text);
        let resource = r#"{"name":"n\u00e9\n","a":true,"z":"__none__","ral":{"type":"t","provider":"t::p"}}"#;
        assert_eq!(compact(&find(&metadata, Some(&thing()), none)), format!(r#"{{"resource":{resource}}}"#));
        assert_eq!(compact(&find(&metadata, None, none)), "{}");
        assert_eq!(compact(&list(&metadata, &[thing()], none)), format!(r#"{{"resources":[{resource}]}}"#));
        assert_eq!(compact(&list(&metadata, &[], none)), r#"{"resources":[]}"#);
        let change = Change { attribute: "a".to_owned(), is: AttributeValue::Boolean(true), was: AttributeValue::None };
        let result = UpdateResult { resource: thing(), changes: vec![change] };
        let changes = r#""changes":[{"attr":"a","is":true,"was":"__none__"}]"#;
        let expect = format!(r#"{{"result":[{{"resource":{resource},{changes}}}]}}"#);
        assert_eq!(compact(&update(&metadata, &result, none)), expect);
        assert!(compact(&update(&metadata, &result, NoneForm::Null)).contains(r#""is":true,"was":null"#));
        assert_eq!(compact(&error("boom")), r#"{"error":{"message":"failed: boom"}}"#);
    }

    #[test]
    fn providers_are_listed() {
        let metadata = metadata();
        let listed = ListedProvider { metadata: &metadata, source: "/x", suitable: true };
        let expect = r#"{"providers":[{"name":"t::p","type":"t","source":"/x","desc":"D","suitable":true,"attributes":[{"name":"a","desc":"(missing description)","type":"boolean","kind":"rw"},{"name":"name","desc":"(missing description)","type":"string","kind":"rw"}]}]}"#;
        assert_eq!(compact(&providers(&[listed])), expect);
    }

    #[test]
    fn other_bytes_stay_ascii() {
        let other = Resource { name: Text::from_bytes(*b"\xff"), attributes: Default::default() };
        assert!(compact(&find(&metadata(), Some(&other), NoneForm::Null)).contains(r#""name":"\udcff""#));
    }
}
