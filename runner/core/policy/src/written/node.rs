//! YAML values with their positions in the file, so that every error can name its line.
//!
//! Scalars keep their original text: `NO` is a name and not a bool, and `1_000` stays `1_000`. The caller decides which
//! type a value has to have.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

/// A position in a file, counted from 1. 0 when it is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The number of the line, from 1.
    pub line: u64,
    /// The number of the character in the line, from 1.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

/// A value with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    /// What is written there.
    pub value: T,
    /// The position.
    pub place: Place,
}

/// A YAML value.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    Null,
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<(Located<String>, Node)>),
}

impl Content {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Scalar(_) => "a scalar",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

impl Node {
    /// Returns whether this is one word.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(&self.content, Content::Scalar(text) if text == word)
    }

    /// Parses one YAML document.
    pub(crate) fn parse(text: &str) -> Result<Self, serde_saphyr::Error> {
        let raw: LocatedValue = serde_saphyr::from_str(text)?;
        Ok(Self::convert(raw, text))
    }

    fn convert(LocatedValue(raw): LocatedValue, text: &str) -> Self {
        let place = raw.referenced.into();
        let written = || {
            let span = raw.defined.span();
            let start = usize::try_from(span.byte_offset()?).ok()?;
            text.get(start..start.checked_add(usize::try_from(span.byte_len()?).ok()?)?)
        };
        let content = match raw.value {
            Raw::Null => Content::Null,
            Raw::Text(text) => Content::Scalar(text),
            Raw::Typed(typed) => Content::Scalar(written().map_or(typed, str::to_owned)),
            Raw::List(items) => Content::List(items.into_iter().map(|item| Self::convert(item, text)).collect()),
            Raw::Map(entries) => {
                let entry = |(key, value): (Spanned<String>, LocatedValue)| {
                    (Located { value: key.value, place: key.referenced.into() }, Self::convert(value, text))
                };
                Content::Map(entries.into_iter().map(entry).collect())
            }
        };
        Self { place, content }
    }
}

impl<'de> Deserialize<'de> for Node {
    /// Deserializes a value that is not in a file, such as one of a job. It has no position.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let place = Place::default();
        let content = match Raw::<String, Self>::deserialize(deserializer)? {
            Raw::Null => Content::Null,
            Raw::Text(text) | Raw::Typed(text) => Content::Scalar(text),
            Raw::List(items) => Content::List(items),
            Raw::Map(entries) => {
                Content::Map(entries.into_iter().map(|(value, node)| (Located { value, place }, node)).collect())
            }
        };
        Ok(Self { place, content })
    }
}

/// A value in a YAML file.
#[derive(Deserialize)]
#[serde(transparent)]
struct LocatedValue(Spanned<Raw<Spanned<String>, LocatedValue>>);

/// A value from the YAML parser, with keys `K` and values `V`.
enum Raw<K, V> {
    Null,
    Text(String),
    /// A number or a bool, which the author may have meant as text.
    Typed(String),
    List(Vec<V>),
    Map(Vec<(K, V)>),
}

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Raw<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor(PhantomData))
    }
}

struct RawVisitor<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for RawVisitor<K, V> {
    type Value = Raw<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: Error>(self) -> Result<Raw<K, V>, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Raw<K, V>, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw<K, V>, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Raw<K, V>, E> {
        Ok(Raw::Typed(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Raw<K, V>, E> {
        Ok(Raw::Typed(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Raw<K, V>, E> {
        Ok(Raw::Typed(value.to_string()))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Raw<K, V>, E> {
        Ok(Raw::Typed(value.to_string()))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Raw<K, V>, E> {
        Ok(Raw::Typed(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Raw<K, V>, E> {
        Ok(Raw::Typed(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Raw<K, V>, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw<K, V>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw<K, V>, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(node: &Node) -> String {
        let at = format!("@{}:{}", node.place.line, node.place.column);
        match &node.content {
            Content::Null => format!("null{at}"),
            Content::Scalar(text) => format!("`{text}`{at}"),
            Content::List(items) => format!("[{}]{at}", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
            Content::Map(entries) => {
                let entry = |(key, value): &(Located<String>, Node)| {
                    format!("{}@{}:{}={}", key.value, key.place.line, key.place.column, shown(value))
                };
                format!("{{{}}}{at}", entries.iter().map(entry).collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[test]
    fn scalars_stay_as_written_and_know_their_place() {
        for (yaml, expect) in [
            ("a: NO", "{a@1:1=`NO`@1:4}@1:1"),
            (
                "a: [1_000, 0x10, yes, 1.50, 'NO', \"é\", é, ~]",
                "{a@1:1=[`1_000`@1:5 `0x10`@1:12 `yes`@1:18 `1.50`@1:23 `NO`@1:29 `é`@1:35 `é`@1:40 null@1:43]@1:4}@1:1",
            ),
            ("x: é\na:\n  - 007 # comment\n", "{x@1:1=`é`@1:4 a@2:1=[`007`@3:5]@3:3}@1:1"),
            ("a: &b 010\nc: *b\n", "{a@1:1=`010`@1:7 c@2:1=`010`@2:4}@1:1"),
            ("5: x", "{5@1:1=`x`@1:4}@1:1"),
        ] {
            assert_eq!(shown(&Node::parse(yaml).unwrap()), expect, "{yaml}");
        }
    }

    #[test]
    fn yaml_bombs_are_refused() {
        let deep = "[".repeat(100_000);
        let mut wide = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let before = level - 1;
            wide += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{before}"); 10].join(","));
        }
        for text in [deep, wide] {
            assert!(Node::parse(&text).is_err());
        }
    }
}
