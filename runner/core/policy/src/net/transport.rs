//! Transports and ports.

use std::fmt;

/// TCP or UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

impl Transport {
    /// Returns the prefix of a rule with this transport: nothing for TCP.
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
    /// The lowest port of the range.
    pub first: u16,
    /// The highest port of the range.
    pub last: u16,
}

impl Ports {
    /// All ports that a connection can have as its destination.
    pub const ALL: Self = Self { first: 1, last: u16::MAX };

    /// Returns whether the range contains a port.
    #[must_use]
    pub fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl Ports {
    /// Returns whether the range contains another one.
    #[must_use]
    pub fn includes(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { write!(f, ":{}", self.first) } else { write!(f, ":{}-{}", self.first, self.last) }
    }
}
