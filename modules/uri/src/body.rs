//! What is sent along, made of the option `body` as `body_format` says.

use modbox_sdk::http::{Body, form_quoted};
use modbox_sdk::json::{encode, str};
use modbox_sdk::{Dict, Failure, Value};

use crate::args::BodyFormat;
use crate::multipart;

/// Makes the body, and sets the field that says what it is.
pub(crate) fn make(body: Option<&Value>, format: BodyFormat, headers: &mut Dict) -> Result<Body, Failure> {
    let mut default_type = |kind: &str| {
        if !headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")) {
            headers.insert("Content-Type".to_owned(), kind.into());
        }
    };
    let body = body.unwrap_or(&Value::Null);
    match (format, body) {
        (BodyFormat::Multipart, body) => {
            let (kind, bytes) = multipart::make(body)
                .map_err(|why| Failure::new(format!("failed to parse body as form-multipart: {why}")))?;
            headers.insert("Content-Type".to_owned(), kind.into());
            Ok(Body::Bytes(bytes))
        }
        (BodyFormat::Raw, Value::Null) => Ok(Body::None),
        (BodyFormat::Raw, body) => text(body),
        (BodyFormat::Json, body) => {
            default_type("application/json");
            if is_text(body) { text(body) } else { Ok(Body::Bytes(encode(body).into_bytes())) }
        }
        (BodyFormat::Form, body) => {
            default_type("application/x-www-form-urlencoded");
            match body {
                Value::Null => Ok(Body::None),
                Value::List(_) | Value::Dict(_) => form(body).map(|text| Body::Bytes(text.into_bytes())),
                body => text(body),
            }
        }
    }
}

fn is_text(body: &Value) -> bool {
    matches!(body, Value::Str(_) | Value::Surrogates(_))
}

fn text(body: &Value) -> Result<Body, Failure> {
    match body {
        Value::Str(text) => Ok(Body::Bytes(text.clone().into_bytes())),
        Value::Surrogates(text) => {
            let bytes = text.to_bytes();
            bytes.map(Body::Bytes).ok_or_else(|| Failure::new("body holds lone surrogates that stand for no bytes"))
        }
        other => {
            let kind = other.type_name();
            Err(Failure::new(format!("the body is no text but {kind}: say with body_format what to make of it")))
        }
    }
}

/// Writes pairs as a form does. A list of values is a field for each.
fn form(body: &Value) -> Result<String, Failure> {
    let mut pairs = Vec::new();
    let mut add = |key: &Value, values: &Value| {
        let one_or_more = match values {
            Value::List(values) => values.clone(),
            Value::Dict(values) => values.keys().map(|key| key.as_str().into()).collect(),
            one => vec![one.clone()],
        };
        for value in one_or_more.iter().filter(|value| **value != Value::Null) {
            pairs.push(format!("{}={}", form_quoted(&str(key)), form_quoted(&str(value))));
        }
    };
    match body {
        Value::Dict(entries) => entries.iter().for_each(|(key, values)| add(&key.as_str().into(), values)),
        Value::List(entries) => {
            for entry in entries {
                match entry.as_list() {
                    Some([key, values]) => add(key, values),
                    Some(parts) => return Err(unpaired(parts.len())),
                    None => {
                        return Err(Failure::new(format!(
                            "failed to parse body as form_urlencoded: {entry:?} is no pair"
                        )));
                    }
                }
            }
        }
        _ => {}
    }
    Ok(pairs.join("&"))
}

fn unpaired(length: usize) -> Failure {
    let why = if length < 2 {
        format!("not enough values to unpack (expected 2, got {length})")
    } else {
        "too many values to unpack (expected 2)".to_owned()
    };
    Failure::new(format!("failed to parse body as form_urlencoded: {why}")).with("elapsed", 0)
}
