//! The declaration of a provider: its type, its calling convention, its attributes, and where it works.
//!
//! It comes from the file beside the provider, from the action `describe`, or from the section of a component. All of
//! them are untrusted: the size is bounded, and each mistake is an error. Unknown keys are ignored, so that a provider
//! for modbox stays one for libral. Two keys are modbox's own: `noop_safe` of the provider, and `access` of an
//! attribute.

use std::collections::BTreeMap;

use modbox_contract::{Dict, Value, python_str};
use thiserror::Error;

use crate::action::Convention;
use crate::attribute::{Attribute, AttributeKind, AttributeType, PathAccess, ValueError};
use crate::suitability::SuitableRule;

/// The longest metadata. Those of libral have a hundredth of it.
pub const MAX_METADATA_BYTES: usize = 1 << 20;

/// Attributes of one provider.
const MAX_ATTRIBUTES: usize = 1024;

/// The attribute that every provider has.
pub(crate) const NAME: &str = "name";

/// The attribute that says whether a resource exists.
pub(crate) const ENSURE: &str = "ensure";

/// Description of an attribute that has none.
const NO_DESCRIPTION: &str = "(missing description)";

/// Declaration of a provider. It is a claim of the provider and grants nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// Type of the resources, such as `service`.
    pub resource_type: String,
    /// Name of the provider among those of its type.
    pub name: String,
    /// What it manages.
    pub description: String,
    /// How it is called.
    pub convention: Convention,
    /// Attributes of a resource.
    pub attributes: BTreeMap<String, Attribute>,
    /// Where it works.
    pub suitable: SuitableRule,
    /// Whether the provider promises to change nothing when `ral_noop` is set.
    pub noop_safe: bool,
}

/// An error in metadata.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MetadataError {
    /// The text is too long.
    #[error("the metadata has {0} bytes, where at most {MAX_METADATA_BYTES} are allowed")]
    TooLong(usize),
    /// The text is not UTF-8.
    #[error("the metadata is not UTF-8")]
    NotText,
    /// The text is not YAML.
    #[error("the metadata is not YAML: {0}")]
    Yaml(String),
    /// A value has another type, or is missing.
    #[error("`{key}` in the metadata {problem}")]
    Value {
        /// Place of the value, such as `provider.type`.
        key: String,
        /// What is wrong.
        problem: String,
    },
    /// An attribute is wrong.
    #[error("the attribute `{attribute}` in the metadata is wrong: {problem}")]
    Attribute {
        /// Name of the attribute.
        attribute: String,
        /// What is wrong.
        problem: String,
    },
}

impl Metadata {
    /// Reads metadata from YAML. `stem` is the name of the provider's file without its extension, and the provider's
    /// name unless the metadata has another.
    ///
    /// # Errors
    ///
    /// The text is too long, not UTF-8 or not YAML, or says something that is not valid.
    pub fn from_yaml(yaml: &[u8], stem: &str) -> Result<Self, MetadataError> {
        if yaml.len() > MAX_METADATA_BYTES {
            return Err(MetadataError::TooLong(yaml.len()));
        }
        let text = str::from_utf8(yaml).map_err(|_| MetadataError::NotText)?;
        let value: Value = serde_saphyr::from_str(text)
            .map_err(|error| MetadataError::Yaml(error.without_snippet().to_string().replace('\n', " ")))?;
        let provider = value.as_dict().ok_or_else(|| wrong("the whole document", "must be a map"))?.get("provider");
        Self::from_value(provider.ok_or_else(|| wrong("provider", "is missing"))?, stem)
    }

    /// Reads metadata from the map below the key `provider`. `stem` is as for [`Self::from_yaml`].
    ///
    /// # Errors
    ///
    /// The value says something that is not valid.
    pub fn from_value(provider: &Value, stem: &str) -> Result<Self, MetadataError> {
        let provider = provider.as_dict().ok_or_else(|| wrong("provider", "must be a map"))?;
        let text = |key: &str| text_of(provider, key);
        let resource_type = text("type")?.ok_or_else(|| wrong("provider.type", "is missing"))?;
        let convention = match text("invoke")?.as_deref() {
            Some("simple") => Convention::Simple,
            Some("json") => Convention::Json,
            Some(other) => {
                return Err(wrong("provider.invoke", &format!("is `{other}`; expected one of simple, json")));
            }
            None => return Err(wrong("provider.invoke", "is missing; expected one of simple, json")),
        };
        let name = text("name")?.unwrap_or_else(|| stem.to_owned());
        for (key, value) in [("provider.type", &resource_type), ("provider.name", &name)] {
            check_word(value).map_err(|problem| wrong(key, problem))?;
        }
        let suitable = provider.get("suitable").filter(|value| **value != Value::Null);
        let suitable = suitable.ok_or_else(|| wrong("provider.suitable", "is missing"))?;
        Ok(Self {
            suitable: SuitableRule::from_value(suitable).map_err(|problem| wrong("provider.suitable", &problem))?,
            attributes: attributes(provider)?,
            description: provider.get("desc").map(described).unwrap_or_default(),
            noop_safe: flag(provider, "noop_safe")?,
            resource_type,
            name,
            convention,
        })
    }

