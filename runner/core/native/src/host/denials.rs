//! Denials of native modules, with the option that allows each.

use std::net::SocketAddr;
use std::path::Path;

use modbox_policy::net::Transport;
use modbox_vocabulary::quoting::quote;
use modbox_vocabulary::{Capability, Denial, Operation};

/// Returns the denial of reading a path, or `None` for a path that is not UTF-8, which no grant can name.
pub(crate) fn read(path: &Path, operation: Operation) -> Option<Denial> {
    of_path(Capability::Read, path, operation)
}

/// Returns the denial of changing, making or removing a path, or `None` for a path that is not UTF-8.
pub(crate) fn write(path: &Path, operation: Operation) -> Option<Denial> {
    of_path(Capability::Write, path, operation)
}

fn of_path(capability: Capability, path: &Path, operation: Operation) -> Option<Denial> {
    let subject = path.to_str()?.to_owned();
    let allow = format!("--allow-{capability} {}", quote(&subject));
    Some(Denial { capability, subject, operation, allow })
}

/// Returns the denial of connecting to an address. For native modules the kernel restricts only ports of TCP; it
/// restricts neither hosts nor ports of UDP.
pub(crate) fn connect(transport: Transport, address: SocketAddr) -> Denial {
    let hosts = match transport {
        Transport::Tcp => format!("*:{}+any", address.port()),
        Transport::Udp => "udp:*+any".to_owned(),
    };
    let (capability, operation) = (Capability::Net, Operation::Connect);
    Denial { capability, subject: shown(transport, address), operation, allow: format!("--allow-net '{hosts}'") }
}

/// Returns the denial of listening on an address, or of choosing a port.
pub(crate) fn bind(transport: Transport, address: SocketAddr) -> Denial {
    let place = match transport {
        Transport::Tcp => format!("0.0.0.0:{}", address.port()),
        Transport::Udp => "udp:0.0.0.0:0-65535".to_owned(),
    };
    let (capability, operation) = (Capability::Listen, Operation::Bind);
    Denial { capability, subject: shown(transport, address), operation, allow: format!("--allow-listen {place}") }
}

fn shown(transport: Transport, address: SocketAddr) -> String {
    format!("{}{address}", transport.prefix())
}
