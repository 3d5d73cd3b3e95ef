//! Proxies: which one a connection goes through.
//!
//! The rules are those of the tools that docker's users know (Go's `httpproxy`): hosts of this machine are connected to
//! directly, and so are those that `NO_PROXY` names.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;

use crate::credentials::Secret;

/// Port of a proxy whose address has none.
const DEFAULT_PORT: u16 = 80;

/// An HTTP proxy that connections to a registry go through, named by a variable of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The value of the header `Proxy-Authorization`.
    pub(crate) authorization: Option<Secret>,
    /// The variable that names it.
    pub(crate) variable: String,
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy `{}:{}` of {}", self.host, self.port, self.variable)
    }
}

/// Error of a variable that names no proxy. It does not show the value, which can have a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// The scheme is another one.
    #[error(
        "the variable {variable} names a proxy of `{scheme}`, which modbox does not use; name one of HTTP, or unset it"
    )]
    Scheme {
        /// The variable.
        variable: String,
        /// The scheme.
        scheme: String,
    },
    /// It is not an address.
    #[error("the variable {0} has no address of a proxy; write `http://HOST:PORT`, or unset it")]
    Address(String),
}

impl Proxy {
    /// Reads the value of a variable: `[http://][USER[:PASSWORD]@]HOST[:PORT][/]`.
    ///
    /// # Errors
    ///
    /// It is not one.
    pub fn parse(variable: &str, value: &str) -> Result<Self, ProxyError> {
        let invalid = || ProxyError::Address(variable.to_owned());
        let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
        if !scheme.eq_ignore_ascii_case("http") {
            let is_word = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let wrong = ProxyError::Scheme { variable: variable.to_owned(), scheme: scheme.to_owned() };
            return Err(if is_word { wrong } else { invalid() });
        }
        let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (login, address) = rest.rsplit_once('@').map_or((None, rest), |(login, address)| (Some(login), address));
        let (host, port) = match split_port(address) {
            (host, None) => (host, DEFAULT_PORT),
            (host, Some(port)) => (host, port.parse().map_err(|_| invalid())?),
        };
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_host) {
            return Err(invalid());
        }
        let authorization = login.map(|login| {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            let login = [decoded(user).as_slice(), b":", &decoded(password)].concat();
            Secret::from(format!("Basic {}", STANDARD.encode(login)))
        });
        Ok(Self { host: host.to_owned(), port, authorization, variable: variable.to_owned() })
    }
}

/// The proxies of a user, and the hosts that need none.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    /// The proxy of connections with TLS.
    pub secure: Option<Proxy>,
    /// The proxy of connections without TLS.
    pub plain: Option<Proxy>,
    /// The hosts that are connected to directly, as `NO_PROXY` has them.
    pub direct: String,
}

impl Proxies {
    /// Returns the proxy for a connection, if it goes through one.
    pub(crate) fn of(&self, host: &str, port: u16, is_secure: bool) -> Option<&Proxy> {
        let proxy = if is_secure { &self.secure } else { &self.plain };
        proxy.as_ref().filter(|_| !is_own(host) && !self.is_direct(host, port))
    }

    fn is_direct(&self, host: &str, port: u16) -> bool {
        let entries = self.direct.split(',').flat_map(str::split_whitespace);
        entries.filter(|entry| !entry.is_empty()).any(|entry| matches(entry, host, port))
    }
}

/// Returns whether a host is this machine.
fn is_own(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns whether an entry of `NO_PROXY` fits: `*`, a domain with all below it, an address, or a network.
fn matches(entry: &str, host: &str, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let (Ok(network), Ok(address)) = (entry.parse::<IpNet>(), host.parse::<IpAddr>()) {
        return network.contains(&address);
    }
    let (name, wanted) = if entry.parse::<IpAddr>().is_ok() { (entry, None) } else { split_port(entry) };
    if wanted.is_some_and(|wanted| wanted != port.to_string()) {
        return false;
    }
    // An address has no domains.
    if let Ok(address) = host.parse::<IpAddr>() {
        return name.parse() == Ok(address);
    }
    let (name, host) = (name.to_ascii_lowercase(), host.trim_end_matches('.').to_ascii_lowercase());
    let name = name.strip_prefix('*').unwrap_or(&name);
    let below = |name: &str| host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    match name.strip_prefix('.') {
        Some(domain) => below(domain),
        None => host == name || below(name),
    }
}

/// Splits a host from its port. An address of IPv6 loses its brackets.
fn split_port(text: &str) -> (&str, Option<&str>) {
    if let Some((host, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host, rest.strip_prefix(':'));
    }
    text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port)))
}

