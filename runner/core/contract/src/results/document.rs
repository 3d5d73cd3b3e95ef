//! Decodes one JSON document of a module's output.

use modbox_python_json::{Value, decode};

use crate::results::stdout::{StreamText, object_lines};
use crate::results::typed::{self, Refusal};

/// Returns the last line that is a JSON object.
pub(crate) fn last_object(text: &StreamText<'_>) -> Result<Value, Refusal> {
    let readable = text.escaped.as_deref().unwrap_or(&text.lossy);
    let found = object_lines(readable).find_map(|line| decode_json(line).ok());
    found.ok_or_else(|| Refusal::Deserialization("No line is a JSON object".to_owned()))
}

/// Decodes a document. Maps a decoding error to the refusal that Ansible reports for it.
pub(crate) fn decode_json(text: &str) -> Result<Value, Refusal> {
    decode(text).map_err(|error| match error.surrogate_key() {
        Some(key) => typed::not_utf8(key.units()),
        None if error.is_too_deep() => Refusal::Task(error.to_string()),
        None => Refusal::Deserialization(error.to_string()),
    })
}