    /// Returns the name by which a provider is chosen among all: `TYPE::NAME`.
    #[must_use]
    pub fn qualified_name(&self) -> String {
        format!("{}::{}", self.resource_type, self.name)
    }

    /// Returns the attributes in the order for people: the name, then whether it exists, then the others.
    pub fn ordered_attributes(&self) -> impl Iterator<Item = (&str, &Attribute)> {
        let rank = |name: &str| match name {
            NAME => 0,
            ENSURE => 1,
            _ => 2,
        };
        let mut ordered: Vec<_> = self.attributes.iter().map(|(name, attribute)| (name.as_str(), attribute)).collect();
        ordered.sort_by_key(|(name, _)| rank(name));
        ordered.into_iter()
    }
}

fn wrong(key: &str, problem: &str) -> MetadataError {
    MetadataError::Value { key: key.to_owned(), problem: problem.to_owned() }
}

fn text_of(provider: &Dict, key: &str) -> Result<Option<String>, MetadataError> {
    match provider.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.clone())),
        Some(other) => Err(wrong(&format!("provider.{key}"), &format!("must be a string, not {}", other.type_name()))),
    }
}

fn flag(provider: &Dict, key: &str) -> Result<bool, MetadataError> {
    match provider.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(truth)) => Ok(*truth),
        Some(other) => {
            Err(wrong(&format!("provider.{key}"), &format!("must be true or false, not {}", python_str(other))))
        }
    }
}

/// Returns a description, which may be any scalar.
fn described(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        value => python_str(value).trim().to_owned(),
    }
}

fn attributes(provider: &Dict) -> Result<BTreeMap<String, Attribute>, MetadataError> {
    const KEY: &str = "provider.attributes";
    let entries = provider.get("attributes").ok_or_else(|| wrong(KEY, "is missing"))?;
    let entries = entries.as_dict().ok_or_else(|| wrong(KEY, "must be a map"))?;
    if entries.len() > MAX_ATTRIBUTES {
        return Err(wrong(KEY, &format!("has more than {MAX_ATTRIBUTES} entries")));
    }
    if !entries.contains_key(NAME) {
        return Err(wrong(KEY, "must contain `name`"));
    }
    let mut attributes = BTreeMap::new();
    for (name, value) in entries {
        let problem = |problem: String| MetadataError::Attribute { attribute: name.clone(), problem };
        check_attribute_name(name).map_err(|reason| problem(reason.to_owned()))?;
        attributes.insert(name.clone(), attribute(value).map_err(problem)?);
    }
    Ok(attributes)
}

fn attribute(value: &Value) -> Result<Attribute, String> {
    let none = Dict::new();
    let entries = match value {
        Value::Null => &none,
        value => value.as_dict().ok_or("it must be a map, or empty")?,
    };
    let word = |key: &str| match entries.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(format!("`{key}` must be a string, not {}", other.type_name())),
    };
    let described = entries.get("desc").map(described).filter(|text| !text.is_empty());
    let say = |error: ValueError| error.to_string();
    let attribute = Attribute {
        description: described.unwrap_or_else(|| NO_DESCRIPTION.to_owned()),
        attribute_type: word("type")?.unwrap_or("string").parse::<AttributeType>().map_err(say)?,
        kind: word("kind")?.unwrap_or("rw").parse::<AttributeKind>().map_err(say)?,
        access: word("access")?.map(str::parse::<PathAccess>).transpose().map_err(say)?,
    };
    match (&attribute.attribute_type, attribute.access) {
        (AttributeType::Boolean | AttributeType::Enum(_), Some(_)) => {
            Err("`access` is only for attributes of type string or array[string]".to_owned())
        }
        _ => Ok(attribute),
    }
}

/// Checks a type or a name, which are words of a command line and parts of a qualified name.
fn check_word(word: &str) -> Result<(), &'static str> {
    match word {
        "" => Err("is empty"),
        word if word.chars().any(|c| c.is_whitespace() || c.is_control()) => Err("has a blank or a control character"),
        _ => Ok(()),
    }
}

