//! PathDecision whether an address may be used, and names the flag that would allow it.

use std::net::{IpAddr, SocketAddr};
use std::sync::PoisonError;

use modbox_policy::net::{Name, NetRule, Special, Transport, shown, words_for};
use modbox_vocabulary::{Capability, Operation};
use wasmtime_wasi::sockets::SocketAddrUse;

use crate::net::network::Network;

/// The most senders that a listening UDP socket remembers. Beyond them, a guest can answer only the latest ones.
const MAX_PEERS: usize = 1024;

impl Network {
    /// Returns whether a socket may use an address in this way; records a denial if not.
    pub(super) fn check(&self, address: SocketAddr, reason: SocketAddrUse) -> bool {
        use Transport::{Tcp, Udp};
        self.everything
            || match reason {
                SocketAddrUse::TcpConnect => self.may_reach(Tcp, address, Operation::StartConnect),
                SocketAddrUse::TcpBind => self.may_bind(Tcp, address),
                SocketAddrUse::TcpListen => self.may_listen(Tcp, address),
                // A guest that may listen may accept every connection.
                SocketAddrUse::TcpAccept => true,
                SocketAddrUse::UdpBind => self.may_bind(Udp, address),
                SocketAddrUse::UdpSend => self.is_peer(address) || self.may_reach(Udp, address, Operation::Send),
                SocketAddrUse::UdpReceive => self.may_hear(address),
            }
    }

    /// Returns whether a rule allows an address: a rule for the address, or one for a name that resolved to it.
    pub(super) fn allows(&self, transport: Transport, address: SocketAddr) -> bool {
        self.everything || self.allowing(transport, address).next().is_some()
    }

    pub(super) fn allowing(&self, transport: Transport, address: SocketAddr) -> impl Iterator<Item = &NetRule> {
        let names = self.state().addresses.get(&address.ip().to_canonical()).cloned().unwrap_or_default();
        self.rules.iter().filter(move |rule| {
            let by_name = |name| rule.names(name) && rule.admits(address.ip().to_canonical());
            rule.allows(transport, address) || (rule.covers(transport, address.port()) && names.iter().any(by_name))
        })
    }

    fn may_reach(&self, transport: Transport, address: SocketAddr, operation: Operation) -> bool {
        let allowed = self.allows(transport, address);
        if !allowed {
            self.deny_address(transport, address, operation);
        }
        allowed
    }

    /// Returns whether a socket may be bound. Without a chosen address or port, binding is always allowed: listening,
    /// sending and receiving have their own checks.
    fn may_bind(&self, transport: Transport, address: SocketAddr) -> bool {
        if self.listen.iter().any(|rule| rule.allows_bind(transport, address)) {
            self.state().udp_listens |= transport == Transport::Udp;
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
            // A port that the guest chose was already refused when it was bound.
            self.deny_listening(transport, SocketAddr::new(address.ip(), 0), Operation::StartListen);
        }
        allowed
    }

    /// Returns whether a datagram may reach the guest: from any address that it may send to, or from all addresses if
    /// it may listen.
    fn may_hear(&self, from: SocketAddr) -> bool {
        if self.allows(Transport::Udp, from) {
            return true;
        }
        let mut state = self.state();
        if state.udp_listens {
            if state.peers.len() >= MAX_PEERS {
                state.peers.clear();
            }
            state.peers.insert(from);
        }
        state.udp_listens
    }

    fn is_peer(&self, address: SocketAddr) -> bool {
        self.state().peers.contains(&address)
    }

    pub(super) fn deny_address(&self, transport: Transport, address: SocketAddr, operation: Operation) {
        let subject = shown(transport, address);
        self.deny(Capability::Net, subject, operation, self.switch_for(transport, address));
    }

