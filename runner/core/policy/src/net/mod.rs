//! Network rules: the hosts and ports that a run may connect to, and the addresses on which it may listen. Pure.
//!
//! ```text
//! rule   = [ "tcp:" | "udp:" ] host [ ":" port [ "-" port ] ] { "+" word }
//! host   = "*" | name | "*." name | IPv4 | IPv4 "/" bits | "[" IPv6 "]" | "[" IPv6 "/" bits "]"
//! word   = "loopback" | "link-local" | "private" | "metadata" | "multicast" | "any" | "unverified"
//! listen = [ "tcp:" | "udp:" ] ( IPv4 | "[" IPv6 "]" ) ":" port [ "-" port ]
//! ```
//!
//! A rule applies to TCP unless it starts with `udp:`, and to all ports unless it names some. `*` stands for every
//! host, `*.` for one or more labels, and `+any` for all words for addresses together. With `+unverified`, a server may
//! have any certificate if the guest asks for it.
//!
//! A name, a wildcard or a block of addresses does not include special addresses (see [`Special`]) unless the rule has
//! their word, because the owner of a name chooses its addresses. A literal address, or a block that is completely in
//! one special range, needs no word. Only metadata services always need theirs.

mod error;
mod listen;
mod name;
mod net_rule;
mod parse;
mod special;
#[cfg(test)]
mod tests;
mod transport;

use std::net::{IpAddr, SocketAddr};

use modbox_vocabulary::GrantSource;
use serde::{Deserialize, Serialize};

pub use self::error::NetRuleError;
pub use self::listen::ListenRule;
pub use self::name::Name;
pub use self::net_rule::{Hosts, NetRule};
pub use self::special::Special;
pub use self::transport::{Ports, Transport};

/// Returns the words that a rule needs to include an address, as the end of a rule; empty for most addresses.
#[must_use]
pub fn words_for(address: IpAddr, literal: bool) -> String {
    match Special::of(address.to_canonical()) {
        None | Some(Special::Reserved) => String::new(),
        Some(special) if literal && special != Special::Metadata => String::new(),
        Some(special) => format!("+{special}"),
    }
}

/// Formats a host and port in the syntax of rules: `[::1]:80`.
#[must_use]
pub fn shown(transport: Transport, address: SocketAddr) -> String {
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    format!("{}{address}", transport.prefix())
}

/// A network rule and the source that granted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetGrant {
    /// The permitted destinations.
    pub rule: NetRule,
    /// The source of the grant: `--allow-net`, or a policy file.
    pub source: GrantSource,
}

/// A rule for listening and the source that granted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenGrant {
    /// The permitted addresses.
    pub rule: ListenRule,
    /// The source of the grant: `--allow-listen`, or a policy file.
    pub source: GrantSource,
}
