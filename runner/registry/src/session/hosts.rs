//! The hosts that a worker is connected to.
//!
//! The registry is the one that the user named. It can send on to others: its token service, and the stores of content that
//! its redirects name. Those are connected to on public addresses, or on addresses of the same sort as the registry's, so
//! that a registry of the internet reaches nothing of this machine or its network.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use modbox_policy::net::Special;

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
}

impl Hosts {
    /// Returns the hosts of a registry that is at `host`, which may have a port.
    pub(super) fn of(host: &str, is_plain: bool) -> Self {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().unwrap_or(0)),
            _ => (host, if is_plain { 80 } else { 443 }),
        };
        Self { registry: (bare(name), port), sort: None, others: BTreeSet::new() }
    }

    /// Connects to a host, if that may be, before a time.
    pub(super) fn connect(&mut self, host: &str, port: u16, deadline: Instant) -> io::Result<TcpStream> {
        let target = (bare(host), port);
        let is_registry = target == self.registry;
        if !is_registry {
            self.admit(&target)?;
        }
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
        for address in addresses(target, deadline)? {
            let sort = Special::of(address.ip().to_canonical());
            if !is_registry && sort.is_some() && sort != self.sort {
                failure = refused(address.ip());
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

/// Returns the time until a deadline.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Connects to an address. The socket does not wait.
fn connected(address: SocketAddr, deadline: Instant) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, left(deadline)?.min(PATIENCE))?;
    // Requests are small, and each waits for its answer.
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn refused(address: IpAddr) -> io::Error {
    io::Error::other(format!("the registry sends on to {address}, which is not an address of the internet"))
}

/// Returns an address of IPv6 without its brackets.
fn bare(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').to_owned()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + PATIENCE
    }

    #[test]
    fn ports_are_read_or_those_of_the_scheme() {
        let registry = |host: &str, is_plain| Hosts::of(host, is_plain).registry;
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
        let mut of_internet = Hosts::of("registry.example", false);
        let error = of_internet.connect("127.0.0.1", port, soon()).unwrap_err().to_string();
        assert!(error.contains("127.0.0.1, which is not an address of the internet"), "{error}");
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut of_machine = Hosts::of(&format!("127.0.0.1:{port}"), true);
        of_machine.connect("127.0.0.1", port, soon()).unwrap();
        of_machine.connect("127.0.0.1", other.local_addr().unwrap().port(), soon()).unwrap();
        let error = of_machine.connect("169.254.169.254", 80, soon()).unwrap_err().to_string();
        assert!(error.contains("169.254.169.254"), "{error}");
    }

    #[test]
    fn there_are_not_many_others() {
        let mut hosts = Hosts::of("127.0.0.1:1", true);
        let refused = (1..=9).map(|port| hosts.connect("127.0.0.2", port, soon()).unwrap_err().to_string());
        let refused: Vec<_> = refused.collect();
        assert!(refused[8].contains("too many other hosts") && !refused[7].contains("too many"), "{refused:?}");
    }
}
