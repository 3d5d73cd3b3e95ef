//! Special addresses: those that do not lead to the open internet, but to this machine, to its neighbours, or to the
//! cloud that hosts it. A rule includes them only if it says so.
//!
//! IPv6 has many ways to contain an IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP, …). In each of them, the
//! embedded address counts.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// A class of addresses that needs its own word in a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Special {
    /// This machine.
    Loopback,
    /// Hosts on the same link.
    LinkLocal,
    /// Networks that are not routed on the internet.
    Private,
    /// The service that gives a cloud machine its credentials.
    Metadata,
    /// A group of hosts.
    Multicast,
    /// Addresses that belong to no host, such as `0.0.0.0`, which leads to this machine on some systems. They have no
    /// word.
    Reserved,
}

/// The words that a rule may have.
pub(super) const WORDS: [Special; 5] =
    [Special::Loopback, Special::LinkLocal, Special::Private, Special::Metadata, Special::Multicast];

impl Special {
    /// Returns the class's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Private => "private",
            Self::Metadata => "metadata",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
        }
    }

    /// Returns the class of an address; `None` for one on the open internet.
    #[must_use]
    pub fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(v4) => of_v4(v4),
            IpAddr::V6(v6) => of_v6(v6),
        }
    }

    /// Returns the class that all addresses of a block have.
    #[must_use]
    pub fn around(block: IpNet) -> Option<Self> {
        if block.prefix_len() == block.max_prefix_len() {
            return Self::of(block.addr());
        }
        RANGES.iter().find(|(range, _)| parsed(range).contains(&block)).map(|(_, special)| *special)
    }
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The addresses of the clouds' metadata services.
const METADATA: [&str; 9] = [
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
];

/// Ranges from IANA's registries of special-purpose addresses. The first match counts.
const RANGES: [(&str, Special); 19] = [
    ("0.0.0.0/8", Special::Reserved),
    ("127.0.0.0/8", Special::Loopback),
    ("169.254.0.0/16", Special::LinkLocal),
    ("10.0.0.0/8", Special::Private),
    ("172.16.0.0/12", Special::Private),
    ("192.168.0.0/16", Special::Private),
    // Shared by the customers of a carrier.
    ("100.64.0.0/10", Special::Private),
    ("192.0.0.0/24", Special::Private),
    ("198.18.0.0/15", Special::Private),
    ("224.0.0.0/4", Special::Multicast),
    ("240.0.0.0/4", Special::Reserved),
    ("::/128", Special::Reserved),
    ("::1/128", Special::Loopback),
    ("fe80::/10", Special::LinkLocal),
    ("fec0::/10", Special::Private),
    ("fc00::/7", Special::Private),
    // NAT64 within one network.
    ("64:ff9b:1::/48", Special::Private),
    ("100::/64", Special::Reserved),
    ("ff00::/8", Special::Multicast),
];

fn parsed(range: &str) -> IpNet {
    range.parse().expect("the table holds blocks")
}

fn of_v4(address: Ipv4Addr) -> Option<Special> {
    in_tables(IpAddr::V4(address))
}

fn of_v6(address: Ipv6Addr) -> Option<Special> {
    in_tables(IpAddr::V6(address)).or_else(|| embedded(address).into_iter().find_map(of_v4))
}

fn in_tables(address: IpAddr) -> Option<Special> {
    if METADATA.iter().any(|known| known.parse() == Ok(address)) {
        return Some(Special::Metadata);
    }
    RANGES.iter().find(|(range, _)| parsed(range).contains(&address)).map(|(_, special)| *special)
}

/// Returns the IPv4 addresses that an IPv6 address may contain.
fn embedded(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let segments = address.segments();
    let at = |index: usize| {
        let ([a, b], [c, d]) = (segments[index].to_be_bytes(), segments[index + 1].to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        // Compatible, mapped, translated, NAT64.
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => {
            vec![at(6)]
        }
        // 6to4.
        [0x2002, ..] => vec![at(1)],
        // Teredo: the server, and the client with inverted bits.
        [0x2001, 0, ..] => vec![at(2), Ipv4Addr::from(!u32::from(at(6)))],
        // ISATAP.
        [_, _, _, _, 0 | 0x0200, 0x5efe, _, _] => vec![at(6)],
        _ => Vec::new(),
    }
}
