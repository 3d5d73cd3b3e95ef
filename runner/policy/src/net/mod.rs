//! Rules of the network: which hosts and ports a run may reach, and where it may listen. Pure.
//!
//! ```text
//! rule   = [ "tcp:" | "udp:" ] host [ ":" port [ "-" port ] ] { "+" word }
//! host   = "*" | name | "*." name | IPv4 | IPv4 "/" bits | "[" IPv6 "]" | "[" IPv6 "/" bits "]"
//! word   = "loopback" | "link-local" | "private" | "metadata" | "multicast" | "any"
//! listen = [ "tcp:" | "udp:" ] ( IPv4 | "[" IPv6 "]" ) ":" port [ "-" port ]
//! ```
//!
//! Without `udp:` a rule is about TCP; without a port it is about all. `*` stands for every host, `*.` for one label or
//! more, and `+any` for all words together. A name,
//! a wildcard and a block of addresses never reach a special address (see [`Special`]) unless the rule carries its word:
//! whoever answers for a name chooses its addresses. A literal address or a block that lies wholly in one special range
//! has said so already. Only metadata services must always be named by their word.

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

use serde::{Deserialize, Serialize};

pub use self::error::NetRuleError;
pub use self::listen::ListenRule;
pub use self::name::Name;
pub use self::net_rule::{Hosts, NetRule};
pub use self::special::Special;
pub use self::transport::{Ports, Transport};

/// The words that a rule for an address must carry, in the form of a rule's end; empty for most.
#[must_use]
pub fn words_for(address: IpAddr, literal: bool) -> String {
    match Special::of(address.to_canonical()) {
        None | Some(Special::Reserved) => String::new(),
        Some(special) if literal && special != Special::Metadata => String::new(),
        Some(special) => format!("+{special}"),
    }
}

/// A host and port, as a rule about it would say: `[::1]:80`.
#[must_use]
pub fn shown(transport: Transport, address: SocketAddr) -> String {
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    format!("{}{address}", transport.prefix())
}

/// A rule and who granted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetGrant {
    /// What may be reached.
    pub rule: NetRule,
    /// Who granted it: `--allow-net`, or a policy file.
    pub source: String,
}

/// A place to listen at and who granted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenGrant {
    /// Where.
    pub rule: ListenRule,
    /// Who granted it: `--allow-listen`, or a policy file.
    pub source: String,
}
