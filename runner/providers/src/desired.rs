//! The attributes that a caller sets, checked against the metadata before anything runs.

use modbox_contract::Dict;
use thiserror::Error;

use crate::attribute::{Attribute, AttributeKind, ValueError};
use crate::metadata::{Metadata, NAME};
use crate::resource::Attributes;
use crate::text::Text;
use crate::value::AttributeValue;

/// Reason why an attribute cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GivenError {
    /// The word has no `=`.
    #[error("failed to read `{0}`: it has no `=`; write ATTRIBUTE=VALUE")]
    NoValue(String),
    /// The name chooses the resource.
    #[error("failed to set `name`: it chooses the resource; write it once, before the attributes")]
    Name,
    /// The attribute is unknown.
    #[error("failed to set `{attribute}`: {provider} has no such attribute; expected one of {}", known.join(", "))]
    Unknown {
        /// The attribute.
        attribute: String,
        /// Qualified name of the provider.
        provider: String,
        /// The attributes that can be set.
        known: Vec<String>,
    },
    /// The attribute can only be read.
    #[error("failed to set `{0}`: it can only be read")]
    ReadOnly(String),
    /// The attribute is given more than once.
    #[error("failed to set `{0}`: it is given more than once; leave one")]
    Twice(String),
    /// The value is not valid.
    #[error("failed to set `{attribute}`: {problem}")]
    Value {
        /// The attribute.
        attribute: String,
        /// What is wrong.
        problem: ValueError,
    },
}

impl GivenError {
    /// Returns the attribute that is wrong.
    #[must_use]
    pub fn attribute(&self) -> &str {
        match self {
            Self::NoValue(word) => word,
            Self::Name => NAME,
            Self::Unknown { attribute, .. } | Self::Value { attribute, .. } => attribute,
            Self::ReadOnly(attribute) | Self::Twice(attribute) => attribute,
        }
    }
}

/// Reads words of the form `attribute=value`.
///
/// # Errors
///
/// A word of another form, or an attribute that cannot be set to the value.
pub fn parse_given(metadata: &Metadata, words: &[Text]) -> Result<Attributes, GivenError> {
    let mut given = Attributes::new();
    for word in words {
        let bytes = word.as_bytes();
        let no_value = || GivenError::NoValue(word.to_string());
        let at = bytes.iter().position(|byte| *byte == b'=').ok_or_else(no_value)?;
        let attribute = String::from_utf8_lossy(&bytes[..at]).into_owned();
        let parsed = settable(metadata, &attribute)?.attribute_type.parse(&Text::from_bytes(&bytes[at + 1..]));
        let value = parsed.map_err(|problem| GivenError::Value { attribute: attribute.clone(), problem })?;
        if given.insert(attribute.clone(), value).is_some() {
            return Err(GivenError::Twice(attribute));
        }
    }
    Ok(given)
}

/// Reads attributes from JSON, as tasks of plays give them. An integer is its decimal text.
///
/// # Errors
///
/// An attribute that cannot be set to the value.
pub fn read_given(metadata: &Metadata, entries: &Dict) -> Result<Attributes, GivenError> {
    let mut given = Attributes::new();
    for (attribute, value) in entries {
        let declared = settable(metadata, attribute)?;
        let wrong = |problem| GivenError::Value { attribute: attribute.clone(), problem };
        let plain = AttributeValue::from_value(value).filter(|plain| *plain != AttributeValue::None);
        let plain = plain.ok_or_else(|| wrong(ValueError::WrongType(value.type_name())))?;
        given.insert(attribute.clone(), declared.attribute_type.convert(plain).map_err(wrong)?);
    }
    Ok(given)
}

/// Returns the declaration of an attribute that can be set.
fn settable<'a>(metadata: &'a Metadata, attribute: &str) -> Result<&'a Attribute, GivenError> {
    if attribute == NAME {
        return Err(GivenError::Name);
    }
    let declared = metadata.attributes.get(attribute).ok_or_else(|| unknown(metadata, attribute))?;
    match declared.kind {
        AttributeKind::Read => Err(GivenError::ReadOnly(attribute.to_owned())),
        AttributeKind::Write | AttributeKind::ReadWrite => Ok(declared),
    }
}

