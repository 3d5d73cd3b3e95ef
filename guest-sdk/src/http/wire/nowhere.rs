//! HTTP in a build for a Unix host is not supported. It would need a second client with TLS and name lookup, of several
//! megabytes, for modules that Ansible has already.

use std::convert::Infallible;
use std::io::{self, Read};

use super::messages::{Incoming, Outgoing};
use crate::http::error::{ErrorKind, HttpError};

/// A body, which never exists in this build.
#[derive(Debug)]
pub(in crate::http) struct IncomingBody(Infallible);

impl Read for IncomingBody {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

pub(in crate::http) fn exchange(outgoing: &Outgoing<'_>) -> Result<Incoming<IncomingBody>, HttpError> {
    let why =
        "HTTP needs a component, whose host does it: build the module with `modbox build` and run it with `modbox run`";
    Err(HttpError::new(ErrorKind::Unsupported, outgoing.url.host_and_port(), why))
}
