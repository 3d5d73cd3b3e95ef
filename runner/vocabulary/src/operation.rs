//! What a module did, or would do, when a grant was missing.

use serde::{Deserialize, Serialize};

/// The operation of a [`Denial`](crate::Denial).
///
/// The first group has the names of WASI 0.2 and of `modbox:host`, and comes from the guard around the engine. The second
/// names what a native module did, as the kernel saw it. The third comes from checks before the module starts.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Operation {
    /// `wasi:filesystem`: opening a file or a directory.
    OpenAt,
    /// Asking for what is known of an open file.
    Stat,
    /// Asking for what is known of a path.
    StatAt,
    /// Reading a link.
    ReadlinkAt,
    /// Making a directory.
    CreateDirectoryAt,
    /// Removing a directory.
    RemoveDirectoryAt,
    /// Removing a file.
    UnlinkFileAt,
    /// Making a symbolic link.
    SymlinkAt,
    /// Making a hard link.
    LinkAt,
    /// Renaming.
    RenameAt,
    /// Setting the times of an open file.
    SetTimes,
    /// Setting the times of a path.
    SetTimesAt,
    /// Setting the size of an open file.
    SetSize,
    /// Writing to an open file.
    Write,
    /// Writing to an open file by a stream.
    WriteViaStream,
    /// Appending to an open file by a stream.
    AppendViaStream,
    /// `modbox:host/files`: setting a mode.
    SetMode,
    /// Setting an owner or a group.
    SetOwner,
    /// `wasi:sockets`: making a TCP socket.
    CreateTcpSocket,
    /// Making a UDP socket.
    CreateUdpSocket,
    /// Binding a socket.
    StartBind,
    /// Connecting a socket.
    StartConnect,
    /// Listening on a socket.
    StartListen,
    /// Naming the peer of a UDP socket.
    Stream,
    /// Sending a datagram.
    Send,
    /// Receiving a datagram.
    Receive,
    /// Looking up a name.
    ResolveAddresses,
    /// `wasi:http`: sending a request.
    Handle,
    /// `modbox:host/process`: running a command.
    Run,

    /// Opening a file or a directory.
    Open,
    /// Executing a file.
    Execute,
    /// Changing, making or removing a file.
    Change,
    /// Connecting to an address, or sending to it.
    Connect,
    /// Binding an address.
    Bind,
    /// Making a file beside a granted one; it was not kept.
    CreateUnkept,

    /// Naming a path in an argument.
    Argument,
    /// Leaving an option to its default, which names a path.
    Default,
    /// Requiring a grant in the module's metadata.
    Request,
    /// Granting what the kernel cannot enforce for a native module.
    Grant,
    /// Starting with less confinement than the policy asks for.
    Start,
}

impl Operation {
    /// Returns the word that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