    /// Returns the switch that would allow an address.
    pub(super) fn switch_for(&self, transport: Transport, address: SocketAddr) -> String {
        let ip = address.ip().to_canonical();
        // Name the host name: the guest knows it, and a rule for it stays valid when the address changes.
        let name = self.state().addresses.get(&ip).and_then(|names| names.first().cloned());
        let allow = match name {
            Some(name) => {
                format!("{}{name}:{}{}", transport.prefix(), address.port(), words_for(ip, false))
            }
            None => format!("{}{}", shown(transport, address), words_for(ip, true)),
        };
        format!("--allow-net {allow}")
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

    /// Returns whether any rule covers a name.
    pub(super) fn names(&self, name: &Name) -> bool {
        self.everything || self.rules.iter().any(|rule| rule.names(name))
    }

    /// Returns those addresses of a name that a rule admits, and remembers them. Records the others as denials.
    pub(super) fn admit(&self, name: &Name, addresses: Vec<IpAddr>, operation: Operation) -> Vec<IpAddr> {
        let (kept, dropped): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|ip| self.admits(name, *ip));
        for ip in dropped {
            self.deny_answer(name, ip, operation);
        }
        let mut state = self.state();
        for ip in &kept {
            state.addresses.entry(ip.to_canonical()).or_default().insert(name.clone());
        }
        state.names.insert(name.clone(), kept.clone());
        kept
    }

    fn admits(&self, name: &Name, ip: IpAddr) -> bool {
        let by_rule = |rule: &NetRule| (rule.names(name) && rule.admits(ip)) || rule.holds(ip);
        self.everything || self.rules.iter().any(by_rule)
    }

    /// Records that a name resolved to an address that its rules do not admit.
    fn deny_answer(&self, name: &Name, ip: IpAddr, operation: Operation) {
        let rule = self.rules.iter().find(|rule| rule.names(name));
        let allow = match (rule, Special::of(ip.to_canonical())) {
            (Some(rule), Some(special)) if special != Special::Reserved => {
                format!("--allow-net {}", rule.with(special))
            }
            // No rule can allow an address that is not a host's.
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
    use modbox_vocabulary::{GrantSource, Limits};
    use wasmtime_wasi::sockets::SocketAddrUse::{TcpBind, TcpConnect, TcpListen, UdpBind, UdpReceive, UdpSend};

    use super::*;

    fn network(net: &[&str], listen: &[&str]) -> Arc<Network> {
        let (mut policy, source) = (Policy::default(), GrantSource::named("test"));
        for rule in net {
            policy.allow_net(NetGrant { rule: rule.parse().unwrap(), source: source.clone() });
        }
        for rule in listen {
            policy.allow_listen(ListenGrant { rule: rule.parse().unwrap(), source: source.clone() });
        }
        Network::new(&policy, &Limits::default(), None)
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
        // The option of one name's rule does not apply to another name with the same address.
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
        // Each one parses as a rule, and allows the address that was denied.
        for (subject, allow) in shown.iter().skip(2) {
            let rule: NetRule = allow.strip_prefix("--allow-net ").unwrap().parse().unwrap();
            let address = subject.trim_start_matches("udp:").parse::<SocketAddr>().unwrap();
            assert!(rule.admits(address.ip()) && rule.covers(rule.transport(), address.port()), "{allow}");
        }
    }

    #[test]
    fn udp_receives_from_peers_when_listening_and_may_answer_them() {
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
        assert!(server.state().peers.len() <= MAX_PEERS);
    }

    #[test]
    fn without_a_listen_grant_a_socket_binds_only_to_a_port_of_the_systems_choice() {
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
    fn allow_everything_allows_every_address_and_name() {
        let mut policy = Policy::default();
        policy.allow_everything(&GrantSource::named("test"));
        let network = Network::new(&policy, &Limits::default(), None);
        assert!(network.check(at("169.254.169.254:80"), TcpConnect) && network.names(&name("localhost")));
        assert_eq!(
            network.admit(&name("localhost"), ips(&["127.0.0.1"]), Operation::ResolveAddresses),
            ips(&["127.0.0.1"])
        );
    }
}
