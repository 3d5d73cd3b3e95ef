//! Names of hosts with ports: `web:2222`, `[::1]:22`.

use crate::error::Problem;
use crate::range;

/// A name of a host, or several by a range, and the port behind it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The names.
    pub(crate) hosts: Vec<String>,
    pub(crate) port: Option<u16>,
}

/// Reads the name of a host. As in Ansible, another text is taken as it is written.
///
/// # Errors
///
/// The name ends in a colon, is the beginning of a YAML file, or has a malformed range.
pub(crate) fn parse(text: &str) -> Result<Address, Problem> {
    let (name, port) = split_port(text);
    if name == "---" || (port.is_none() && text.trim_end().ends_with(':')) || name.is_empty() {
        return Err(Problem::HostName(text.to_owned()));
    }
    Ok(Address { hosts: range::expand(name)?, port })
}

/// Splits a port from a name. An address of IPv6 needs brackets for that.
pub(crate) fn split_port(text: &str) -> (&str, Option<u16>) {
    let whole = (text, None);
    let Some((name, port)) = text.rsplit_once(':') else { return whole };
    let Ok(port) = port.parse() else { return whole };
    if let Some(inside) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return (inside, Some(port));
    }
    let mut in_brackets = false;
    for character in name.chars() {
        match character {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            ':' if !in_brackets => return whole,
            _ => {}
        }
    }
    if in_brackets { whole } else { (name, Some(port)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_split_from_names() {
        let check = |text: &str, host: &str, port| {
            let address = parse(text).unwrap();
            assert_eq!((address.hosts[0].as_str(), address.port), (host, port), "{text}");
        };
        check("web", "web", None);
        check("web:22", "web", Some(22));
        check("web[1:2]:22", "web1", Some(22));
        check("[::1]:22", "::1", Some(22));
        check("::1", "::1", None);
        check("10.0.0.1", "10.0.0.1", None);
        for text in ["web:", "---", ""] {
            assert!(matches!(parse(text), Err(Problem::HostName(_))), "{text}");
        }
    }
}
