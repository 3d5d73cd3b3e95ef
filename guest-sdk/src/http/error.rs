//! Why an exchange did not happen, or ended half-way: what went wrong, with whom, and what to do about it.

use std::fmt;

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nothing grants the request.
    Denied,
    /// The name is granted, but it leads only to addresses that are not.
    DeniedAddress,
    /// The address is none that a request can go to.
    Url,
    /// The address has a scheme that no request goes by, or no host.
    Scheme,
    /// The address has letters in its path that none may have.
    Target,
    /// A field is none that can be sent.
    Header,
    /// The name cannot be looked up.
    Lookup,
    /// Nobody listens there.
    Refused,
    /// Nobody answered in time when the connection was made.
    ConnectTimeout,
    /// The server was silent for too long.
    Timeout,
    /// The server could not prove its name, or TLS failed otherwise.
    Tls,
    /// The server closed the connection before it answered.
    Closed,
    /// The answer is longer than what was asked for.
    TooLong,
    /// The answer ended before its end.
    Incomplete,
    /// What the body is read from, or decoded with.
    Body,
    /// The answer is not HTTP.
    Protocol,
    /// There is no HTTP here.
    Unsupported,
}

/// Why an exchange with a server did not happen, or ended half-way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpError {
    /// What went wrong.
    pub kind: ErrorKind,
    /// With whom: host and port.
    pub host: String,
    /// What is known beyond that; it may be empty.
    pub detail: String,
}

impl HttpError {
    pub(super) fn new(kind: ErrorKind, host: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { kind, host: host.into(), detail: detail.into() }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, host, detail } = self;
        match kind {
            ErrorKind::Denied => {
                write!(
                    out,
                    "nothing grants a request to `{host}`; allow it with `--allow-net {host}`, or in a policy file"
                )
            }
            ErrorKind::DeniedAddress => write!(
                out,
                "`{host}` leads to addresses that its rule does not grant, as a name's rule never grants this machine or a private \
                 network by itself; allow them with `--allow-net {host}+loopback`, or `+private`"
            ),
            ErrorKind::Url
            | ErrorKind::Scheme
            | ErrorKind::Target
            | ErrorKind::Header
            | ErrorKind::Body
            | ErrorKind::Unsupported => out.write_str(detail),
            ErrorKind::Lookup => write!(out, "the name of `{host}` cannot be looked up{}", Behind(detail)),
            ErrorKind::Refused => write!(out, "nobody listens at `{host}`"),
            ErrorKind::ConnectTimeout => write!(out, "`{host}` did not answer in time"),
            ErrorKind::Timeout => write!(out, "`{host}` was silent for too long"),
            ErrorKind::Tls => write!(out, "no TLS with `{host}`{}", Behind(detail)),
            ErrorKind::Closed => write!(out, "`{host}` closed the connection without an answer"),
            ErrorKind::TooLong => write!(out, "what `{host}` answers is too long{}", Behind(detail)),
            ErrorKind::Incomplete => write!(out, "what `{host}` answers ends before its end{}", Behind(detail)),
            ErrorKind::Protocol => write!(out, "what `{host}` answers is not HTTP{}", Behind(detail)),
        }
    }
}

impl std::error::Error for HttpError {}

/// A detail behind a sentence, if there is one.
struct Behind<'a>(&'a str);

impl fmt::Display for Behind<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(out, ": {}", self.0) }
    }
}