/// Checks the name of an attribute. It is the part of a word before `=`, and of a line before `:`; names that begin with
/// `ral` or `__` are the convention's own.
fn check_attribute_name(name: &str) -> Result<(), &'static str> {
    let is_bad =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '=' | ':' | '\'' | '"' | '\\' | '`' | '$' | '#');
    match name {
        "" => Err("its name is empty"),
        "ral" => Err("the name is reserved"),
        name if name.starts_with("ral_") || name.starts_with("__") => Err("the name is reserved"),
        name if name.contains(is_bad) => Err("its name has a character that no name may have"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suitability::CommandRule;

    const SERVICE: &str = "---
provider:
  type: service
  desc: |
    Services of systemd.
  invoke: simple
  actions: [list, find, update]
  suitable:
    commands: [systemctl, not initctl]
  unknown: {a: 1}
  attributes:
    name:
    ensure:
      desc: whether it runs
      type: enum[running, stopped]
      kind: rw
      flavour: sweet
    file:
      type: string
      access: write
";

    #[test]
    fn metadata_of_a_real_provider_is_read() {
        let metadata = Metadata::from_yaml(SERVICE.as_bytes(), "systemd").unwrap();
        assert_eq!(metadata.qualified_name(), "service::systemd");
        assert_eq!((metadata.convention, metadata.noop_safe), (Convention::Simple, false));
        assert_eq!(metadata.description, "Services of systemd.");
        let rule = |command: &str, wanted| CommandRule { command: command.to_owned(), wanted };
        assert_eq!(metadata.suitable, SuitableRule::Commands(vec![rule("systemctl", true), rule("initctl", false)]));
        let order: Vec<&str> = metadata.ordered_attributes().map(|(name, _)| name).collect();
        assert_eq!(order, ["name", "ensure", "file"]);
        let name = &metadata.attributes["name"];
        assert_eq!(
            (name.description.as_str(), &name.attribute_type),
            ("(missing description)", &AttributeType::String)
        );
        assert_eq!((name.kind, name.access), (AttributeKind::ReadWrite, None));
        assert_eq!(metadata.attributes["file"].access, Some(PathAccess::Write));
    }

    #[track_caller]
    fn check(yaml: &str, expect: &str) {
        let error = Metadata::from_yaml(yaml.as_bytes(), "x").expect_err(yaml).to_string();
        assert!(error.contains(expect), "{yaml}: {error}");
    }

    /// Checks the metadata with one line in place of another.
    #[track_caller]
    fn check_changed(from: &str, to: &str, expect: &str) {
        assert!(SERVICE.contains(from), "{from}");
        check(&SERVICE.replace(from, to), expect);
    }

    #[test]
    fn mistakes_are_named() {
        check("", "the whole document");
        check("[]", "the whole document");
        check("a: [", "is not YAML");
        check("other: {}", "`provider` in the metadata is missing");
        check("provider: 1", "`provider` in the metadata must be a map");
        check("provider: {}", "`provider.type` in the metadata is missing");
        check_changed("type: service", "type: [a]", "must be a string, not list");
        check_changed("type: service", "type: a b", "has a blank");
        check_changed("type: service", "type: ''", "`provider.type` in the metadata is empty");
        check_changed("invoke: simple", "invoke: native", "is `native`; expected one of simple, json");
        check_changed("invoke: simple", "x: y", "`provider.invoke` in the metadata is missing");
        check_changed(
            "  suitable:\n    commands: [systemctl, not initctl]\n",
            "",
            "`provider.suitable` in the metadata is missing",
        );
        check_changed("[systemctl, not initctl]", "7", "must be true, false");
        check_changed("  unknown: {a: 1}", "  noop_safe: maybe", "must be true or false, not maybe");
        check_changed("    name:\n", "", "must contain `name`");
        check_changed("    name:\n", "    name: [x]\n", "it must be a map, or empty");
        check_changed("enum[running, stopped]", "int", "`ensure` in the metadata is wrong: unknown type `int`");
        check_changed("kind: rw", "kind: x", "unknown kind `x`");
        check_changed("access: write", "access: all", "unknown access `all`");
        check_changed("type: string\n", "type: boolean\n", "`access` is only for");
        check_changed("kind: rw", "kind: {}", "`kind` must be a string, not dict");
        for reserved in ["ral", "ral_x", "__x"] {
            check_changed("    file:", &format!("    {reserved}:"), "the name is reserved");
        }
        for bad in ["'a b'", "'a=b'", "'a:b'", "'a''b'", "'$a'"] {
            check_changed("    file:", &format!("    {bad}:"), "a character that no name may have");
        }
    }

    #[test]
    fn hostile_documents_are_refused() {
        assert_eq!(
            Metadata::from_yaml(&vec![b' '; MAX_METADATA_BYTES + 1], "x"),
            Err(MetadataError::TooLong(MAX_METADATA_BYTES + 1))
        );
        assert_eq!(Metadata::from_yaml(b"\xff", "x"), Err(MetadataError::NotText));
        let bomb = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
            let before = n - 1;
            text + &format!("a{n}: &a{n} [*a{before}, *a{before}]\n")
        });
        assert!(Metadata::from_yaml(bomb.as_bytes(), "x").is_err());
        assert!(Metadata::from_yaml("[".repeat(100_000).as_bytes(), "x").is_err());
        let many: String = (0..=MAX_ATTRIBUTES).map(|n| format!("    a{n}:\n")).collect();
        check_changed("    name:\n", &format!("    name:\n{many}"), "has more than 1024 entries");
    }

    #[test]
    fn the_name_is_that_of_the_metadata_or_of_the_file() {
        let named = SERVICE.replace("  type: service", "  type: service\n  name: other\n  noop_safe: true");
        let metadata = Metadata::from_yaml(named.as_bytes(), "x").unwrap();
        assert_eq!((metadata.qualified_name().as_str(), metadata.noop_safe), ("service::other", true));
        assert!(Metadata::from_yaml(SERVICE.as_bytes(), "a b").unwrap_err().to_string().contains("`provider.name`"));
    }
}
