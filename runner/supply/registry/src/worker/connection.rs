//! Connections that the monitor makes for this process, as ureq's transport.
//!
//! This process has no right to connect. It asks the monitor, which decides by the host, and gets a socket that does not
//! wait. This file knows nothing of TLS or HTTP.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use modbox_channel::descriptor;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport};

use crate::messages::{self, Connection, Event};

/// How long a server may send and take nothing.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks the monitor for connections.
#[derive(Debug)]
pub(super) struct MonitorConnector {
    channel: Arc<UnixStream>,
}

impl MonitorConnector {
    pub(super) fn new(channel: Arc<UnixStream>) -> Self {
        Self { channel }
    }

    fn ask(&self, host: &str, port: u16, is_secure: bool) -> io::Result<OwnedFd> {
        messages::send(&self.channel, &Event::Connect { host: host.to_owned(), port, is_secure }, &[])?;
        match messages::receive_required::<Connection>(&self.channel)?.message {
            Connection::Made => descriptor::receive(&*self.channel),
            Connection::Refused(cause) => Err(io::Error::new(io::ErrorKind::NotConnected, cause.to_string())),
        }
    }
}

impl Connector for MonitorConnector {
    type Out = MonitoredSocket;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Self::Out>, Error> {
        let host = details.uri.host().ok_or_else(|| Error::BadUri("it has no host".to_owned()))?;
        let port = details.uri.port_u16().unwrap_or_else(|| if details.needs_tls() { 443 } else { 80 });
        let socket = self.ask(host, port, details.needs_tls())?;
        let buffers = LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(MonitoredSocket { socket, buffers }))
    }
}

/// Names are looked up by the monitor.
#[derive(Debug)]
pub(super) struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut none = self.empty();
        none.push(([0, 0, 0, 0], 0).into());
        Ok(none)
    }
}

/// A socket that the monitor connected.
#[derive(Debug)]
pub(super) struct MonitoredSocket {
    socket: OwnedFd,
    buffers: LazyBuffers,
}

impl MonitoredSocket {
    /// Waits until the socket is ready, at most [`PATIENCE`].
    fn wait(&self, flags: PollFlags) -> io::Result<()> {
        let timeout = Timespec::try_from(PATIENCE).ok();
        let poll = || rustix::event::poll(&mut [PollFd::new(&self.socket, flags)], timeout.as_ref());
        match rustix::io::retry_on_intr(poll)? {
            0 => {
                let text = format!("nothing came or went for {} s", PATIENCE.as_secs());
                Err(io::Error::new(io::ErrorKind::TimedOut, text))
            }
            _ => Ok(()),
        }
    }
}

impl Transport for MonitoredSocket {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        let mut sent = 0;
        while sent < amount {
            let flags = rustix::net::SendFlags::NOSIGNAL;
            match rustix::net::send(&self.socket, &self.buffers.output()[sent..amount], flags) {
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT)?,
                Err(Errno::INTR) => {}
                other => sent += other.map_err(io::Error::from)?,
            }
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        loop {
            match rustix::io::read(&self.socket, self.buffers.input_append_buf()) {
                Err(Errno::AGAIN) => self.wait(PollFlags::IN)?,
                Err(Errno::INTR) => {}
                other => {
                    let read = other.map_err(io::Error::from)?;
                    self.buffers.input_appended(read);
                    return Ok(read > 0);
                }
            }
        }
    }

    fn is_open(&mut self) -> bool {
        // Between two requests a server has nothing to say, so that what can be read is the end.
        let now = Timespec::default();
        let mut waiting = [PollFd::new(&self.socket, PollFlags::IN)];
        matches!(rustix::event::poll(&mut waiting, Some(&now)), Ok(0))
    }
}
