//! The text formats of `ralsh`, libral's own program.
//!
//! Values are written as they are, with all their bytes; the caller makes them safe for a terminal.

use crate::action::Action;
use crate::attribute::ValueError;
use crate::desired::GivenError;
use crate::failure::{OutputError, ProviderFailure};
use crate::metadata::{ENSURE, Metadata};
use crate::resource::{Change, Resource};
use crate::value::AttributeValue;

/// Returns a resource: its attributes with `ensure` first, if that is text.
#[must_use]
pub fn resource(qualified_name: &str, resource: &Resource) -> Vec<u8> {
    let mut text = format!("{qualified_name} {{ '").into_bytes();
    text.extend_from_slice(resource.name.as_bytes());
    text.extend_from_slice(b"':\n");
    let width = resource.attributes.keys().map(String::len).max().unwrap_or(0);
    let ensure = resource.attributes.get_key_value(ENSURE);
    let first = ensure.filter(|(_, value)| matches!(value, AttributeValue::Text(_)));
    // An `ensure` of another type is left out.
    for (name, value) in first.into_iter().chain(resource.attributes.iter().filter(|(name, _)| *name != ENSURE)) {
        text.extend_from_slice(format!("  {name:width$} => ").as_bytes());
        text.extend_from_slice(&value.to_quoted());
        text.extend_from_slice(b",\n");
    }
    text.extend_from_slice(b"}\n");
    text
}

/// Returns the changes of an update, a line each, and an empty line.
#[must_use]
pub fn changes(changes: &[Change]) -> Vec<u8> {
    let mut text = Vec::new();
    for change in changes {
        let parts = [change.attribute.as_bytes(), b"(", &change.was.to_plain(), b"->", &change.is.to_plain(), b")\n"];
        text.extend_from_slice(&parts.concat());
    }
    text.push(b'\n');
    text
}

/// Returns what a provider says about itself and its attributes.
#[must_use]
pub fn explanation(metadata: &Metadata, source: &str) -> String {
    let width = metadata.attributes.keys().map(String::len).max().unwrap_or(0);
    let mut text = format!("Provider {}\n  source: {source}\n{}\n", metadata.qualified_name(), metadata.description);
    for (name, attribute) in metadata.ordered_attributes() {
        text += &format!("  {name:width$} : {}\n", attribute.description);
        text += &format!("  {:width$}  . kind = {}\n", "", attribute.kind);
        text += &format!("  {:width$}  . type = {}\n", "", attribute.attribute_type);
    }
    text
}

/// Returns the message of a failure, without `failed: ` before it. `path` and `action` are of the program.
#[must_use]
pub fn failure(failure: &ProviderFailure, qualified_name: &str, path: &str, action: &str) -> String {
    match failure {
        // The actions of JSON have their own texts.
        ProviderFailure::Reported { message } if action == Action::Get.as_str() => {
            format!("[{qualified_name}] get failed with error {message}")
        }
        ProviderFailure::Reported { message } if action == Action::Set.as_str() => {
            format!("[{qualified_name}] update failed: {message}")
        }
        ProviderFailure::Status(status) if action == Action::Get.as_str() || action == Action::Set.as_str() => {
            format!("[{qualified_name}] action '{action}' exited with status {status}")
        }
        ProviderFailure::NotStarted(_) | ProviderFailure::Stopped(_) | ProviderFailure::Status(_) => {
            format!("Something went wrong running {path} ral_action={action}")
        }
        ProviderFailure::Reported { message } => message.to_string(),
        ProviderFailure::Output { problem, .. } => output_error(problem, qualified_name),
        ProviderFailure::Unknown(_) | ProviderFailure::Blind(_) => failure.to_string(),
    }
}

fn output_error(problem: &OutputError, qualified_name: &str) -> String {
    match problem {
        OutputError::Header(line) => format!("invalid line: '{line}'. Expected '# simple'"),
        OutputError::NoColon(line) => {
            format!("invalid line: '{line}'. Expected '<KEY>: <VALUE>' but couldn't find a ':'")
        }
        OutputError::BeforeName(_) => "format error: attribute values must come after the name".to_owned(),
        OutputError::WrongName { changed, name } => {
            format!("wrong name changed by update: '{changed}' instead of '{name}'")
        }
        OutputError::Twice(name) => format!("[{qualified_name}] more than one resource with name {name}"),
        other => other.to_string(),
    }
}

/// Returns the message for an attribute that cannot be set.
#[must_use]
pub fn given(error: &GivenError, qualified_name: &str) -> String {
    let attribute = error.attribute();
    let detail = match error {
        GivenError::Unknown { .. } => format!("there is no attribute '{attribute}'"),
        GivenError::Value { problem, .. } => wrong_value(problem),
        other => other.to_string(),
    };
    format!(
        "failed to read attribute {attribute}: {detail}\n\
         run 'ralsh -e {qualified_name}' to get a list of attributes and valid values\n"
    )
}

fn wrong_value(problem: &ValueError) -> String {
    match problem {
        ValueError::NotBoolean(_) => "invalid boolean: must be either 'true' or 'false'".to_owned(),
        ValueError::EmptyEntry(text) => format!("bad array: entries in '{text}' can not be blank"),
        ValueError::NotAnOption { text, .. } => format!("value '{text}' is not a legal value for this enum"),
        other => other.to_string(),
    }
}

