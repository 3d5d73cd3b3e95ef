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

mod listen;
mod name;
mod parse;
mod special;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

pub use self::listen::ListenRule;
pub use self::name::Name;
pub use self::parse::NetRuleError;
pub use self::special::Special;
use self::special::WORDS;

/// TCP or UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

impl Transport {
    /// Returns what a rule about it starts with: nothing for TCP.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Tcp => "",
            Self::Udp => "udp:",
        }
    }
}

/// A range of ports, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl Ports {
    /// Every port that a connection can go to.
    pub const ALL: Self = Self { first: 1, last: u16::MAX };

    /// Returns whether a port lies in it.
    #[must_use]
    pub fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { write!(f, ":{}", self.first) } else { write!(f, ":{}-{}", self.first, self.last) }
    }
}

/// The hosts of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    /// Every name and every address.
    All,
    /// One name.
    Name(Name),
    /// Every name below this one.
    Below(Name),
    /// Addresses; a single one is a block of its own.
    Block(IpNet),
}

/// Hosts and ports that a run may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NetRule {
    transport: Transport,
    hosts: Hosts,
    ports: Ports,
    words: BTreeSet<Special>,
}

impl NetRule {
    /// Returns which transport it is about.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Returns the ports that it is about.
    #[must_use]
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// Returns whether it is about a port.
    #[must_use]
    pub fn covers(&self, transport: Transport, port: u16) -> bool {
        self.transport == transport && self.ports.contains(port)
    }

    /// Returns whether it names a host. That says nothing about the addresses behind the name: ask
    /// [`NetRule::admits`] about each.
    #[must_use]
    pub fn names(&self, name: &Name) -> bool {
        match &self.hosts {
            Hosts::Name(own) => own == name,
            Hosts::Below(parent) => name.is_below(parent),
            Hosts::All => true,
            Hosts::Block(_) => false,
        }
    }

    /// Returns whether it holds an address itself, not by way of a name.
    #[must_use]
    pub fn holds(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let inside = match &self.hosts {
            Hosts::All => true,
            Hosts::Block(block) => block.contains(&address),
            Hosts::Name(_) | Hosts::Below(_) => false,
        };
        inside && self.admits(address)
    }

    /// Returns whether it tells no host from another, as a kernel that knows ports alone does.
    #[must_use]
    pub fn is_every_host(&self) -> bool {
        self.hosts == Hosts::All && WORDS.iter().all(|word| self.words.contains(word))
    }

    /// Returns the least rule about the same ports that tells no host from another.
    #[must_use]
    pub fn for_every_host(&self) -> Self {
        Self { hosts: Hosts::All, words: WORDS.into(), ..self.clone() }
    }

    /// Returns whether it allows a connection to a literal address.
    #[must_use]
    pub fn allows(&self, transport: Transport, address: SocketAddr) -> bool {
        self.covers(transport, address.port()) && self.holds(address.ip())
    }

    /// Returns whether an address may be reached by this rule, if it is one of its hosts: it is not special, or the rule
    /// has the word for it.
    #[must_use]
    pub fn admits(&self, address: IpAddr) -> bool {
        let said = |special| match &self.hosts {
            Hosts::Block(block) => special != Special::Metadata && Special::around(*block) == Some(special),
            Hosts::All | Hosts::Name(_) | Hosts::Below(_) => false,
        };
        match Special::of(address.to_canonical()) {
            None => true,
            Some(Special::Reserved) => false,
            Some(special) => self.words.contains(&special) || said(special),
        }
    }

    /// Returns the rule with one more word.
    #[must_use]
    pub fn with(&self, word: Special) -> Self {
        let mut rule = self.clone();
        rule.words.insert(word);
        rule
    }
}

impl fmt::Display for NetRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.transport.prefix())?;
        match &self.hosts {
            Hosts::All => f.write_str("*")?,
            Hosts::Name(name) => write!(f, "{name}")?,
            Hosts::Below(name) => write!(f, "*.{name}")?,
            Hosts::Block(block) => write_block(f, *block)?,
        }
        if self.ports != Ports::ALL {
            write!(f, "{}", self.ports)?;
        }
        if WORDS.iter().all(|word| self.words.contains(word)) {
            return f.write_str("+any");
        }
        self.words.iter().try_for_each(|word| write!(f, "+{word}"))
    }
}

impl From<NetRule> for String {
    fn from(rule: NetRule) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for NetRule {
    type Error = NetRuleError;

    fn try_from(text: String) -> Result<Self, NetRuleError> {
        text.parse()
    }
}

fn write_block(f: &mut fmt::Formatter<'_>, block: IpNet) -> fmt::Result {
    let single = block.prefix_len() == block.max_prefix_len();
    match (block, single) {
        (IpNet::V4(_), true) => write!(f, "{}", block.addr()),
        (IpNet::V4(_), false) => write!(f, "{block}"),
        (IpNet::V6(_), true) => write!(f, "[{}]", block.addr()),
        (IpNet::V6(_), false) => write!(f, "[{block}]"),
    }
}

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
