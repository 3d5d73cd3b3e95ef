//! Makes the request's body from the option `body`, in the format `body_format`.

use modbox_sdk::http::{Body, form_quoted};
use modbox_sdk::json::{encode, str};
use modbox_sdk::{Dict, Failure, Value};

use crate::args::BodyFormat;
use crate::multipart;

/// Makes the body, and sets the header field for its type.
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

/// Returns whether a body is not sent as it is.
pub(crate) fn is_converted(body: Option<&Value>, format: BodyFormat) -> bool {
    match format {
        BodyFormat::Multipart => true,
        BodyFormat::Form => matches!(body, Some(Value::List(_) | Value::Dict(_))),
        BodyFormat::Json | BodyFormat::Raw => false,
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
            bytes.map(Body::Bytes).ok_or_else(|| Failure::new("body contains lone surrogates that are not bytes"))
        }
        other => {
            let kind = other.type_name();
            Err(Failure::new(format!("the body is not text but {kind}; set body_format")))
        }
    }
}

/// Encodes pairs as a form. A list of values becomes several fields.
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
                            "failed to parse body as form_urlencoded: {entry:?} is not a pair"
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
