//! Requests: what a module asks for beyond the paths that its options name. They are shown and compared with the
//! grants; they grant nothing.

use modbox_python_json::Value;

use crate::error::SpecError;
use crate::parse_values::{boolean, dict, paragraphs, text, wrong_type};

/// One capability that a module asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The kind of grant: `read`, `write`, `net`, `env`, or a name from a later version.
    pub capability: String,
    /// The path, address or name.
    pub subject: String,
    /// The reason, for the person who decides about it. May be empty.
    pub reason: String,
    /// Whether the module cannot work without it. A run without it then need not start.
    pub required: bool,
}

/// Reads `[{"capability": …, "subject": …, "reason": …, "required": …}]`, or the short form
/// `{"capability": ["subject", …]}`, whose requests are not required.
pub(crate) fn parse(value: &Value) -> Result<Vec<Request>, SpecError> {
    const PLACE: &str = "`requests` of the metadata";
    if let Some(items) = value.as_list() {
        return items.iter().map(one).collect();
    }
    let mut requests = Vec::new();
    for (capability, subjects) in dict("requests", "the metadata", value)? {
        if subjects.as_list().is_none() {
            return Err(wrong_type(capability, PLACE, "a list", subjects));
        }
        requests.extend(paragraphs(capability, PLACE, subjects)?.into_iter().map(|subject| Request {
            capability: capability.clone(),
            subject,
            reason: String::new(),
            required: false,
        }));
    }
    Ok(requests)
}

fn one(value: &Value) -> Result<Request, SpecError> {
    const PLACE: &str = "a request of the metadata";
    let entries = dict("requests", "the metadata", value)?;
    let needed = |key: &str| {
        let missing = || SpecError::MissingKey { place: PLACE.to_owned(), key: key.to_owned() };
        text(key, PLACE, entries.get(key).ok_or_else(missing)?)
    };
    let mut request = Request {
        capability: needed("capability")?,
        subject: needed("subject")?,
        reason: String::new(),
        required: false,
    };
    for (key, value) in entries {
        match key.as_str() {
            "reason" => request.reason = text(key, PLACE, value)?,
            "required" => request.required = boolean(key, PLACE, value)?,
            // A newer SDK may write more keys.
            _ => {}
        }
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    #[track_caller]
    fn check(json: &str, expect: &str) {
        let shown = |request: Request| {
            let required = if request.required { "!" } else { "" };
            format!("{}{required} {} {}", request.capability, request.subject, request.reason)
        };
        let got = match parse(&decode(json).unwrap()) {
            Ok(requests) => requests.into_iter().map(shown).collect::<Vec<_>>().join("; "),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expect, "for {json}");
    }

    #[test]
    fn reads_both_forms() {
        check(r#"{"read": ["/a", "/b"], "env": ["TZ"]}"#, "read /a ; read /b ; env TZ ");
        check(
            r#"[{"capability": "read", "subject": "/usr/share/zoneinfo", "reason": "time zones", "required": true, "since": 2},
                {"capability": "net", "subject": "example.org:443"}]"#,
            "read! /usr/share/zoneinfo time zones; net example.org:443 ",
        );
    }

    #[test]
    fn names_what_is_wrong() {
        check(r#"{"read": "/a"}"#, "`read` in `requests` of the metadata must be a list, not `/a`");
        check(r#"[{"subject": "/a"}]"#, "missing key `capability` in a request of the metadata");
        check(
            r#"[{"capability": "read", "subject": 1}]"#,
            "`subject` in a request of the metadata must be a string, not int",
        );
        check(r#"[5]"#, "`requests` in the metadata must be a dict, not int");
        check("5", "`requests` in the metadata must be a dict, not int");
    }
}
