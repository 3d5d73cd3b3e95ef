//! Whether an address may be used, and what would allow it when not.

use std::net::{IpAddr, SocketAddr};

use wasmtime_wasi::sockets::SocketAddrUse;

use super::Network;
use crate::sandbox::invocation::Denial;
use crate::sandbox::policy::net::{Name, NetRule, Special, Transport, shown, words_for};

/// Senders that a listening UDP socket remembers. A guest that serves more at a time answers the latest.
const MAX_PEERS: usize = 1024;

impl Network {
    /// Decides about an address that a socket is about to use.
    pub(super) fn check(&self, address: SocketAddr, reason: SocketAddrUse) -> bool {
        use Transport::{Tcp, Udp};
        self.everything
            || match reason {
                SocketAddrUse::TcpConnect => self.may_reach(Tcp, address, "start-connect"),
                SocketAddrUse::TcpBind => self.may_bind(Tcp, address),
                SocketAddrUse::TcpListen => self.may_listen(Tcp, address),
                // Whoever may listen may hear everybody who comes.
                SocketAddrUse::TcpAccept => true,
                SocketAddrUse::UdpBind => self.may_bind(Udp, address),
                SocketAddrUse::UdpSend => self.is_peer(address) || self.may_reach(Udp, address, "send"),
                SocketAddrUse::UdpReceive => self.may_hear(address),
            }
    }

    /// Returns whether a rule allows an address: a rule that holds it, or one for a name that led to it.
    pub(super) fn allows(&self, transport: Transport, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        if self.everything || self.rules.iter().any(|rule| rule.allows(transport, address)) {
            return true;
        }
        let seen = self.seen();
        let names = seen.addresses.get(&ip);
        names.is_some_and(|names| names.iter().any(|name| self.allows_by_name(transport, name, address)))
    }

    fn allows_by_name(&self, transport: Transport, name: &Name, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        self.rules.iter().any(|rule| rule.covers(transport, address.port()) && rule.names(name) && rule.admits(ip))
    }

    fn may_reach(&self, transport: Transport, address: SocketAddr, operation: &'static str) -> bool {
        let allowed = self.allows(transport, address);
        if !allowed {
            self.deny_address(transport, address, operation);
        }
        allowed
    }

    /// Returns whether a socket may be bound. Without a choice of address or port binding says nothing yet: listening,
    /// sending and receiving are asked about by themselves.
    fn may_bind(&self, transport: Transport, address: SocketAddr) -> bool {
        if self.listen.iter().any(|rule| rule.allows_bind(transport, address)) {
            self.seen().udp_listens |= transport == Transport::Udp;
            return true;
        }
        let unchosen = address.ip().is_unspecified() && address.port() == 0;
        if !unchosen {
            self.deny_listening(transport, address, "start-bind");
        }
        unchosen
    }

    fn may_listen(&self, transport: Transport, address: SocketAddr) -> bool {
        let allowed = self.listen.iter().any(|rule| rule.allows_listen(transport, address));
        if !allowed {
            // A port that the guest had chosen was refused before.
            self.deny_listening(transport, SocketAddr::new(address.ip(), 0), "start-listen");
        }
        allowed
    }

    /// Returns whether a datagram may reach the guest: from where it may send to, or from anyone when it may listen.
    fn may_hear(&self, from: SocketAddr) -> bool {
        if self.allows(Transport::Udp, from) {
            return true;
        }
        let mut seen = self.seen();
        if seen.udp_listens {
            if seen.peers.len() >= MAX_PEERS {
                seen.peers.clear();
            }
            seen.peers.insert(from);
        }
        seen.udp_listens
    }

    fn is_peer(&self, address: SocketAddr) -> bool {
        self.seen().peers.contains(&address)
    }

    pub(super) fn deny_address(&self, transport: Transport, address: SocketAddr, operation: &'static str) {
        let subject = shown(transport, address);
        let ip = address.ip().to_canonical();
        // The guest knows the name, and the rule for it outlives the address.
        let name = self.seen().addresses.get(&ip).and_then(|names| names.first().cloned());
        let allow = match name {
            Some(name) => {
                format!("{}{name}:{}{}", transport.prefix(), address.port(), words_for(ip, false))
            }
            None => format!("{subject}{}", words_for(ip, true)),
        };
        self.deny("net", subject, operation, format!("--allow-net {allow}"));
    }

    fn deny_listening(&self, transport: Transport, address: SocketAddr, operation: &'static str) {
        let subject = shown(transport, address);
        let allow = format!("--allow-listen {subject}");
        self.deny("listen", subject, operation, allow);
    }

    pub(super) fn deny(&self, capability: &'static str, subject: String, operation: &'static str, allow: String) {
        self.denials.record(Denial { capability, subject, operation, allow });
    }

    /// Returns whether any rule is about a name.
    pub(super) fn names(&self, name: &Name) -> bool {
        self.everything || self.rules.iter().any(|rule| rule.names(name))
    }

    /// Keeps the addresses of a name that some rule admits, remembers them, and records the others.
    pub(super) fn admit(&self, name: &Name, addresses: Vec<IpAddr>, operation: &'static str) -> Vec<IpAddr> {
        let (kept, dropped): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|ip| self.admits(name, *ip));
        for ip in dropped {
            self.deny_answer(name, ip, operation);
        }
        let mut seen = self.seen();
        for ip in &kept {
            seen.addresses.entry(ip.to_canonical()).or_default().insert(name.clone());
        }
        seen.names.insert(name.clone(), kept.clone());
        kept
    }

    fn admits(&self, name: &Name, ip: IpAddr) -> bool {
        let by_rule = |rule: &NetRule| (rule.names(name) && rule.admits(ip)) || rule.holds(ip);
        self.everything || self.rules.iter().any(by_rule)
    }

    /// Records an address that a name led to and that its rules do not admit.
    fn deny_answer(&self, name: &Name, ip: IpAddr, operation: &'static str) {
        let rule = self.rules.iter().find(|rule| rule.names(name));
        let allow = match (rule, Special::of(ip.to_canonical())) {
            (Some(rule), Some(special)) if special != Special::Reserved => {
                format!("--allow-net {}", rule.with(special))
            }
            // No rule allows an address that is no host's.
            _ => String::new(),
        };
        self.deny("net", format!("{name} ({ip})"), operation, allow);
    }
}
