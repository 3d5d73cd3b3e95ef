//! The operations that a module tries without a grant.

use serde::{Deserialize, Serialize};

/// The operation of a [`Denial`](crate::Denial).
///
/// The first group has the names of WASI 0.2 and of `modbox:host`, and comes from the guard around the engine. The
/// second group has the operations of native modules, as the kernel reports them. The third group comes from checks
/// before the module starts.
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
    /// Reading the metadata of an open file.
    Stat,
    /// Reading the metadata of a path.
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
    /// Writing to an open file through a stream.
    WriteViaStream,
    /// Appending to an open file through a stream.
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
    /// `modbox:host/tls`: accepting any certificate of a server.
    AcceptAnyCertificate,
    /// `modbox:host/process`: running a command.
    Run,

    /// Opening a file or a directory.
    Open,
    /// Executing a file.
    Execute,
    /// Looking at a path without opening it: its metadata, its permissions or its extended attributes.
    Look,
    /// Following a link in a granted directory to a place outside of all grants, which is not there for the module.
    Follow,
    /// Changing, making or removing a file.
    Change,
    /// Removing a file, a link or a directory, by a module that is observed.
    Remove,
    /// Making a directory.
    MakeDirectory,
    /// Making a link or a special file.
    MakeLink,
    /// Connecting to an address, or sending to it.
    Connect,
    /// Binding an address.
    Bind,
    /// Setting a set-user-id or set-group-id bit. For guests, too.
    SetId,
    /// Creating a file beside a granted one; the file was not kept.
    CreateUnkept,
    /// Making a system call that the kernel refuses.
    Call,
    /// Having a variable of the environment.
    Inherit,

    /// Naming a path in an argument.
    Argument,
    /// Leaving an option to its default, which names a path.
    Default,
    /// Requiring a grant in the module's metadata.
    Request,
    /// A grant that the kernel cannot enforce for a native module.
    Grant,
    /// Starting with less confinement than the policy requires.
    Start,
    /// Having a grant that the trust rules do not let the module have.
    Trust,
}

impl Operation {
    /// Returns the word that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
