//! The form of a path of the machine in messages between processes. serde's own form knows only paths that are UTF-8.
//!
//! A path is a text where it can be, and a list of bytes otherwise. For fields: `#[serde(with = "native_path")]`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Bytes(Vec<u8>),
}

/// Serialises a path.
///
/// # Errors
///
/// The serialiser's.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => serializer.serialize_str(text),
        None => OsStr::as_bytes(path.as_os_str()).serialize(serializer),
    }
}

/// Deserialises a path.
///
/// # Errors
///
/// The deserialiser's, and neither a text nor a list of bytes.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(match Form::deserialize(deserializer)? {
        Form::Text(text) => text.into(),
        Form::Bytes(bytes) => OsString::from_vec(bytes).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder(#[serde(with = "super")] PathBuf);

    #[test]
    fn every_path_arrives_as_it_was() {
        for (bytes, form) in [(&b"/srv/x"[..], r#""/srv/x""#), (b"/\xff", "[47,255]"), (b"", r#""""#)] {
            let holder = Holder(OsString::from_vec(bytes.to_vec()).into());
            let text = serde_json::to_string(&holder).unwrap();
            assert_eq!((serde_json::from_str::<Holder>(&text).unwrap(), text.as_str()), (holder, form));
        }
    }
}
