//! Where a run may listen.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::net::error::NetRuleError;
use crate::net::parse;
use crate::net::transport::{Ports, Transport};

/// An address of this machine and ports at which a run may listen. `0.0.0.0` and `[::]` stand for all addresses of
/// their family, port 0 for one that the system chooses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ListenRule {
    transport: Transport,
    address: IpAddr,
    ports: Ports,
}

impl ListenRule {
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

    /// Returns whether it tells no address of this machine from another, as a kernel that knows ports alone does.
    #[must_use]
    pub fn is_every_address(&self) -> bool {
        self.address.is_unspecified()
    }

    /// Returns the least rule about the same ports that tells no address from another.
    #[must_use]
    pub fn for_every_address(&self) -> Self {
        Self { address: std::net::Ipv4Addr::UNSPECIFIED.into(), ..self.clone() }
    }

    /// Returns whether a socket may be bound to an address.
    #[must_use]
    pub fn allows_bind(&self, transport: Transport, address: SocketAddr) -> bool {
        self.is_at(transport, address) && self.ports.contains(address.port())
    }

    /// Returns whether a socket that is bound to an address may listen there. A port that the system chose is in the
    /// place of port 0; one that the guest chose has passed [`ListenRule::allows_bind`].
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
            return Err(error("the port is missing; `:0` stands for one that the system chooses"));
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
