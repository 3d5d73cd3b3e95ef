//! Rules for the addresses on which a run may listen.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::net::error::NetRuleError;
use crate::net::parse;
use crate::net::transport::{Ports, Transport};

/// An address of this machine and ports on which a run may listen. `0.0.0.0` and `[::]` stand for all addresses of
/// their family, port 0 for a port that the system chooses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ListenRule {
    transport: Transport,
    address: IpAddr,
    ports: Ports,
}

impl ListenRule {
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

    /// Returns whether the rule does not distinguish addresses of this machine, like a kernel that filters ports only.
    #[must_use]
    pub fn is_every_address(&self) -> bool {
        self.address.is_unspecified()
    }

    /// Returns whether the rule permits all that another one does.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        let every = self.address.is_unspecified() && self.address.is_ipv4() == other.address.is_ipv4();
        self.transport == other.transport
            && (every || self.address == other.address)
            && self.ports.includes(other.ports)
    }

    /// Returns the narrowest rule for the same ports that does not distinguish addresses.
    #[must_use]
    pub fn for_every_address(&self) -> Self {
        Self { address: std::net::Ipv4Addr::UNSPECIFIED.into(), ..self.clone() }
    }

    /// Returns whether the rule permits binding a socket to an address.
    #[must_use]
    pub fn allows_bind(&self, transport: Transport, address: SocketAddr) -> bool {
        self.is_at(transport, address) && self.ports.contains(address.port())
    }

    /// Returns whether the rule permits listening on a bound socket. A rule for port 0 covers the port that the system
    /// chose. A port that the guest chose has passed [`ListenRule::allows_bind`].
    #[must_use]
    pub fn allows_listen(&self, transport: Transport, address: SocketAddr) -> bool {
        self.is_at(transport, address) && (self.ports.contains(address.port()) || self.ports.contains(0))
    }

    fn is_at(&self, transport: Transport, address: SocketAddr) -> bool {
        let every = self.address.is_unspecified() && self.address.is_ipv4() == address.is_ipv4();
        self.transport == transport && (every || self.address == address.ip())
    }
}

impl FromStr for ListenRule {
    type Err = NetRuleError;

    fn from_str(text: &str) -> Result<Self, NetRuleError> {
        let error = |cause: &str| NetRuleError::new(text, cause);
        let (transport, rest) = parse::transport(text);
        let (host, ports) = parse::split_port(rest).map_err(|cause| error(&cause))?;
        let Some(address) = parse::address(host) else {
            return Err(error("not an address of this machine, such as `127.0.0.1:8080`, `[::1]:8080` or `0.0.0.0:0`"));
        };
        let Some(ports) = ports else {
            return Err(error("the port is missing; with `:0`, the system chooses one"));
        };
        Ok(Self { transport, address, ports: parse::ports(ports, 0).map_err(|cause| error(&cause))? })
    }
}

impl fmt::Display for ListenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.transport.prefix())?;
        match self.address {
            IpAddr::V4(address) => write!(f, "{address}{}", self.ports),
            IpAddr::V6(address) => write!(f, "[{address}]{}", self.ports),
        }
    }
}

impl From<ListenRule> for String {
    fn from(rule: ListenRule) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for ListenRule {
    type Error = NetRuleError;

    fn try_from(text: String) -> Result<Self, NetRuleError> {
        text.parse()
    }
}
