//! The hosts that a worker is connected to.
//!
//! The registry is the one that the user named. It can send on to others: its token service, and the stores of content that
//! its redirects name. Those are connected to on public addresses, or on addresses of the same sort as the registry's, so
//! that a registry of the internet reaches nothing of this machine or its network. Names that go through a proxy are looked up
//! by the proxy, which decides what it reaches.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use modbox_policy::net::Special;

use crate::proxy::{Proxies, Proxy};
use crate::session::deadline::left;
use crate::session::tunnel;

/// Number of other hosts.
const MAX_OTHERS: usize = 8;

/// How long to wait for a connection to one address before the next one is tried.
const PATIENCE: Duration = Duration::from_secs(10);

/// The hosts of one session.
#[derive(Debug)]
pub(super) struct Hosts {
    registry: (String, u16),
    /// The sort of the registry's address, once it is connected.
    sort: Option<Special>,
    others: BTreeSet<(String, u16)>,
    proxies: Proxies,
}

/// A connection that the worker asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) host: &'a str,
    /// The TCP port.
    pub(super) port: u16,
    /// Whether TLS is spoken over it.
    pub(super) is_secure: bool,
}

impl Hosts {
    /// Returns the hosts of a registry that is at `host`, which may have a port.
    pub(super) fn of(host: &str, is_plain: bool, proxies: Proxies) -> Self {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().unwrap_or(0)),
            _ => (host, if is_plain { 80 } else { 443 }),
        };
        Self { registry: (bare(name), port), sort: None, others: BTreeSet::new(), proxies }
    }

    /// Connects to a host, if that may be, before a time.
    pub(super) fn connect(&mut self, target: Target<'_>, deadline: Instant) -> io::Result<TcpStream> {
        let Target { host, port, is_secure } = target;
        let target = (bare(host), port);
        let is_registry = target == self.registry;
        if !is_registry {
            self.admit(&target)?;
        }
        if let Some(proxy) = self.proxies.of(&target.0, port, is_secure) {
            return self.connect_through(proxy, &target, deadline);
        }
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
        for address in addresses(target, deadline)? {
            let sort = Special::of(address.ip().to_canonical());
            if !is_registry && sort.is_some() && sort != self.sort {
                failure = io::Error::other(refused(&address.ip().to_string()));
                continue;
            }
            match connected(address, deadline) {
                Ok(stream) => {
                    if is_registry {
                        self.sort = sort;
                    }
                    return Ok(stream);
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Connects to a host by a proxy. An address that is written out is judged as it is without one.
    fn connect_through(&self, proxy: &Proxy, target: &(String, u16), deadline: Instant) -> io::Result<TcpStream> {
        let (host, port) = target;
        let special = |host: &str| host.parse::<IpAddr>().ok().and_then(|address| Special::of(address.to_canonical()));
        if *target != self.registry && special(host).is_some() && special(host) != special(&self.registry.0) {
            return Err(io::Error::other(refused(host)));
        }
        let unreachable = |error: io::Error| io::Error::new(error.kind(), format!("{proxy} is not reached: {error}"));
        let mut failure = unreachable(io::Error::new(io::ErrorKind::NotFound, "its name has no address"));
        for address in addresses((proxy.host.clone(), proxy.port), deadline).map_err(unreachable)? {
            match TcpStream::connect_timeout(&address, left(deadline)?.min(PATIENCE)) {
                Ok(mut stream) => {
                    let soon = deadline.min(Instant::now() + PATIENCE);
                    tunnel::open(&mut stream, proxy, host, *port, soon)?;
                    return prepared(stream);
                }
                Err(error) => failure = unreachable(error),
            }
        }
        Err(failure)
    }

    fn admit(&mut self, target: &(String, u16)) -> io::Result<()> {
        if !self.others.contains(target) && self.others.len() >= MAX_OTHERS {
            return Err(io::Error::other("the registry sends on to too many other hosts"));
        }
        self.others.insert(target.clone());
        Ok(())
    }
}

/// Looks up a name. The C library waits as long as it likes, so a thread waits for it.
fn addresses(target: (String, u16), deadline: Instant) -> io::Result<Vec<SocketAddr>> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("resolver".to_owned()).spawn(move || {
        let found = target.to_socket_addrs().map(Iterator::collect);
        // Fails if the answer came too late.
        let _ = sender.send(found);
    })?;
    receiver.recv_timeout(left(deadline)?).map_err(|_| io::ErrorKind::TimedOut)?
}

fn connected(address: SocketAddr, deadline: Instant) -> io::Result<TcpStream> {
    prepared(TcpStream::connect_timeout(&address, left(deadline)?.min(PATIENCE))?)
}

/// Prepares a socket for the worker: it does not wait.
fn prepared(stream: TcpStream) -> io::Result<TcpStream> {
    // Requests are small, and each waits for its answer.
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn refused(address: &str) -> String {
    format!("the registry sends on to {address}, which is not an address of the internet")
}

/// Returns an address of IPv6 without its brackets.
fn bare(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').to_owned()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn hosts(registry: &str, is_plain: bool) -> Hosts {
        Hosts::of(registry, is_plain, Proxies::default())
    }

    fn at(host: &str, port: u16) -> Target<'_> {
        Target { host, port, is_secure: true }
    }

    fn soon() -> Instant {
        Instant::now() + PATIENCE
    }

    #[test]
    fn ports_are_read_or_those_of_the_scheme() {
        let registry = |host: &str, is_plain| hosts(host, is_plain).registry;
        assert_eq!(registry("ghcr.io", false), ("ghcr.io".to_owned(), 443));
        assert_eq!(registry("ghcr.io", true), ("ghcr.io".to_owned(), 80));
        assert_eq!(registry("localhost:5000", true), ("localhost".to_owned(), 5000));
        assert_eq!(registry("[::1]:5000", false), ("::1".to_owned(), 5000));
        assert_eq!(registry("[::1]", false), ("::1".to_owned(), 443));
    }

    #[test]
    fn another_host_has_no_address_of_another_sort() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut of_internet = hosts("registry.example", false);
        let error = of_internet.connect(at("127.0.0.1", port), soon()).unwrap_err().to_string();
        assert!(error.contains("127.0.0.1, which is not an address of the internet"), "{error}");
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut of_machine = hosts(&format!("127.0.0.1:{port}"), true);
        of_machine.connect(at("127.0.0.1", port), soon()).unwrap();
        of_machine.connect(at("127.0.0.1", other.local_addr().unwrap().port()), soon()).unwrap();
        let error = of_machine.connect(at("169.254.169.254", 80), soon()).unwrap_err().to_string();
        assert!(error.contains("169.254.169.254"), "{error}");
    }

    #[test]
    fn there_are_not_many_others() {
        let mut hosts = hosts("127.0.0.1:1", true);
        let refused = (1..=9).map(|port| hosts.connect(at("127.0.0.2", port), soon()).unwrap_err().to_string());
        let refused: Vec<_> = refused.collect();
        assert!(refused[8].contains("too many other hosts") && !refused[7].contains("too many"), "{refused:?}");
    }
}
