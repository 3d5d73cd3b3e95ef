//! The errors of an exchange with a server: the cause, the host, and a remedy.

use std::fmt;

/// The cause of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is not granted.
    Denied,
    /// The name is granted, but all its addresses are not.
    DeniedAddress,
    /// The URL is invalid.
    Url,
    /// The URL has no host, or its scheme is not supported.
    Scheme,
    /// The URL's path contains characters that are not allowed.
    Target,
    /// A header field cannot be sent.
    Header,
    /// The name lookup failed.
    Lookup,
    /// The connection was refused.
    Refused,
    /// The connection was not made in time.
    ConnectTimeout,
    /// The server was silent for too long.
    Timeout,
    /// The server's certificate is invalid, or TLS failed otherwise.
    Tls,
    /// The server closed the connection without a response.
    Closed,
    /// The response is longer than the limit.
    TooLong,
    /// The response is incomplete.
    Incomplete,
    /// Reading or decoding a body failed.
    Body,
    /// The response is not HTTP.
    Protocol,
    /// This build has no HTTP.
    Unsupported,
}

/// Why an exchange with a server failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpError {
    /// The cause.
    pub kind: ErrorKind,
    /// The server: host and port.
    pub host: String,
    /// Further details. May be empty.
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
                    "failed to send a request to `{host}`: it is not granted; allow it with `--allow-net {host}`, or in a \
                     policy file"
                )
            }
            ErrorKind::DeniedAddress => write!(
                out,
                "failed to send a request to `{host}`: its addresses are not granted, since a rule with a name never grants \
                 this machine or a private network; allow them with `--allow-net {host}+loopback`, or `+private`"
            ),
            ErrorKind::Url
            | ErrorKind::Scheme
            | ErrorKind::Target
            | ErrorKind::Header
            | ErrorKind::Body
            | ErrorKind::Unsupported => out.write_str(detail),
            ErrorKind::Lookup => write!(out, "failed to look up `{host}`{}", Detail(detail)),
            ErrorKind::Refused => write!(out, "`{host}` refused the connection"),
            ErrorKind::ConnectTimeout => write!(out, "`{host}` did not answer in time"),
            ErrorKind::Timeout => write!(out, "`{host}` was silent for too long"),
            ErrorKind::Tls => write!(out, "failed to start TLS with `{host}`{}", Detail(detail)),
            ErrorKind::Closed => write!(out, "`{host}` closed the connection without a response"),
            ErrorKind::TooLong => write!(out, "the response of `{host}` is too long{}", Detail(detail)),
            ErrorKind::Incomplete => write!(out, "the response of `{host}` is incomplete{}", Detail(detail)),
            ErrorKind::Protocol => write!(out, "the response of `{host}` is not HTTP{}", Detail(detail)),
        }
    }
}

impl std::error::Error for HttpError {}

/// A detail to append to a message, if there is one.
struct Detail<'a>(&'a str);

impl fmt::Display for Detail<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(out, ": {}", self.0) }
    }
}
