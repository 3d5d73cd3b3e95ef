//! Denials of native modules, with the option that allows each.

use std::net::SocketAddr;
use std::path::Path;

use modbox_policy::net::Transport;
use modbox_policy::{Access, path_option};
use modbox_vocabulary::{Capability, Denial, Operation};

/// Returns the denial of reading a path. No grant can name a path that is not UTF-8: the directory around it has to be granted.
pub(crate) fn read(path: &Path, operation: Operation) -> Denial {
    of_path(Access::Read, path, operation)
}

/// Returns the denial of changing, making or removing a path.
pub(crate) fn write(path: &Path, operation: Operation) -> Denial {
    of_path(Access::Write, path, operation)
}

fn of_path(access: Access, path: &Path, operation: Operation) -> Denial {
    let subject = path.to_string_lossy().into_owned();
    let granted = path.ancestors().find_map(Path::to_str).unwrap_or("/");
    let capability = match access {
        Access::Read => Capability::Read,
        Access::Write => Capability::Write,
    };
    Denial { capability, subject, operation, allow: path_option(access, Path::new(granted)) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_of_a_path_grants_no_other_path() {
        for (path, expect) in [
            ("/srv/a", "--allow-write /srv/a"),
            ("/srv/a::b/c", "--allow-write /srv/a::b/c"),
            // `PATH::GUEST` would be another path.
            ("/srv/a::/b/c", "--allow-write /srv/a::"),
        ] {
            let denial = write(Path::new(path), Operation::Open);
            assert_eq!((&*denial.subject, &*denial.allow), (path, expect));
        }
    }
}
