//! A build for the host: it has no HTTP. Its own TLS and its own look-up of names would be a second client to keep, of some
//! megabytes, for modules that Ansible has anyway.

use std::convert::Infallible;
use std::io::{self, Read};

use super::messages::{Incoming, Outgoing};
use crate::http::error::{ErrorKind, HttpError};

/// There is none.
#[derive(Debug)]
pub(in crate::http) struct IncomingBody(Infallible);

impl Read for IncomingBody {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

pub(in crate::http) fn exchange(outgoing: &Outgoing<'_>) -> Result<Incoming<IncomingBody>, HttpError> {
    let why = "only a component has HTTP, which its host does: build the module with `modbox build` and run it with `modbox run`";
    Err(HttpError::new(ErrorKind::Unsupported, outgoing.url.host_and_port(), why))
}