fn unknown(metadata: &Metadata, attribute: &str) -> GivenError {
    let can_be_set =
        metadata.ordered_attributes().filter(|(name, declared)| *name != NAME && declared.kind != AttributeKind::Read);
    GivenError::Unknown {
        attribute: attribute.to_owned(),
        provider: metadata.qualified_name(),
        known: can_be_set.map(|(name, _)| name.to_owned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = "provider: {type: t, invoke: simple, suitable: true, attributes: {name: , s: , \
        l: {type: 'array[string]'}, r: {kind: r}, w: {kind: w}, b: {type: boolean}, ensure: {type: 'enum[present, absent]'}}}";

    fn parse(words: &[&str]) -> Result<Attributes, GivenError> {
        let words: Vec<Text> = words.iter().map(|word| (*word).into()).collect();
        parse_given(&Metadata::from_yaml(METADATA.as_bytes(), "p").unwrap(), &words)
    }

    #[test]
    fn words_are_split_once() {
        let given = parse(&["s=a=b 'c'", "b=TRUE", "w="]).unwrap();
        let expect = [
            ("b".to_owned(), AttributeValue::Boolean(true)),
            ("s".to_owned(), AttributeValue::text("a=b 'c'")),
            ("w".to_owned(), AttributeValue::text("")),
        ];
        assert_eq!(given, expect.into());
    }

    #[test]
    fn mistakes_are_named() {
        for (words, expect) in [
            (&["s"][..], "failed to read `s`: it has no `=`"),
            (&["name=x"], "failed to set `name`: it chooses the resource"),
            (&["z=1"], "failed to set `z`: t::p has no such attribute; expected one of ensure, b, l, s, w"),
            (&["=1"], "failed to set ``"),
            (&["r=1"], "failed to set `r`: it can only be read"),
            (&["s=1", "s=1"], "failed to set `s`: it is given more than once"),
            (&["b=yes"], "failed to set `b`: `yes` is not a boolean"),
            (&["ensure=running"], "failed to set `ensure`: unknown value `running`; expected one of present, absent"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.to_string().contains(expect), "{words:?}: {error}");
        }
        assert_eq!(parse(&["b=yes"]).unwrap_err().attribute(), "b");
    }

    #[test]
    fn values_of_json_are_read_by_type() {
        let read = |json: &str| {
            let metadata = Metadata::from_yaml(METADATA.as_bytes(), "p").unwrap();
            read_given(&metadata, modbox_contract::decode(json).unwrap().as_dict().unwrap())
        };
        let given = read(r#"{"s": 10, "b": "TRUE", "w": false, "ensure": "absent", "l": ["a", "b"]}"#).unwrap();
        let shown: Vec<String> = given.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(shown, ["b=true", "ensure=absent", "l=['a', 'b']", "s=10", "w=false"]);
        assert_eq!(read(r#"{"l": "a, b"}"#), read(r#"{"l": ["a", "b"]}"#));
        for (json, expect) in [
            (r#"{"name": "x"}"#, "failed to set `name`: it chooses the resource"),
            (r#"{"z": 1}"#, "t::p has no such attribute"),
            (r#"{"r": 1}"#, "failed to set `r`: it can only be read"),
            (r#"{"s": null}"#, "failed to set `s`: NoneType is not a value of an attribute; expected a string"),
            (r#"{"s": 1.5}"#, "failed to set `s`: float is not a value"),
            (r#"{"s": {"a": 1}}"#, "failed to set `s`: dict is not a value"),
            (r#"{"l": [1]}"#, "failed to set `l`: list is not a value"),
            (r#"{"s": ["a"]}"#, "failed to set `s`: `['a']` is not a value of type string"),
            (r#"{"b": "yes"}"#, "failed to set `b`: `yes` is not a boolean"),
        ] {
            let error = read(json).expect_err(json).to_string();
            assert!(error.contains(expect), "{json}: {error}");
        }
    }
}
