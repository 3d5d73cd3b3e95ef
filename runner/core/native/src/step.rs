//! Steps of the launcher and of the first process of a room, by which failures are reported.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Step of the launcher. The variants are in the order in which the steps are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Opening `/proc`, without which a tree can be neither watched nor killed.
    Proc,
    /// Starting a session without a terminal.
    Session,
    /// Becoming the parent of orphaned descendants.
    Subreaper,
    /// Hiding inherited descriptors.
    Descriptors,
    /// Entering the module's working directory.
    Directory,
    /// Taking over the standard input.
    Stdin,
    /// Registering for SIGCHLD.
    ChildSignal,
    /// Resource limits.
    Limits,
    /// Making a process in new namespaces.
    Namespaces,
    /// Mapping its users and groups.
    Identities,
    /// Arranging to end with the launcher, and the messages between the two.
    Parent,
    /// Becoming the user whose module it is.
    User,
    /// Making mounts private and mounting.
    Mounts,
    /// Mounting the room's own `/proc`.
    ProcMount,
    /// Making the room's own file system.
    Private,
    /// Writing the module's files to it.
    Files,
    /// Mounting granted paths.
    Grant,
    /// Showing scripts in the place of the programs of commands outside.
    Stubs,
    /// Changing the root to it.
    Root,
    /// Applying Landlock, seccomp and limits.
    Confine,
    /// Starting `/bin/sh`.
    Shell,
    /// Starting a program.
    Program,
}

impl Step {
    /// Returns whether a failure of this step means that the kernel has no namespaces, or does not give them to this
    /// user.
    pub(super) fn is_of_namespaces(self) -> bool {
        matches!(
            self,
            Self::Namespaces | Self::Identities | Self::Mounts | Self::ProcMount | Self::Private | Self::Root
        )
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Proc => "open `/proc`",
            Self::Session => "start a session",
            Self::Subreaper => "become a subreaper",
            Self::Descriptors => "hide inherited descriptors",
            Self::Directory => "enter the working directory",
            Self::Stdin => "take over the standard input",
            Self::ChildSignal => "listen for ended children",
            Self::Limits => "set resource limits",
            Self::Namespaces => "make namespaces",
            Self::Identities => "map users and groups",
            Self::Parent => "speak with the launcher",
            Self::User => "become the user",
            Self::Mounts => "mount in a namespace",
            Self::ProcMount => "mount `/proc`",
            Self::Private => "make a file system of its own",
            Self::Files => "lay out the module's files",
            Self::Grant => "show what is granted",
            Self::Stubs => "replace the programs of commands outside",
            Self::Root => "change the root",
            Self::Confine => "confine itself",
            Self::Shell => "start `/bin/sh`",
            Self::Program => "start the program",
        })
    }
}
