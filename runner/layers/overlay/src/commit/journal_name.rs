//! Names and paths in a journal: text, or hexadecimal digits where the bytes are not UTF-8. Pure.
//!
//! This file does not know what a name stands for.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Name or path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(pub(super) OsString);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Bytes { hex: String },
}

impl Name {
    /// Returns whether it is one name, not a path.
    pub(super) fn is_single(&self) -> bool {
        let mut parts = Path::new(&self.0).components();
        let is_name = matches!(parts.next(), Some(Component::Normal(name)) if name == self.0);
        is_name && parts.next().is_none()
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self.0.to_str() {
            Some(text) => Form::Text(text.to_owned()),
            None => Form::Bytes { hex: encode(self.0.as_bytes()) },
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = match Form::deserialize(deserializer)? {
            Form::Text(text) => text.into_bytes(),
            Form::Bytes { hex } => {
                decode(&hex).ok_or_else(|| serde::de::Error::custom("expected hexadecimal digits"))?
            }
        };
        if bytes.contains(&0) {
            return Err(serde::de::Error::custom("a name has no zero byte"));
        }
        Ok(Self(OsString::from_vec(bytes)))
    }
}

/// Returns bytes as hexadecimal digits.
pub(super) fn encode(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

fn decode(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        hex.chars().map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok())).collect();
    let digits = digits?;
    let pairs = digits.chunks(2).map(|pair| Some(pair.first()? << 4 | pair.get(1)?));
    pairs.collect()
}
