//! Text to bytes and back.

use minijinja::Value;
use modbox_python_json::Value as Json;

use crate::failure::{Outcome, failure};
use crate::values::{View, from_json, text, view};

/// Returns the bytes of a value's text, as Ansible's `to_bytes` does.
///
/// # Errors
///
/// The text has a lone surrogate that does not stand for a byte.
pub(crate) fn bytes_of(value: &Value) -> Outcome<Vec<u8>> {
    match view(value) {
        View::Surrogates(text) => {
            text.to_bytes().ok_or_else(|| failure("'utf-8' codec can't encode: surrogates not allowed"))
        }
        View::Bytes(bytes) => Ok(bytes.to_vec()),
        _ => Ok(text(value)?.into_bytes()),
    }
}

/// Encodes a value's text.
///
/// # Errors
///
/// The encoding is unknown, or lacks a character.
pub(crate) fn encode_text(value: &Value, encoding: &str) -> Outcome<Vec<u8>> {
    let wide =
        |order: fn(u16) -> [u8; 2]| -> Outcome<Vec<u8>> { Ok(text(value)?.encode_utf16().flat_map(order).collect()) };
    match name(encoding).as_str() {
        "utf8" => bytes_of(value),
        "utf16le" => wide(u16::to_le_bytes),
        "utf16be" => wide(u16::to_be_bytes),
        "utf16" => Ok([vec![0xff, 0xfe], wide(u16::to_le_bytes)?].concat()),
        "latin1" | "iso88591" => narrow(&text(value)?, 0xff),
        "ascii" | "usascii" => narrow(&text(value)?, 0x7f),
        _ => Err(failure(format!("unknown encoding: {encoding}"))),
    }
}

fn name(encoding: &str) -> String {
    encoding.to_lowercase().replace(['-', '_', ' '], "")
}

fn narrow(text: &str, last: u32) -> Outcome<Vec<u8>> {
    let byte = |c: char| {
        let code = Some(u32::from(c)).filter(|code| *code <= last);
        code.and_then(|code| u8::try_from(code).ok())
            .ok_or_else(|| failure("the encoding lacks a character of the text"))
    };
    text.chars().map(byte).collect()
}

/// Decodes text. Bytes that are not UTF-8 become surrogates.
///
/// # Errors
///
/// The encoding is unknown, or the bytes are not text in it.
pub(crate) fn decode_text(bytes: Vec<u8>, encoding: &str) -> Outcome {
    if bytes.is_empty() {
        return Ok(Value::from(""));
    }
    let order: fn([u8; 2]) -> u16 = match name(encoding).as_str() {
        "utf8" => return Ok(from_json(&Json::from_os_bytes(&bytes))),
        "latin1" | "iso88591" => {
            return Ok(Value::from(bytes.iter().map(|byte| char::from(*byte)).collect::<String>()));
        }
        "ascii" | "usascii" => return Ok(from_json(&ascii(&bytes))),
        "utf16be" => u16::from_be_bytes,
        "utf16" if bytes.starts_with(&[0xfe, 0xff]) => u16::from_be_bytes,
        "utf16le" | "utf16" => u16::from_le_bytes,
        _ => return Err(failure(format!("unknown encoding: {encoding}"))),
    };
    let has_mark = name(encoding) == "utf16" && (bytes.starts_with(&[0xfe, 0xff]) || bytes.starts_with(&[0xff, 0xfe]));
    let (pairs, rest) = bytes[if has_mark { 2 } else { 0 }..].as_chunks::<2>();
    let wrong = || failure("the bytes are not text in this encoding");
    let mut units: Vec<u16> = pairs.iter().map(|pair| order(*pair)).collect();
    String::from_utf16(&units).map_err(|_| wrong())?;
    match rest.first() {
        Some(byte) if byte.is_ascii() => return Err(wrong()),
        Some(byte) => units.push(0xdc00 | u16::from(*byte)),
        None => {}
    }
    Ok(from_json(&Json::from_utf16(units)))
}

fn ascii(bytes: &[u8]) -> Json {
    let units = bytes.iter().map(|byte| if byte.is_ascii() { u16::from(*byte) } else { 0xdc00 | u16::from(*byte) });
    Json::from_utf16(units.collect())
}
