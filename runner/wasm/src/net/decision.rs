//! Whether an address may be used, and what would allow it when not.

use std::net::{IpAddr, SocketAddr};
use std::sync::PoisonError;

use modbox_policy::net::{Name, NetRule, Special, Transport, shown, words_for};
use modbox_vocabulary::{Capability, Operation};
use wasmtime_wasi::sockets::SocketAddrUse;

use crate::net::network::Network;

/// Senders that a listening UDP socket remembers. A guest that serves more at a time answers the latest.
const MAX_PEERS: usize = 1024;

impl Network {
    /// Decides about an address that a socket is about to use.
    pub(super) fn check(&self, address: SocketAddr, reason: SocketAddrUse) -> bool {
        use Transport::{Tcp, Udp};
        self.everything
            || match reason {
                SocketAddrUse::TcpConnect => self.may_reach(Tcp, address, Operation::StartConnect),
                SocketAddrUse::TcpBind => self.may_bind(Tcp, address),
                SocketAddrUse::TcpListen => self.may_listen(Tcp, address),
                // Whoever may listen may hear everybody who comes.
                SocketAddrUse::TcpAccept => true,
                SocketAddrUse::UdpBind => self.may_bind(Udp, address),
                SocketAddrUse::UdpSend => self.is_peer(address) || self.may_reach(Udp, address, Operation::Send),
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

    fn may_reach(&self, transport: Transport, address: SocketAddr, operation: Operation) -> bool {
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
            self.deny_listening(transport, address, Operation::StartBind);
        }
        unchosen
    }

    fn may_listen(&self, transport: Transport, address: SocketAddr) -> bool {
        let allowed = self.listen.iter().any(|rule| rule.allows_listen(transport, address));
        if !allowed {
            // A port that the guest had chosen was refused before.
            self.deny_listening(transport, SocketAddr::new(address.ip(), 0), Operation::StartListen);
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

    pub(super) fn deny_address(&self, transport: Transport, address: SocketAddr, operation: Operation) {
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
        self.deny(Capability::Net, subject, operation, format!("--allow-net {allow}"));
    }

    fn deny_listening(&self, transport: Transport, address: SocketAddr, operation: Operation) {
        let subject = shown(transport, address);
        let allow = format!("--allow-listen {subject}");
        self.deny(Capability::Listen, subject, operation, allow);
    }

    pub(super) fn deny(&self, capability: Capability, subject: String, operation: Operation, allow: String) {
        let mut denials = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
        denials.record(capability, &subject, operation, || allow);
    }

    /// Returns whether any rule is about a name.
    pub(super) fn names(&self, name: &Name) -> bool {
        self.everything || self.rules.iter().any(|rule| rule.names(name))
    }

    /// Keeps the addresses of a name that some rule admits, remembers them, and records the others.
    pub(super) fn admit(&self, name: &Name, addresses: Vec<IpAddr>, operation: Operation) -> Vec<IpAddr> {
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
    fn deny_answer(&self, name: &Name, ip: IpAddr, operation: Operation) {
        let rule = self.rules.iter().find(|rule| rule.names(name));
        let allow = match (rule, Special::of(ip.to_canonical())) {
            (Some(rule), Some(special)) if special != Special::Reserved => {
                format!("--allow-net {}", rule.with(special))
            }
            // No rule allows an address that is no host's.
            _ => String::new(),
        };
        self.deny(Capability::Net, format!("{name} ({ip})"), operation, allow);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use modbox_policy::Policy;
    use modbox_policy::net::{ListenGrant, NetGrant};
    use modbox_vocabulary::Limits;
    use wasmtime_wasi::sockets::SocketAddrUse::{TcpBind, TcpConnect, TcpListen, UdpBind, UdpReceive, UdpSend};

    use super::*;

    fn network(net: &[&str], listen: &[&str]) -> Arc<Network> {
        let (mut policy, source) = (Policy::default(), "test".to_owned());
        for rule in net {
            policy.allow_net(NetGrant { rule: rule.parse().unwrap(), source: source.clone() });
        }
        for rule in listen {
            policy.allow_listen(ListenGrant { rule: rule.parse().unwrap(), source: source.clone() });
        }
        Network::new(&policy, &Limits::default())
    }

    fn at(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_name_allows_the_addresses_that_its_lookup_returned_and_no_others() {
        let network = network(&["api.example.org:443", "*.internal:5432+private"], &[]);
        assert!(!network.check(at("93.184.216.34:443"), TcpConnect), "not looked up yet");
        let answer = ips(&["93.184.216.34", "10.0.0.1", "169.254.169.254", "127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0"]);
        assert_eq!(
            network.admit(&name("api.example.org"), answer, Operation::ResolveAddresses),
            ips(&["93.184.216.34"])
        );
        assert!(network.check(at("93.184.216.34:443"), TcpConnect));
        for other in ["93.184.216.34:80", "93.184.216.35:443", "10.0.0.1:443", "127.0.0.1:443", "169.254.169.254:443"] {
            assert!(!network.check(at(other), TcpConnect), "{other}");
        }
        assert!(!network.check(at("93.184.216.34:443"), UdpSend));
        assert_eq!(
            network.admit(&name("db.internal"), ips(&["10.0.0.1", "127.0.0.1"]), Operation::ResolveAddresses),
            ips(&["10.0.0.1"])
        );
        assert!(network.check(at("10.0.0.1:5432"), TcpConnect));
        // The word of one name's rule does not help another name that leads to the same place.
        assert!(network.admit(&name("api.example.org"), ips(&["10.0.0.1"]), Operation::ResolveAddresses).is_empty());
        assert!(!network.check(at("10.0.0.1:443"), TcpConnect));
    }

    #[test]
    fn a_denial_says_what_would_allow_it() {
        let network = network(&["api.example.org:443"], &[]);
        network.admit(
            &name("api.example.org"),
            ips(&["93.184.216.34", "10.0.0.1", "0.0.0.0"]),
            Operation::ResolveAddresses,
        );
        network.check(at("93.184.216.34:80"), TcpConnect);
        network.check(at("[fd00:ec2::254]:80"), TcpConnect);
        network.check(at("[2001:db8::1]:53"), UdpSend);
        let denials = network.denials();
        let shown: Vec<(&str, &str)> =
            denials.listed().iter().map(|denial| (denial.subject.as_str(), denial.allow.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("api.example.org (10.0.0.1)", "--allow-net api.example.org:443+private"),
                ("api.example.org (0.0.0.0)", ""),
                ("93.184.216.34:80", "--allow-net api.example.org:80"),
                ("[fd00:ec2::254]:80", "--allow-net [fd00:ec2::254]:80+metadata"),
                ("udp:[2001:db8::1]:53", "--allow-net udp:[2001:db8::1]:53"),
            ]
        );
        // Each is a rule, and it does allow what was denied.
        for (subject, allow) in shown.iter().skip(2) {
            let rule: NetRule = allow.strip_prefix("--allow-net ").unwrap().parse().unwrap();
            let address = subject.trim_start_matches("udp:").parse::<SocketAddr>().unwrap();
            assert!(rule.admits(address.ip()) && rule.covers(rule.transport(), address.port()), "{allow}");
        }
    }

    #[test]
    fn who_may_be_heard_and_answered() {
        let peer = at("203.0.113.7:4000");
        let client = network(&["udp:192.0.2.53:53"], &[]);
        assert!(client.check(at("0.0.0.0:0"), UdpBind));
        assert!(client.check(at("192.0.2.53:53"), UdpReceive));
        assert!(!client.check(peer, UdpReceive));
        let server = network(&[], &["udp:0.0.0.0:53"]);
        assert!(!server.check(peer, UdpReceive), "before it listens");
        assert!(server.check(at("0.0.0.0:53"), UdpBind));
        assert!(!server.check(peer, UdpSend), "before it has heard anything");
        assert!(server.check(peer, UdpReceive));
        assert!(server.check(peer, UdpSend));
        assert!(!server.check(at("203.0.113.7:4001"), UdpSend));
        for port in 1..5000 {
            server.check(SocketAddr::new(peer.ip(), port), UdpReceive);
        }
        assert!(server.seen().peers.len() <= MAX_PEERS);
    }

    #[test]
    fn a_port_of_the_systems_choice_is_for_clients_unless_listening_is_granted() {
        let client = network(&["192.0.2.1"], &[]);
        assert!(client.check(at("0.0.0.0:0"), TcpBind));
        assert!(!client.check(at("0.0.0.0:43211"), TcpListen));
        assert!(!client.check(at("127.0.0.1:0"), TcpBind));
        assert!(!client.check(at("0.0.0.0:80"), TcpBind));
        let server = network(&[], &["0.0.0.0:0"]);
        assert!(server.check(at("0.0.0.0:43211"), TcpListen));
        assert!(!server.check(at("192.0.2.1:80"), TcpConnect));
    }

    #[test]
    fn everything_is_everything() {
        let mut policy = Policy::default();
        policy.allow_everything("test");
        let network = Network::new(&policy, &Limits::default());
        assert!(network.check(at("169.254.169.254:80"), TcpConnect) && network.names(&name("localhost")));
        assert_eq!(
            network.admit(&name("localhost"), ips(&["127.0.0.1"]), Operation::ResolveAddresses),
            ips(&["127.0.0.1"])
        );
    }
}
