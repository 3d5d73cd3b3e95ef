//! The messages between the monitor and the worker that speaks with a registry.
//!
//! The worker reads what a registry sends, so its own messages are as hostile as that. The monitor bounds them, takes
//! control characters out of texts, and checks all content itself.

use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;

use modbox_channel::{Framing, Parcel};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::manifest::MAX_MANIFEST;

/// Framing of all messages: the longest has a manifest.
const MESSAGES: Framing = Framing::new(5 << 20);

const _: () = assert!(MAX_MANIFEST < 5 << 20, "a manifest fits");

/// Size of the pieces in which content comes.
pub(crate) const PIECE: usize = 256 << 10;

/// Maximum length of a text that came from a registry.
const MAX_TEXT: usize = 400;

/// Sends a message with what is attached to it.
///
/// # Errors
///
/// The other end is closed, or the message is too long.
pub(crate) fn send(mut channel: &UnixStream, message: &impl Serialize, attached: &[&[u8]]) -> io::Result<()> {
    let mut frame = Vec::new();
    MESSAGES.push_parcel(&mut frame, message, attached)?;
    channel.write_all(&frame)
}

/// Receives a message. Returns `None` at the end.
///
/// # Errors
///
/// It is not one, or does not come in time.
pub(crate) fn receive<M: DeserializeOwned>(channel: &UnixStream) -> io::Result<Option<Parcel<M>>> {
    MESSAGES.read(channel)?.map(|frame| Parcel::decode(&frame)).transpose()
}

/// Receives a message; the end is an error.
///
/// # Errors
///
/// The same, and [`io::ErrorKind::UnexpectedEof`] at the end.
pub(crate) fn receive_required<M: DeserializeOwned>(channel: &UnixStream) -> io::Result<Parcel<M>> {
    receive(channel)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The first message to a worker. Certificates of authorities follow it, as PEM.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// The registry's host, with its port if it has one.
    pub(crate) host: String,
    /// The name of the repository.
    pub(crate) repository: String,
    /// Whether the registry is spoken with without TLS.
    pub(crate) is_plain: bool,
    /// What proves to the registry who asks.
    pub(crate) proof: Option<Proof>,
}

/// A password or token, on its way to the worker.
#[derive(Serialize, Deserialize)]
pub(crate) enum Proof {
    /// The value of the header `Authorization` for a password.
    Basic(String),
    /// A token for which the registry's token service gives others.
    IdentityToken(String),
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof(***)")
    }
}

/// What the worker is to do. A manifest to put follows its order; the file of a blob to send follows as a descriptor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Fetch content of at most so many bytes.
    Fetch {
        /// The content.
        resource: Resource,
        /// The bound.
        max: u64,
    },
    /// Ask whether the registry has a blob.
    Find(Digest),
    /// Send a blob.
    Send {
        /// Its digest.
        digest: Digest,
        /// Its size in bytes.
        size: u64,
    },
    /// Put a manifest under a tag or its digest.
    Put {
        /// The tag or digest.
        reference: String,
        /// Its media type.
        media_type: String,
    },
}

/// Content of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Resource {
    /// A manifest or an index, by a tag or its digest.
    Manifest(String),
    /// A blob.
    Blob(Digest),
    /// The index of the manifests that have a manifest as their subject.
    Referrers(Digest),
}

/// What the worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    /// It asks for a connection. [`Connection`] is the answer.
    Connect {
        /// The host.
        host: String,
        /// The TCP port.
        port: u16,
        /// Whether TLS is to be spoken over it.
        is_secure: bool,
    },
    /// A piece of content, which follows.
    Piece,
    /// The order is done.
    Done(Answer),
    /// The order failed.
    Failed(TransferError),
}

/// What the monitor answers to a request for a connection. The socket follows as a descriptor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Connection {
    /// It is made.
    Made,
    /// It is not.
    Refused(Text),
}

/// The result of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// It was done.
    Done,
    /// The registry does not have what was asked for.
    NotFound,
    /// The registry has listed the manifest among the referrers of its subject.
    Referred,
}

/// A text that came from a registry: short, and without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Text(String);

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let clean = text.chars().map(|character| if character.is_control() { ' ' } else { character });
        Self(clean.take(MAX_TEXT).collect())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim())
    }
}

/// Error of a transfer with a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum TransferError {
    /// A host cannot be connected to, or may not be.
    #[error("failed to connect to `{host}`: {cause}")]
    Connect {
        /// The host.
        host: Text,
        /// The cause.
        cause: Text,
    },
    /// The connection failed.
    #[error("failed to speak with `{host}`: {cause}")]
    Connection {
        /// The host.
        host: Text,
        /// The cause.
        cause: Text,
    },
    /// The registry wants to know who asks.
    #[error(
        "`{host}` wants a user and a password for this repository, or does not take those that were found; log in by `docker login \
         {host}` or `podman login {host}`"
    )]
    Unauthorized {
        /// The registry.
        host: Text,
    },
    /// The registry refuses.
    #[error("`{host}` refuses this to the user that was given (status {status}): {reason}")]
    Forbidden {
        /// The registry.
        host: Text,
        /// The status of HTTP.
        status: u16,
        /// What the registry says.
        reason: Text,
    },
    /// The registry answers with another status than expected.
    #[error("`{host}` answered with status {status}: {reason}")]
    Status {
        /// The host.
        host: Text,
        /// The status of HTTP.
        status: u16,
        /// What the registry says.
        reason: Text,
    },
    /// The registry leads to where modbox does not follow.
    #[error("`{host}` leads to `{target}`, {reason}")]
    Redirect {
        /// The host.
        host: Text,
        /// The target.
        target: Text,
        /// Why it is not followed.
        reason: Text,
    },
    /// The registry does not follow the protocol.
    #[error("`{host}` does not answer as a registry does: {reason}")]
    Protocol {
        /// The host.
        host: Text,
        /// What is wrong.
        reason: Text,
    },
    /// Content is larger than allowed.
    #[error("`{host}` sends more than {max} bytes for {what}")]
    TooLarge {
        /// The host.
        host: Text,
        /// The content.
        what: Text,
        /// The bound in bytes.
        max: u64,
    },
    /// The worker failed.
    #[error("the process that speaks with registries failed: {0}")]
    Worker(Text),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_short_and_plain_on_arrival() {
        let wire = serde_json::to_string(&format!("\u{1b}[31mred\nline{}", "x".repeat(1000))).unwrap();
        let text: Text = serde_json::from_str(&wire).unwrap();
        assert!(text.to_string().starts_with("[31mred line") && text.to_string().len() <= MAX_TEXT, "{text}");
    }
}
