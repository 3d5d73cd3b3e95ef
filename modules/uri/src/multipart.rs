//! The body of an HTML form with files (RFC 7578), in the format of Python's `email`.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use modbox_sdk::Value;
use modbox_sdk::json::str;

use crate::mime;

/// The longest file. The body is held in memory; `src` can send a longer file.
const MAX_FILE: u64 = 32 << 20;

/// Characters of Base64 per line.
const LINE: usize = 76;

/// One part: its header fields in order, and its contents.
struct FormPart {
    fields: Vec<String>,
    content: Vec<u8>,
}

/// Returns the content type and the body.
pub(crate) fn make(body: &Value) -> Result<(String, Vec<u8>), String> {
    let Value::Dict(fields) = body else {
        return Err(format!("Mapping is required, cannot be type {}", body.type_name()));
    };
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    let boundary = format!("==============={:019}==", RandomState::new().hash_one(0) >> 1);
    let mut bytes = Vec::new();
    for (name, value) in fields {
        let part = part(name, value)?;
        bytes.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        for field in part.fields {
            bytes.extend_from_slice(format!("{field}\r\n").as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend(part.content);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok((format!("multipart/form-data; boundary=\"{boundary}\""), bytes))
}

fn part(name: &str, value: &Value) -> Result<FormPart, String> {
    let disposition = |file: Option<&str>| {
        let file = file.map(|file| Path::new(file).file_name().unwrap_or_default().to_string_lossy());
        let file = file.map_or_else(String::new, |file| format!("; {}", parameter("filename", &file)));
        format!("Content-Disposition: form-data; {}{file}", parameter("name", name))
    };
    let entries = match value {
        Value::Str(text) => {
            let fields = vec!["Content-Type: text/plain".to_owned(), disposition(None)];
            return Ok(FormPart { fields, content: in_lines(text.as_bytes()) });
        }
        Value::Dict(entries) => entries,
        other => return Err(format!("value must be a string, or mapping, cannot be type {}", other.type_name())),
    };
    let entry = |key: &str| entries.get(key).filter(|value| value.is_truthy()).map(str);
    let (file, content) = (entry("filename"), entry("content"));
    let guessed = || mime::guess(file.as_deref().unwrap_or_default()).to_owned();
    let kind = format!("Content-Type: {}", entry("mime_type").unwrap_or_else(guessed));
    match (content, &file) {
        (Some(content), file) => {
            Ok(FormPart { fields: vec![kind, disposition(file.as_deref())], content: in_lines(content.as_bytes()) })
        }
        (None, Some(file)) => {
            let (encoding, content) = encoded(file, entry("multipart_encoding").as_deref().unwrap_or("base64"))?;
            let encoding = format!("Content-Transfer-Encoding: {encoding}");
            Ok(FormPart { fields: vec![encoding, kind, disposition(Some(file))], content })
        }
        (None, None) => Err("at least one of filename or content must be provided".to_owned()),
    }
}

/// Returns the encoded contents of a file, and the name of the encoding.
fn encoded(file: &str, encoding: &str) -> Result<(&'static str, Vec<u8>), String> {
    if !["base64", "7or8bit"].contains(&encoding) {
        return Err("multipart_encoding must be one of dict_keys(['base64', '7or8bit']).".to_owned());
    }
    let content = modbox_sdk::fs::read(file, MAX_FILE).map_err(|error| error.to_string())?;
    match encoding {
        "7or8bit" if content.is_ascii() => Ok(("7bit", in_lines(&content))),
        "7or8bit" => Ok(("8bit", in_lines(&content))),
        _ => {
            let letters = STANDARD.encode(&content);
            let mut lines = Vec::with_capacity(letters.len() + letters.len() / LINE * 2 + 2);
            for line in letters.as_bytes().chunks(LINE) {
                lines.extend_from_slice(line);
                lines.extend_from_slice(b"\r\n");
            }
            Ok(("base64", lines))
        }
    }
}

/// Replaces all line ends by those of mail.
fn in_lines(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len());
    for (at, byte) in content.iter().enumerate() {
        match byte {
            b'\n' if at > 0 && content[at - 1] == b'\r' => {}
            b'\r' | b'\n' => out.extend_from_slice(b"\r\n"),
            byte => out.push(*byte),
        }
    }
    out
}

/// Returns a parameter in quotes, or in the form of RFC 2231 if it is not ASCII.
fn parameter(key: &str, value: &str) -> String {
    let value: String = value.chars().filter(|letter| !letter.is_control()).collect();
    if value.is_ascii() {
        return format!("{key}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
    }
    let quote = |byte: u8| match byte {
        b'_' | b'.' | b'-' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    format!("{key}*=utf-8''{}", value.bytes().map(quote).collect::<String>())
}
