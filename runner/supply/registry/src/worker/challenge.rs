//! What a registry asks for in the header `WWW-Authenticate` (RFC 9110, section 11; the scheme `Bearer` as registries use
//! it, from "Token Authentication Specification" of distribution).

use std::collections::BTreeMap;

/// Maximum number of parameters.
const MAX_PARAMETERS: usize = 16;

/// What a registry asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A user and a password.
    Basic,
    /// A token.
    Bearer {
        /// Where to get it.
        realm: String,
        /// The service that it is for.
        service: Option<String>,
        /// What it is to allow.
        scope: Option<String>,
    },
}

impl Challenge {
    /// Reads a header. Returns `None` for a scheme that modbox does not have.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or_else(|| (header.trim(), ""));
        match scheme.to_ascii_lowercase().as_str() {
            "basic" => Some(Self::Basic),
            "bearer" => {
                let mut parameters = parameters(rest)?;
                let realm = parameters.remove("realm")?;
                Some(Self::Bearer { realm, service: parameters.remove("service"), scope: parameters.remove("scope") })
            }
            _ => None,
        }
    }
}

/// Reads `name="value", name=value`.
fn parameters(mut rest: &str) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if rest.is_empty() {
            return Some(found);
        }
        let (name, after) = rest.split_once('=')?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted_value(quoted)?,
            None => {
                let (value, after) = after.split_at(after.find(',').unwrap_or(after.len()));
                (value.trim().to_owned(), after)
            }
        };
        found.insert(name.trim().to_ascii_lowercase(), value);
        if found.len() > MAX_PARAMETERS {
            return None;
        }
        rest = after;
    }
}

/// Reads a quoted value, after its first quote. Returns what follows as well.
fn quoted_value(text: &str) -> Option<(String, &str)> {
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, character) in text.char_indices() {
        match character {
            '"' if !is_escaped => return Some((value, &text[at + 1..])),
            '\\' if !is_escaped => is_escaped = true,
            other => {
                is_escaped = false;
                value.push(other);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_registries_are_read() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| {
            let [service, scope] = [service, scope].map(|value| value.map(str::to_owned));
            Some(Challenge::Bearer { realm: realm.to_owned(), service, scope })
        };
        for (header, expect) in [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            ("Bearer realm=\"https://a/t\"", bearer("https://a/t", None, None)),
            (
                "Bearer realm=\"https://a/t\",service=\"s\", scope=\"repository:a/b:pull,push\"",
                bearer("https://a/t", Some("s"), Some("repository:a/b:pull,push")),
            ),
            ("BEARER Realm=https://a/t,service=\"a\\\"b\"", bearer("https://a/t", Some("a\"b"), None)),
            ("Bearer service=\"s\"", None),
            ("Bearer realm=\"https://a", None),
            ("Bearer nonsense", None),
            ("Negotiate", None),
            ("", None),
        ] {
            assert_eq!(Challenge::parse(header), expect, "{header}");
        }
        let many: String = (0..100).map(|number| format!("a{number}=1,")).collect();
        assert_eq!(Challenge::parse(&format!("Bearer {many}realm=x")), None);
    }
}
