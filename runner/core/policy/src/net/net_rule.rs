//! A rule for hosts and ports: its content, its matching and its text form.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::net::name::Name;
use crate::net::special::{Special, WORDS};
use crate::net::transport::{Ports, Transport};

/// The word for servers that may have any certificate.
pub(super) const UNVERIFIED: &str = "unverified";

/// The hosts of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    /// Every name and every address.
    All,
    /// One name.
    Name(Name),
    /// Every name below this one.
    Below(Name),
    /// A block of addresses. A single address is a block as well.
    Block(IpNet),
}

/// A rule that permits connections to hosts and ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NetRule {
    pub(super) transport: Transport,
    pub(super) hosts: Hosts,
    pub(super) ports: Ports,
    pub(super) words: BTreeSet<Special>,
    /// Whether a server may have any certificate.
    pub(super) unverified: bool,
}

impl NetRule {
    /// Returns the rule's transport.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Returns the rule's ports.
    #[must_use]
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// Returns whether the rule covers a port.
    #[must_use]
    pub fn covers(&self, transport: Transport, port: u16) -> bool {
        self.transport == transport && self.ports.contains(port)
    }

    /// Returns whether the rule names a host. The addresses of that name need a separate check, with
    /// [`NetRule::admits`].
    #[must_use]
    pub fn names(&self, name: &Name) -> bool {
        match &self.hosts {
            Hosts::Name(own) => own == name,
            Hosts::Below(parent) => name.is_below(parent),
            Hosts::All => true,
            Hosts::Block(_) => false,
        }
    }

    /// Returns whether the rule covers an address directly, and not through a name.
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

    /// Returns whether the rule does not distinguish hosts, like a kernel that filters ports only.
    #[must_use]
    pub fn is_every_host(&self) -> bool {
        self.hosts == Hosts::All && WORDS.iter().all(|word| self.words.contains(word))
    }

    /// Returns whether the rule is for one name or for one address.
    #[must_use]
    pub fn names_one_host(&self) -> bool {
        match &self.hosts {
            Hosts::Name(_) => true,
            Hosts::Block(block) => block.prefix_len() == block.max_prefix_len(),
            Hosts::All | Hosts::Below(_) => false,
        }
    }

    /// Returns the narrowest rule for the same ports that does not distinguish hosts.
    #[must_use]
    pub fn for_every_host(&self) -> Self {
        Self { hosts: Hosts::All, words: WORDS.into(), ..self.clone() }
    }

    /// Returns whether the rule permits a connection to a literal address.
    #[must_use]
    pub fn allows(&self, transport: Transport, address: SocketAddr) -> bool {
        self.covers(transport, address.port()) && self.holds(address.ip())
    }

    /// Returns whether the rule permits an address of one of its hosts: the address is not special, or the rule has its
    /// word.
    #[must_use]
    pub fn admits(&self, address: IpAddr) -> bool {
        let implied = |special| match &self.hosts {
            Hosts::Block(block) => special != Special::Metadata && Special::around(*block) == Some(special),
            Hosts::All | Hosts::Name(_) | Hosts::Below(_) => false,
        };
        match Special::of(address.to_canonical()) {
            None => true,
            Some(Special::Reserved) => false,
            Some(special) => self.words.contains(&special) || implied(special),
        }
    }

    /// Returns whether a server may have any certificate, if the guest asks for it.
    #[must_use]
    pub fn is_unverified(&self) -> bool {
        self.unverified
    }

    /// Returns whether the rule permits all that another one does.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        let has_hosts = match (&self.hosts, &other.hosts) {
            (Hosts::All, _) => true,
            (Hosts::Name(own), Hosts::Name(name)) => own == name,
            (Hosts::Below(parent), Hosts::Name(name)) => name.is_below(parent),
            (Hosts::Below(parent), Hosts::Below(name)) => name == parent || name.is_below(parent),
            (Hosts::Block(own), Hosts::Block(block)) => own.contains(block),
            _ => false,
        };
        let words = other.words.iter().copied().chain(other.implied_word());
        self.transport == other.transport
            && has_hosts
            && self.ports.includes(other.ports)
            && (self.unverified || !other.unverified)
            && words.into_iter().all(|word| self.words.contains(&word) || self.implied_word() == Some(word))
    }

    /// Returns the word that a block of special addresses has without saying it.
    fn implied_word(&self) -> Option<Special> {
        match self.hosts {
            Hosts::Block(block) => {
                Special::around(block).filter(|special| WORDS.contains(special) && *special != Special::Metadata)
            }
            Hosts::All | Hosts::Name(_) | Hosts::Below(_) => None,
        }
    }

    /// Returns the rule with an additional word.
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
            f.write_str("+any")?;
        } else {
            self.words.iter().try_for_each(|word| write!(f, "+{word}"))?;
        }
        if self.unverified { write!(f, "+{UNVERIFIED}") } else { Ok(()) }
    }
}

impl From<NetRule> for String {
    fn from(rule: NetRule) -> Self {
        rule.to_string()
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