/// Decodes `%40` and its like.
fn decoded(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(value: &str) -> Result<(String, u16, Option<String>), ProxyError> {
        let proxy = Proxy::parse("HTTPS_PROXY", value)?;
        Ok((proxy.host, proxy.port, proxy.authorization.map(|header| header.reveal().to_owned())))
    }

    #[test]
    fn addresses_of_proxies_are_read() {
        for (value, host, port) in [
            ("http://proxy.example:3128", "proxy.example", 3128),
            ("HTTP://proxy.example:3128/", "proxy.example", 3128),
            ("proxy.example:3128", "proxy.example", 3128),
            ("proxy.example", "proxy.example", 80),
            ("http://[::1]:8080", "::1", 8080),
        ] {
            assert_eq!(parsed(value).unwrap(), (host.to_owned(), port, None), "{value}");
        }
        let (host, _, authorization) = parsed("http://ann:p%40ss%2@proxy:1").unwrap();
        assert_eq!((host.as_str(), authorization), ("proxy", Some(format!("Basic {}", STANDARD.encode("ann:p@ss%2")))));
    }

    #[test]
    fn errors_do_not_show_passwords() {
        for value in [
            "http://ann:hunter2@",
            "http://ann:hunter2@:80",
            "ann:hunter2@h:port",
            "http://ann:hunter2@a b:1",
            "ann:hunter2:// ",
        ] {
            let error = parsed(value).unwrap_err().to_string();
            assert!(error.contains("HTTPS_PROXY has no address") && !error.contains("hunter2"), "{error}");
        }
        for value in ["socks5://ann:hunter2@h:1", "https://ann:hunter2@h:1"] {
            let error = parsed(value).unwrap_err().to_string();
            assert!(error.contains("names a proxy of `") && !error.contains("hunter2"), "{error}");
        }
        let proxy = Proxy::parse("P", "http://ann:hunter2@h:1").unwrap();
        assert!(
            !format!("{proxy} {proxy:?}").contains("hunter2") && !format!("{proxy:?}").contains("YW5u"),
            "{proxy:?}"
        );
    }

    #[track_caller]
    fn check(direct: &str, host: &str, is_direct: bool) {
        let proxies = Proxies { direct: direct.to_owned(), ..Proxies::default() };
        assert_eq!(proxies.is_direct(host, 443), is_direct, "{direct} {host}");
    }

    #[test]
    fn hosts_without_a_proxy_are_those_of_the_list() {
        for (direct, host, is_direct) in [
            ("", "a.example", false),
            ("*", "a.example", true),
            ("example", "a.example", true),
            ("a.example", "A.Example", true),
            (".example", "a.example", true),
            ("*.example", "b.a.example", true),
            (".a.example", "a.example", false),
            ("le", "a.example", false),
            ("b.example, a.example:443", "a.example", true),
            ("a.example:80", "a.example", false),
            ("10.0.0.0/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.1.2.3", false),
            ("10.0.0.0/8", "10.example", false),
            ("0.0.0.0/0", "11.1.2.3", true),
            ("10.0.0.0/33", "10.0.0.0", false),
            ("192.0.2.1", "192.0.2.1", true),
            ("2.1", "192.0.2.1", false),
            ("fd00::/8", "fd12::1", true),
            ("fd12::1", "fd12::1", true),
            ("[fd12::1]:443", "fd12::1", true),
        ] {
            check(direct, host, is_direct);
        }
    }

    #[test]
    fn this_machine_needs_no_proxy() {
        let proxy = Proxy::parse("P", "proxy:1").ok();
        let proxies = Proxies { secure: proxy.clone(), plain: proxy, direct: String::new() };
        for (host, has_proxy) in [("localhost", false), ("127.0.0.2", false), ("::1", false), ("a.example", true)] {
            assert_eq!(proxies.of(host, 5000, true).is_some(), has_proxy, "{host}");
        }
        assert!(Proxies { plain: None, ..proxies }.of("a.example", 80, false).is_none());
    }
}
