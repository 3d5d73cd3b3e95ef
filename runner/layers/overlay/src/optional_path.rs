//! The form of a path that can be missing, in what is written to files: as `native_path` writes paths, or null.

use std::path::PathBuf;

use modbox_vocabulary::native_path;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
struct Form(#[serde(with = "native_path")] PathBuf);

/// Serialises a path.
///
/// # Errors
///
/// The serialiser's.
pub(crate) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.clone().map(Form).serialize(serializer)
}

/// Deserialises a path.
///
/// # Errors
///
/// The deserialiser's, and neither a path nor null.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    Ok(Option::<Form>::deserialize(deserializer)?.map(|Form(path)| path))
}
