//! Parses network rules. An error names the rule, the problem and a correct form.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use crate::net::error::NetRuleError;
use crate::net::name::Name;
use crate::net::net_rule::{Hosts, NetRule, UNVERIFIED};
use crate::net::special::{Special, WORDS};
use crate::net::transport::{Ports, Transport};

/// The word for all words together.
const ANY: &str = "any";

impl FromStr for NetRule {
    type Err = NetRuleError;

    fn from_str(text: &str) -> Result<Self, NetRuleError> {
        parse(text).map_err(|cause| NetRuleError::new(text, &cause))
    }
}

impl TryFrom<String> for NetRule {
    type Error = NetRuleError;

    fn try_from(text: String) -> Result<Self, NetRuleError> {
        text.parse()
    }
}

fn parse(text: &str) -> Result<NetRule, String> {
    if let Some(rule) = rule_of_url(text) {
        return Err(format!("a rule is HOST[:PORT], not a URL; write `{rule}`"));
    }
    let (transport, rest) = transport(text);
    let mut parts = rest.split('+');
    let place = parts.next().unwrap_or_default();
    let (unverified, words): (Vec<&str>, Vec<&str>) = parts.partition(|word| *word == UNVERIFIED);
    let words: Vec<Vec<Special>> = words.into_iter().map(word).collect::<Result<_, _>>()?;
    let words: BTreeSet<Special> = words.into_iter().flatten().collect();
    let unverified = !unverified.is_empty();
    if unverified && transport == Transport::Udp {
        return Err(format!("`+{UNVERIFIED}` is for connections by TCP; leave it out"));
    }
    let (host, ports) = split_port(place)?;
    let ports = ports.map_or(Ok(Ports::ALL), |text| self::ports(text, 1))?;
    let rule = NetRule { transport, hosts: hosts(host)?, ports, words, unverified };
    check_special(&rule)?;
    Ok(rule)
}

/// Returns the rule for the server of a URL, or `None` if the text is not a URL.
fn rule_of_url(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    let has_port = split_port(place).is_ok_and(|(_, port)| port.is_some());
    let port = match scheme.to_ascii_lowercase().as_str() {
        _ if has_port => "",
        "http" | "ws" => ":80",
        "https" | "wss" => ":443",
        "ftp" => ":21",
        "ssh" | "sftp" => ":22",
        _ => "",
    };
    Some(if place.is_empty() { "example.org:443".to_owned() } else { format!("{place}{port}") })
}

pub(super) fn transport(text: &str) -> (Transport, &str) {
    if let Some(rest) = text.strip_prefix("udp:") {
        (Transport::Udp, rest)
    } else {
        (Transport::Tcp, text.strip_prefix("tcp:").unwrap_or(text))
    }
}

fn word(text: &str) -> Result<Vec<Special>, String> {
    if text == ANY {
        return Ok(WORDS.to_vec());
    }
    WORDS.into_iter().find(|word| word.as_str() == text).map(|word| vec![word]).ok_or_else(|| {
        let words = WORDS.map(|word| format!("`+{word}`")).join(", ");
        format!("unknown word `+{text}`; expected one of {words}, or `+{ANY}` for all of them, or `+{UNVERIFIED}`")
    })
}

/// Splits `HOST` and `PORT`. The host keeps its brackets.
pub(super) fn split_port(place: &str) -> Result<(&str, Option<&str>), String> {
    let after = match place.find(']') {
        Some(end) => end + 1,
        None if place.matches(':').count() > 1 => {
            return Err("write an IPv6 address in brackets, such as `[2001:db8::1]:443`".to_owned());
        }
        None => place.find(':').unwrap_or(place.len()),
    };
    let (host, port) = place.split_at(after);
    match port.strip_prefix(':') {
        Some(port) => Ok((host, Some(port))),
        None if port.is_empty() => Ok((host, None)),
        None => Err(format!("unexpected `{port}` after the host; expected a port such as `:443`")),
    }
}

pub(super) fn ports(text: &str, least: u16) -> Result<Ports, String> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let port = text.parse().ok().filter(|port| digits && *port >= least);
        port.ok_or_else(|| format!("`{text}` is not a port from {least} to 65535"))
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ports = Ports { first: number(first)?, last: number(last)? };
    if ports.first > ports.last {
        return Err(format!("the range of ports `{text}` is empty; write the smaller port first"));
    }
    Ok(ports)
}

/// Parses `IPv4` or `[IPv6]`.
pub(super) fn address(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    }
}

fn hosts(host: &str) -> Result<Hosts, String> {
    if host == "*" {
        return Ok(Hosts::All);
    }
    if let Some(address) = address(host) {
        return Ok(Hosts::Block(address.to_canonical().into()));
    }
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if inner.is_some() || host.contains('/') {
        return block(inner.unwrap_or(host), inner.is_some()).map(Hosts::Block);
    }
    match host.strip_prefix("*.") {
        Some(parent) => Name::parse(parent).map(Hosts::Below),
        None => Name::parse(host).map(Hosts::Name),
    }
    .ok_or_else(|| {
        let examples = "`example.org`, `*.example.org`, `192.0.2.1`, `192.0.2.0/24` and `[2001:db8::1]`";
        format!("`{host}` is not a host; examples are {examples}")
    })
}

fn block(text: &str, brackets: bool) -> Result<IpNet, String> {
    let block: IpNet =
        text.parse().map_err(|_| format!("`{text}` is not a block of addresses, such as `192.0.2.0/24`"))?;
    if brackets != matches!(block, IpNet::V6(_)) {
        return Err("write IPv6 in brackets, such as `[2001:db8::/32]:443`, and IPv4 without".to_owned());
    }
    if block.trunc() != block {
        return Err(format!("the block of `{text}` starts at another address; write `{}`", block.trunc()));
    }
    if let IpNet::V6(v6) = block
        && v6.network().to_ipv4_mapped().is_some()
    {
        return Err("write a block of IPv4 addresses as IPv4".to_owned());
    }
    Ok(block)
}

/// Refuses a rule that would never match, so that it does not seem to permit something.
fn check_special(rule: &NetRule) -> Result<(), String> {
    let Hosts::Block(block) = &rule.hosts else { return Ok(()) };
    match Special::around(*block) {
        Some(Special::Reserved) => Err("hosts cannot have these addresses".to_owned()),
        Some(Special::Metadata) if !rule.words.contains(&Special::Metadata) => Err(format!(
            "this is a metadata service, which gives out credentials; to allow it, write `{}`",
            rule.with(Special::Metadata)
        )),
        _ => Ok(()),
    }
}
