//! The body of a request.

use std::path::PathBuf;

use modbox_python_json::{ConvertError, to_json};
use serde::Serialize;

/// The body of a request. Bytes and texts become one by `into()`, which [`Request::body`](super::Request::body) does itself.
///
/// ```
/// use modbox_sdk::http::Body;
///
/// assert_eq!(Body::from("a=1"), Body::Bytes(b"a=1".to_vec()));
/// let tags: &[&str] = &["new"];
/// assert_eq!(Body::json(&std::collections::BTreeMap::from([("tags", tags)]))?, Body::Json(r#"{"tags": ["new"]}"#.into()));
/// # Ok::<(), modbox_sdk::json::ConvertError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Body {
    /// No body.
    #[default]
    None,
    /// Bytes. Without a header field `content-type`, they are sent as `application/x-www-form-urlencoded`, as `urllib` does.
    Bytes(Vec<u8>),
    /// JSON text. Without a header field `content-type`, it is sent as `application/json`.
    Json(String),
    /// The contents of a file, which is read while it is sent.
    File(PathBuf),
}

impl Body {
    /// Returns a value as JSON, in ASCII: a struct that serde can write, `serde_json::Value`, [`Value`](crate::Value), a map.
    ///
    /// # Errors
    ///
    /// The value has no JSON: a map whose keys are not texts or numbers, or a failing `Serialize`.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ConvertError> {
        to_json(value).map(Self::Json)
    }

    /// Returns the type that is sent for it, unless the caller sets one.
    pub(super) fn content_type(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Json(_) => Some("application/json"),
            Self::Bytes(_) | Self::File(_) => Some("application/x-www-form-urlencoded"),
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<&[u8]> for Body {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl<const N: usize> From<&[u8; N]> for Body {
    fn from(bytes: &[u8; N]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::Bytes(text.into_bytes())
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}
