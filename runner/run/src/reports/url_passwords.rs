//! Passwords in URLs, which no spec declares as secrets. Ansible's modules leave them out of what they log
//! (`heuristic_log_sanitize` of ansible-core 2.19), and so does the audit log. Results show them, as Ansible's do.

use modbox_python_json::Value;

const HIDDEN: &str = "********";

/// Returns a text in which the passwords of URLs are replaced: what is between the first colon and the last `@` of an
/// authority.
pub(crate) fn mask_text(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, authority) = rest.split_at(at + 3);
        masked.push_str(before);
        let ends = |c: char| matches!(c, '/' | '?' | '#' | '"' | '\'' | '`') || c.is_whitespace();
        let end = authority.find(ends).unwrap_or(authority.len());
        let (own, after) = authority.split_at(end);
        match own.rfind('@').and_then(|host| Some((own[..host].find(':')?, host))) {
            Some((colon, host)) => masked.extend([&own[..=colon], HIDDEN, &own[host..]]),
            None => masked.push_str(own),
        }
        rest = after;
    }
    masked + rest
}

/// Does the same in all texts of a value.
pub(crate) fn mask(value: Value) -> Value {
    match value {
        Value::Str(text) if text.contains("://") => mask_text(&text).into(),
        Value::List(items) => Value::List(items.into_iter().map(mask).collect()),
        Value::Dict(entries) => Value::Dict(entries.into_iter().map(|(key, value)| (key, mask(value))).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_a_url_is_hidden_and_the_rest_stays() {
        for (text, expect) in [
            ("https://u:p@host/x", "https://u:********@host/x"),
            (
                "get ftp://u:p@q@host:21 and http://v:w@h?a@b:c",
                "get ftp://u:********@host:21 and http://v:********@h?a@b:c",
            ),
            ("https://u@host:80/a:b@c", "https://u@host:80/a:b@c"),
            ("https://:p@host", "https://:********@host"),
            ("mailto:a@b, x://", "mailto:a@b, x://"),
            ("'https://u:é@h' \"ssh://a:b\"", "'https://u:********@h' \"ssh://a:b\""),
        ] {
            assert_eq!(mask_text(text), expect);
            assert_eq!(mask_text(expect), expect);
        }
        let value = mask([("a", Value::List(vec!["x://u:p@h".into(), 1_i64.into()]))].into());
        assert_eq!(modbox_python_json::encode(&value), r#"{"a": ["x://u:********@h", 1]}"#);
    }
}