/// Returns the message for a name that chooses no provider.
#[must_use]
pub fn unknown_provider(wanted: &str) -> String {
    format!("unknown provider: '{wanted}'\nrun 'ralsh' to see a list of all providers\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Attributes;
    use crate::text::Text;

    fn of(attributes: &[(&str, AttributeValue)]) -> Resource {
        let attributes: Attributes =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Resource { name: "it's".into(), attributes }
    }

    #[track_caller]
    fn check(attributes: &[(&str, AttributeValue)], expect: &str) {
        assert_eq!(String::from_utf8(resource("t::p", &of(attributes))).unwrap(), expect);
    }

    #[test]
    fn resources_are_aligned_with_ensure_first() {
        let text = AttributeValue::text;
        check(&[], "t::p { 'it's':\n}\n");
        let array = AttributeValue::Array(vec!["a".into(), "b".into()]);
        check(
            &[("a", text("1'2")), ("ensure", text("present")), ("long_name", array), ("none", AttributeValue::None)],
            "t::p { 'it's':\n  ensure    => 'present',\n  a         => '1'2',\n  long_name => ['a', 'b'],\n  \
             none      => (none),\n}\n",
        );
        check(
            &[("b", AttributeValue::Boolean(true)), ("ensure", AttributeValue::None)],
            "t::p { 'it's':\n  b      => true,\n}\n",
        );
        let other = Resource { name: Text::from_bytes(*b"\xff"), attributes: Attributes::new() };
        assert_eq!(resource("t::p", &other), b"t::p { '\xff':\n}\n");
    }

    #[test]
    fn changes_end_with_an_empty_line() {
        assert_eq!(changes(&[]), b"\n");
        let change = |attribute: &str, is, was| Change { attribute: attribute.to_owned(), is, was };
        let list = [
            change("a", AttributeValue::text("x y"), AttributeValue::None),
            change("b", AttributeValue::Boolean(false), AttributeValue::Boolean(true)),
        ];
        assert_eq!(changes(&list), b"a((none)->x y)\nb(true->false)\n\n");
    }

    #[test]
    fn providers_are_explained() {
        let yaml = "provider: {type: t, desc: Things., invoke: simple, suitable: true, attributes: \
            {a: {desc: first}, name: {desc: the name}, ensure: {type: 'enum[a,b]', kind: r}}}";
        let metadata = Metadata::from_yaml(yaml.as_bytes(), "p").unwrap();
        let expect = "Provider t::p\n  source: /x/p.prov\nThings.\n  name   : the name\n          . kind = rw\n          . type = string\n  \
            ensure : (missing description)\n          . kind = r\n          . type = enum[a, b]\n  a      : first\n          . kind = rw\n          . type = string\n";
        assert_eq!(explanation(&metadata, "/x/p.prov"), expect);
    }

    #[test]
    fn failures_have_the_texts_of_ralsh() {
        let output = |problem| ProviderFailure::Output { problem, status: 0 };
        for (error, expect) in [
            (ProviderFailure::Status(3), "Something went wrong running /p ral_action=find"),
            (ProviderFailure::Reported { message: "boom".into() }, "boom"),
            (output(OutputError::Header("x".into())), "invalid line: 'x'. Expected '# simple'"),
            (
                output(OutputError::NoColon("x".into())),
                "invalid line: 'x'. Expected '<KEY>: <VALUE>' but couldn't find a ':'",
            ),
            (
                output(OutputError::BeforeName("x".to_owned())),
                "format error: attribute values must come after the name",
            ),
            (output(OutputError::Twice("x".into())), "[t::p] more than one resource with name x"),
            (
                output(OutputError::WrongName { changed: "a".into(), name: "b".into() }),
                "wrong name changed by update: 'a' instead of 'b'",
            ),
        ] {
            assert_eq!(failure(&error, "t::p", "/p", "find"), expect);
        }
        let reported = ProviderFailure::Reported { message: "boom".into() };
        assert_eq!(failure(&reported, "t::p", "/p", "get"), "[t::p] get failed with error boom");
        assert_eq!(failure(&reported, "t::p", "/p", "set"), "[t::p] update failed: boom");
        assert_eq!(
            failure(&ProviderFailure::Status(3), "t::p", "/p", "set"),
            "[t::p] action 'set' exited with status 3"
        );
        let wrong = |problem| {
            let text = given(&GivenError::Value { attribute: "a".to_owned(), problem }, "t::p");
            text.lines().next().unwrap_or_default().to_owned()
        };
        let start = "failed to read attribute a: ";
        assert_eq!(
            wrong(ValueError::NotBoolean("x".to_owned())),
            format!("{start}invalid boolean: must be either 'true' or 'false'")
        );
        assert_eq!(
            wrong(ValueError::EmptyEntry("a,".to_owned())),
            format!("{start}bad array: entries in 'a,' can not be blank")
        );
        let option = ValueError::NotAnOption { text: "x".to_owned(), options: Vec::new() };
        assert_eq!(wrong(option), format!("{start}value 'x' is not a legal value for this enum"));
        let unknown = GivenError::Unknown { attribute: "z".to_owned(), provider: "t::p".to_owned(), known: Vec::new() };
        let expect = "failed to read attribute z: there is no attribute 'z'\nrun 'ralsh -e t::p' to get a list of attributes and valid values\n";
        assert_eq!(given(&unknown, "t::p"), expect);
        assert_eq!(unknown_provider("x"), "unknown provider: 'x'\nrun 'ralsh' to see a list of all providers\n");
    }
}
