//! Runs native modules: a command for the shell, in a tree of processes that is watched and wholly
//! killed; and single programs, which guests ask for, in the same way.
//!
//! A module is confined to a room: namespaces, in which there is nothing but what was granted and a runtime
//! [`base`], and the walls of the [`kernel`](modbox_kernel) around it. Only a module that is trusted with
//! everything has none. The steps, numbered where the code takes them:
//!
//! host ([`run`])
//! 1. write the module's files into its temporary directory;
//! 2. start the launcher, with a socket as its input and two pipes as its output: this program again, or a `copy` of
//!    this process;
//! 3. register how to undo that, should a signal end modbox;
//! 4. send the launcher what to start, and what it may reach, unless it is a copy, which knows;
//! 5. empty the pipes until it replies or the time is over;
//! 6. count what was used.
//!
//! launcher ([`launcher`])
//! 1. open `/proc`; 2. start a session; 3. become a subreaper; 4. hide inherited descriptors; 5. listen for ended
//!    children; 6. make a process in new namespaces (user, mount, pid, net, ipc, uts), map its users, wait until it has
//!    made its room and joined its control group, if there can be one, and let it begin if what is in force is accepted; 7. go before all others, if root; 8. watch the
//!    tree, and take reports of calls; 9. kill what is left of it; 10. take single names back to where they belong;
//!    11. say how it ended, which the host need not wait any longer for, and remove the room's file system and the control
//!    group.
//!
//! the first process of the room (`init`)
//! 1. die with the launcher; have a thread make its network, and copy small files; 2. wait for its users; 3. start a session; 4. make the file system (mounts private, what is
//!    granted and the base copied, read-only where it is, a `/proc` with its own limit of processes, a file system in
//!    memory for `/tmp`, `/dev` and the module's files, all of it mounted in a new root, the old one gone), and enter the network; 5. join the
//!    `group`; 6. enter the working directory; 7. `no_new_privs`, capabilities, limits, Landlock, seccomp; 8. have calls
//!    reported; 9. say what is in force; 10. start the shell, or the program; 11. wait for it, say so if it was the last that
//!    ran in here, since ending takes the kernel long, and end, with all that is in the namespace.
//!
//! Where the kernel gives no namespaces, the first process does 1, 2 and 5 to 11: level 2. That is for ordinary users
//! alone, since rules of the kernel know neither modes nor owners, which are then refused by seccomp; sockets with a path
//! are, too.
//!
//! Each process watches the other. The launcher kills the tree when the host is gone, even by SIGKILL;
//! the host does so when the launcher is gone or does not answer. A module in a room can signal neither. Two things are
//! left to one that is not: a module that kills the launcher *and* left a process in another session
//! leaves that process; and under a user who is not root, who has no right to go first, a bomb of more busy
//! processes than the launcher gets to stop ends late and may leave some behind.

#![deny(missing_docs)]

mod attend;
pub mod base;
mod commit;
mod copy;
mod denials;
mod files;
mod group;
mod helper;
mod init;
mod kernel_file;
mod launch;
pub mod launcher;
mod link;
mod mounts;
mod namespaces;
mod observe;
mod own;
mod places;
mod program;
mod protocol;
mod reports;
mod room;
mod root;
mod runtime;
mod stage;
mod started;
mod stdin;
mod system;
mod tree;
mod watch;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use modbox_cleanup::Cleanup;
use modbox_kernel::Reached;

pub use crate::group::control_groups;
pub use crate::program::{NotStarted, ProgramCommand, ProgramOutcome, run_program};
pub use crate::protocol::Step;
pub use crate::room::Confine;
pub use crate::started::{Leaving, Started, run, start};

/// This very binary, also when its file has been replaced meanwhile.
pub const THIS_BINARY: &str = "/proc/self/exe";

/// Hides the descriptors that this process was started with, but for the three standard streams, from whatever it
/// starts.
///
/// # Errors
///
/// A kernel before Linux 5.11.
pub fn hide_descriptors() -> io::Result<()> {
    system::close_on_exec_from(3)
}

/// What is to be a launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launcher {
    /// A modbox program, which is started.
    Program(PathBuf),
    /// This process, which is modbox: a copy of it when it is small and has one thread, [`THIS_BINARY`] otherwise. To
    /// start that takes as long as half of the room, where the dynamic linker has to relocate it.
    Own,
}

/// What every run of a native module needs from its surroundings.
#[derive(Debug, Clone)]
pub struct NativeContext {
    /// What is to be the launcher.
    pub launcher: Launcher,
    /// Where the module starts.
    pub directory: PathBuf,
    /// The module's whole environment; nothing is inherited beside it. One that is confined has a few more variables,
    /// unless they are among these.
    pub environment: Vec<(OsString, OsString)>,
    /// What the module is confined to; without it, it can do everything that this user can.
    pub confine: Option<Confine>,
    /// Where to register what must not outlive modbox.
    pub cleanup: Cleanup,
}

/// What can go wrong before a native module runs, or with the launcher while it does.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// The invocation is for the engine.
    #[error("failed to run a wasm module natively")]
    NotNative,
    /// The temporary directory cannot be opened.
    #[error("failed to open the temporary directory `{path}`")]
    OpenDirectory {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A kind named a file outside the temporary directory.
    #[error("failed to use `{name}` as the name of a module's file")]
    FileName {
        /// The name.
        name: String,
    },
    /// A file of the module cannot be written.
    #[error("failed to write the module's file `{name}`")]
    WriteFile {
        /// Which one.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The socket or the pipes cannot be made.
    #[error("failed to make a channel to the launcher")]
    Channel(#[source] io::Error),
    /// The launcher does not start.
    #[error("failed to start the launcher `{path}`")]
    StartLauncher {
        /// Which binary.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The launcher does not take its instructions.
    #[error("failed to instruct the launcher")]
    Instruct(#[source] io::Error),
    /// A step of the launcher failed, so the module did not start.
    #[error("failed to {step} for the module{}", named(subject))]
    Launch {
        /// Which one.
        step: Step,
        /// On what.
        subject: String,
        /// Why.
        source: io::Error,
    },
    /// Waiting for output or for the launcher failed.
    #[error("failed to wait for the launcher")]
    Wait(#[source] io::Error),
    /// A pipe cannot be read.
    #[error("failed to read the module's output")]
    ReadOutput(#[source] io::Error),
    /// The launcher said something that is no reply.
    #[error("failed to read the launcher's reply")]
    Reply(#[source] io::Error),
    /// The launcher ended by itself without a reply.
    #[error("failed to get a reply from the launcher: {}", ended(*.status))]
    Vanished {
        /// How it ended, if that is known.
        status: Option<ExitStatus>,
    },
    /// Processes of the module sleep in the kernel and do not die.
    #[error("failed to kill {count} of the module's processes")]
    Survivors {
        /// How many.
        count: u64,
    },
    /// The kernel gives less than is accepted, so the module did not start.
    #[error("failed to confine the module enough: it would be level {}", .0.level)]
    Unconfined(Reached),
    /// Someone undid the run, because modbox is about to end.
    #[error("failed to finish the run: modbox was told to end")]
    Undone,
}

fn named(subject: &str) -> String {
    if subject.is_empty() { String::new() } else { format!(", `{subject}`") }
}

fn ended(status: Option<ExitStatus>) -> String {
    status.map_or_else(|| "it does not end".to_owned(), |status| status.to_string())
}
