//! `modbox:host/system-log`: messages of a guest for the system's log, whose socket it is granted.
//!
//! The worker connects before it is confined, since afterwards it may make no sockets. The log learns the process from the
//! kernel, and adds the time.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;

use modbox_policy::{Access, Policy};
use wasmtime::component::{HasData, Linker};

use crate::bindings::system_log_guest::modbox::host::system_log;

/// Path of the log's socket, as guests see it.
const SOCKET: &str = "/dev/log";

/// Greatest priority: the last facility, and the least urgent message.
const MAX_PRIORITY: u32 = 191;

/// Longest tag in bytes; syslog daemons cut longer ones.
const MAX_TAG: usize = 32;

/// Longest message in bytes; syslog daemons cut longer ones.
const MAX_MESSAGE: usize = 8 << 10;

/// A connection to the system's log.
#[derive(Debug)]
pub struct SystemLog {
    socket: UnixDatagram,
}

impl SystemLog {
    /// Connects to the log, if the policy grants its socket for writing and something listens there.
    #[must_use]
    pub fn open(policy: &Policy) -> Option<Arc<Self>> {
        let is_log = |guest: &str| Path::new(guest) == Path::new(SOCKET);
        let mut grants = policy.paths().iter().filter(|grant| grant.access == Access::Write && is_log(&grant.guest));
        let host = match grants.next_back() {
            Some(grant) => policy.single_files().place(&grant.host),
            None if policy.allows_everything() => Path::new(SOCKET),
            None => return None,
        };
        let connected = UnixDatagram::unbound().and_then(|socket| {
            // A log that does not read must not stop the guest.
            socket.set_nonblocking(true)?;
            socket.connect(host)?;
            Ok(Arc::new(Self { socket }))
        });
        connected.inspect_err(|error| tracing::debug!(%error, "the log of the system cannot be reached")).ok()
    }

    /// Sends a message, and returns whether the log took it.
    fn add(&self, priority: u32, tag: &str, text: &str) -> bool {
        priority <= MAX_PRIORITY && self.socket.send(message(priority, tag, text).as_bytes()).is_ok()
    }
}

/// Returns a message of RFC 3164 without time and host, which the log adds.
fn message(priority: u32, tag: &str, text: &str) -> String {
    let tag = cut(tag, MAX_TAG);
    // A message of several lines could look like several messages.
    let plain = |part: &str| part.replace(char::is_control, " ");
    format!("<{priority}>{}: {}", plain(tag), plain(cut(text, MAX_MESSAGE)))
}

/// Returns the beginning of a text, at most `max` bytes.
fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Connection of a run to the log, if it is granted.
pub(super) type RunLog = Option<Arc<SystemLog>>;

impl system_log::Host for RunLog {
    fn add(&mut self, priority: u32, tag: String, text: String) -> wasmtime::Result<bool> {
        Ok(self.as_ref().is_some_and(|log| log.add(priority, &tag, &text)))
    }
}

/// Type that names [`RunLog`] to the linker.
struct Log;

impl HasData for Log {
    type Data<'a> = &'a mut RunLog;
}

/// Links the interface. `log` returns the connection of the run from the store's data.
pub(super) fn add_log<T: 'static>(linker: &mut Linker<T>, log: fn(&mut T) -> &mut RunLog) -> wasmtime::Result<()> {
    system_log::add_to_linker::<T, Log>(linker, log)
}

#[cfg(test)]
mod tests {
    use modbox_policy::{PathGrant, Shape};
    use modbox_vocabulary::GrantSource;

    use super::*;

    fn policy(host: &Path, guest: &str, access: Access) -> Policy {
        let mut policy = Policy::default();
        let (host, guest, source) = (host.to_owned(), guest.to_owned(), GrantSource::named(""));
        policy.allow_path(PathGrant { host, shape: Shape::Name, guest, access, source }).unwrap();
        policy
    }

    #[test]
    fn a_granted_log_gets_messages_and_no_other_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        assert!(SystemLog::open(&policy(&path, SOCKET, Access::Write)).is_none(), "nothing is there");
        let daemon = UnixDatagram::bind(&path).unwrap();
        daemon.set_nonblocking(true).unwrap();
        let log = SystemLog::open(&policy(&path, SOCKET, Access::Write)).unwrap();
        assert!(log.add(14, "ansible-ping", "Invoked\n<0>kernel: \u{1b}[31mfire"));
        let mut bytes = [0; 100];
        let length = daemon.recv(&mut bytes).unwrap();
        assert_eq!(str::from_utf8(&bytes[..length]).unwrap(), "<14>ansible-ping: Invoked <0>kernel:  [31mfire");
        assert!(!log.add(192, "a", "b") && daemon.recv(&mut bytes).is_err());
        // A log that does not read is full at some time, and takes nothing.
        assert!((0..100_000).any(|_| !log.add(14, "a", "b")));
        for (guest, access) in [(SOCKET, Access::Read), ("/dev/logs", Access::Write), ("/dev", Access::Write)] {
            assert!(SystemLog::open(&policy(&path, guest, access)).is_none(), "{guest}");
        }
        assert!(SystemLog::open(&Policy::default()).is_none());
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let long = message(0, &"t".repeat(100), &"ä".repeat(8 << 10));
        assert_eq!(long.len(), "<0>: ".len() + MAX_TAG + MAX_MESSAGE);
        assert_eq!(cut("aä", 2), "a");
    }
}
