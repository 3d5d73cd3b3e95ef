//! Filters for URLs.

use minijinja::Value;

use super::encoding::bytes_of;
use crate::call::{Call, str_argument};
use crate::failure::{Outcome, failure};
use crate::values::{View, entries, items, text, view};

/// Escapes the bytes of a text for a URL.
pub(super) fn quoted(bytes: &[u8], safe: &str) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        let c = char::from(*byte);
        if c.is_ascii_alphanumeric() || "_.-~".contains(c) || safe.contains(c) {
            out.push(c);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Escapes text, or the entries of a dict as a query.
pub(super) fn encode(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    let pairs = match view(&value) {
        View::Dict => entries(&value).unwrap_or_default(),
        View::List | View::Tuple => items(&value)?.iter().map(pair).collect::<Outcome<Vec<_>>>()?,
        _ => return Ok(Value::from(quoted(&bytes_of(&value)?, "/"))),
    };
    let part = |value: &Value| bytes_of(value).map(|bytes| quoted(&bytes, "").replace("%20", "+"));
    let query = pairs.iter().map(|(key, value)| Ok(format!("{}={}", part(key)?, part(value)?)));
    Ok(Value::from(query.collect::<Outcome<Vec<_>>>()?.join("&")))
}

fn pair(value: &Value) -> Outcome<(Value, Value)> {
    match <[Value; 2]>::try_from(items(value)?) {
        Ok([key, value]) => Ok((key, value)),
        Err(_) => Err(failure("each item must have a key and a value")),
    }
}

/// Resolves the escapes of a query.
pub(super) fn decode(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [encoding, _errors]) = call.bind(["string"], ["encoding", "errors"])?;
    if let Some(encoding) = encoding {
        let encoding = str_argument("encoding", &encoding)?;
        if !encoding.eq_ignore_ascii_case("utf-8") {
            return Err(failure(format!("unknown encoding: {encoding}")));
        }
    }
    let query = str_argument("a query", &value)?.replace('+', " ");
    let (mut out, mut rest) = (Vec::with_capacity(query.len()), query.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| *byte == b'%' && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    Ok(Value::from(String::from_utf8_lossy(&out).into_owned()))
}

/// The parts of a URL, as Python's `urlsplit` finds them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) scheme: String,
    pub(crate) netloc: String,
    pub(crate) path: String,
    query: String,
    fragment: String,
}

impl Parts {
    /// Splits a URL.
    ///
    /// # Errors
    ///
    /// The brackets of an IPv6 address do not match, or hold something else.
    pub(crate) fn new(url: &str) -> Outcome<Self> {
        let url = url.trim_start_matches(|c| c <= ' ').replace(['\t', '\r', '\n'], "");
        let (mut scheme, mut rest) = (String::new(), url.as_str());
        if let Some((before, after)) = url.split_once(':') {
            let valid = before.starts_with(|c: char| c.is_ascii_alphabetic())
                && before.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
            if valid {
                (scheme, rest) = (before.to_lowercase(), after);
            }
        }
        let mut netloc = "";
        if let Some(after) = rest.strip_prefix("//") {
            let end = after.find(['/', '?', '#']).unwrap_or(after.len());
            (netloc, rest) = after.split_at(end);
            check_brackets(netloc)?;
        }
        let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let owned = str::to_owned;
        Ok(Self { scheme, netloc: owned(netloc), path: owned(path), query: owned(query), fragment: owned(fragment) })
    }

    fn host(&self) -> (Option<String>, Option<&str>) {
        let host = self.netloc.rsplit_once('@').map_or(self.netloc.as_str(), |(_, host)| host);
        let (name, port) = match host.split_once('[') {
            Some((_, bracketed)) => {
                let (name, rest) = bracketed.split_once(']').unwrap_or((bracketed, ""));
                (name, rest.split_once(':').map(|(_, port)| port))
            }
            None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
        };
        let (name, zone) =
            name.split_once('%').map_or((name, String::new()), |(name, zone)| (name, format!("%{zone}")));
        let name = Some(format!("{}{zone}", name.to_lowercase())).filter(|name| !name.is_empty());
        (name, port.filter(|port| !port.is_empty()))
    }

    fn port(&self) -> Outcome {
        let Some(port) = self.host().1 else { return Ok(Value::from(())) };
        let invalid = || failure(format!("Port could not be cast to integer value as '{port}'"));
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(invalid());
        }
        let number: u16 = port
            .trim_start_matches('0')
            .parse()
            .or_else(|error| if port.bytes().all(|byte| byte == b'0') { Ok(0) } else { Err(error) })
            .map_err(|_| failure("Port out of range 0-65535"))?;
        Ok(Value::from(number))
    }

    fn user(&self) -> (Value, Value) {
        let none = || Value::from(());
        let Some((user, _)) = self.netloc.rsplit_once('@') else { return (none(), none()) };
        match user.split_once(':') {
            Some((user, password)) => (Value::from(user), Value::from(password)),
            None => (Value::from(user), none()),
        }
    }
}

fn check_brackets(netloc: &str) -> Outcome<()> {
    if netloc.contains('[') != netloc.contains(']') {
        return Err(failure("Invalid IPv6 URL"));
    }
    Ok(())
}

/// Splits a URL into its parts, or returns one of them.
pub(super) fn split(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [query, alias]) = call.bind(["value"], ["query", "alias"])?;
    let url = str_argument("a URL", &value)?;
    let parts = Parts::new(&url)?;
    let (user, password) = parts.user();
    let all = [
        ("fragment", Value::from(parts.fragment.as_str())),
        ("hostname", parts.host().0.map_or_else(|| Value::from(()), Value::from)),
        ("netloc", Value::from(parts.netloc.as_str())),
        ("password", password),
        ("path", Value::from(parts.path.as_str())),
        ("port", parts.port()?),
        ("query", Value::from(parts.query.as_str())),
        ("scheme", Value::from(parts.scheme.as_str())),
        ("username", user),
    ];
    let Some(wanted) = query.filter(crate::values::is_true) else { return Ok(Value::from_pairs(all)) };
    let found = all.iter().find(|(name, _)| wanted.as_str() == Some(*name));
    let alias = alias.map_or_else(|| Ok("urlsplit".to_owned()), |alias| text(&alias))?;
    let unknown = || failure(format!("{alias}: unknown URL component: {}", text(&wanted).unwrap_or_default()));
    found.map(|(_, part)| part.clone()).ok_or_else(unknown)
}
