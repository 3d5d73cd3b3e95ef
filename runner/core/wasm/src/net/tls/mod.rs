//! `modbox:host/tls`: TLS for the sockets of a guest that brings no TLS of its own, such as the Python interpreter.
//!
//! A session does no input or output: the guest carries the bytes between it and a socket, and the socket is guarded like
//! any other. So a session reaches nothing that the guest does not reach without it. The host checks the certificate,
//! because the guest has no cryptography for that, and because the policy says where a server may have any certificate.
//! That protects the tasks of an honest guest: a hostile one could bring a TLS of its own.
//!
//! | file | content |
//! |---|---|
//! | `session` | a session: bytes and data in both directions |
//! | `settings` | checks what a guest asks for, and makes the engine's configuration of it |
//! | `verifier` | checks a server's certificate, as far as the guest asks for it |
//! | `failure` | the engine's errors, in the guest's terms |

mod failure;
mod session;
mod settings;
mod verifier;

use std::net::SocketAddr;

use modbox_policy::net::Transport;
use modbox_vocabulary::{Capability, Operation};
use wasmtime::component::{Linker, Resource};

use self::session::Session;
use crate::bindings::tls_guest::modbox::host::tls::{self, Agreement, Error, Host, HostSession, Settings};
use crate::net::network::Network;
use crate::net::view::{NetView, SocketData};

/// Most sessions at a time: as many as `wasi:http` has connections. Each holds its authorities, see `settings`.
const MAX_SESSIONS: usize = 32;

/// A guest's handle. The table identifies entries by number and type. The bindings have a type of their own for sessions,
/// so its handles carry the numbers of our entries.
type Handle = Resource<tls::Session>;

/// Links the interface.
pub(crate) fn add_sessions<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> NetView<'_>,
) -> wasmtime::Result<()> {
    tls::add_to_linker::<_, SocketData>(linker, view)
}

impl NetView<'_> {
    /// Returns whether one more session may be held.
    fn has_room_for_session(&mut self) -> bool {
        self.sockets.table.iter_mut().filter(|entry| entry.is::<Session>()).count() < MAX_SESSIONS
    }

    /// Returns an error unless a rule lets the server at an address have any certificate.
    fn admit_any_certificate(&self, address: SocketAddr) -> Result<(), Error> {
        if self.network.allows_unverified(address) {
            return Ok(());
        }
        Err(Error::Denied(self.network.deny_unverified(address, Operation::AcceptAnyCertificate)))
    }

    fn begin_session(&self, settings: Settings) -> Result<Session, Error> {
        let address = settings::address(&settings)?;
        if settings::is_unverified(&settings) {
            self.admit_any_certificate(address)?;
        }
        Session::new(settings)
    }

    fn session(&mut self, session: &Handle) -> wasmtime::Result<&mut Session> {
        Ok(self.sockets.table.get_mut(&Resource::<Session>::new_borrow(session.rep()))?)
    }
}

impl Host for NetView<'_> {}

impl HostSession for NetView<'_> {
    fn begin(&mut self, settings: Settings) -> wasmtime::Result<Result<Handle, Error>> {
        if !self.has_room_for_session() {
            return Ok(Err(Error::Failed(format!("at most {MAX_SESSIONS} TLS sessions can be open at a time"))));
        }
        Ok(match self.begin_session(settings) {
            Ok(session) => Ok(Resource::new_own(self.sockets.table.push(session)?.rep())),
            Err(error) => Err(error),
        })
    }

    fn outgoing(&mut self, session: Handle) -> wasmtime::Result<Vec<u8>> {
        Ok(self.session(&session)?.outgoing())
    }

    fn incoming(&mut self, session: Handle, bytes: Vec<u8>) -> wasmtime::Result<Result<u32, Error>> {
        Ok(self.session(&session)?.incoming(&bytes))
    }

    fn is_handshaking(&mut self, session: Handle) -> wasmtime::Result<bool> {
        Ok(self.session(&session)?.is_handshaking())
    }

    fn read(&mut self, session: Handle, most: u32) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        Ok(self.session(&session)?.read(most))
    }

    fn write(&mut self, session: Handle, data: Vec<u8>) -> wasmtime::Result<Result<u32, Error>> {
        Ok(self.session(&session)?.write(&data))
    }

    fn close(&mut self, session: Handle) -> wasmtime::Result<()> {
        self.session(&session)?.close();
        Ok(())
    }

    fn agreement(&mut self, session: Handle) -> wasmtime::Result<Option<Agreement>> {
        Ok(self.session(&session)?.agreement())
    }

    fn drop(&mut self, session: Handle) -> wasmtime::Result<()> {
        self.sockets.table.delete(Resource::<Session>::new_own(session.rep()))?;
        Ok(())
    }
}

impl Network {
    /// Returns whether a rule with `+unverified` allows an address.
    fn allows_unverified(&self, address: SocketAddr) -> bool {
        self.everything || self.allowing(Transport::Tcp, address).any(|rule| rule.is_unverified())
    }

    /// Records that the server at an address may not have any certificate. Returns the switch that would allow it.
    fn deny_unverified(&self, address: SocketAddr, operation: Operation) -> String {
        let allow = format!("{}+unverified", self.switch_for(Transport::Tcp, address));
        let subject = modbox_policy::net::shown(Transport::Tcp, address);
        self.deny(Capability::Net, subject, operation, allow.clone());
        allow
    }
}
