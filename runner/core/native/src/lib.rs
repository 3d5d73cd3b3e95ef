//! Runs native modules: a shell command in a tree of processes, which is watched and killed as a whole. Runs the single
//! programs that guests request in the same way.
//!
//! A module is confined to a room: namespaces that contain only the granted files and a runtime [`base`], inside the
//! confinement by [`kernel`](modbox_kernel). Only a module that is trusted with everything has no room. The steps, with
//! the numbers that the code uses:
//!
//! host ([`run`])
//! 1. write the module's files into its temporary directory;
//! 2. start the launcher, a worker process, and send it two pipes for the module's output;
//! 3. register how to undo that if a signal ends modbox;
//! 4. send the launcher the command and its grants;
//! 5. empty the pipes until the launcher replies or the time is over;
//! 6. add up the use of resources.
//!
//! launcher ([`launcher`])
//! 1. open `/proc`;
//! 2. start a session;
//! 3. become a subreaper;
//! 4. hide inherited descriptors;
//! 5. listen for ended children;
//! 6. make a process in new namespaces (user, mount, pid, net, ipc, uts), map its users, wait until it has made its
//!    room and joined its control group (where control groups are available), and let it begin if the confinement in
//!    force is accepted;
//! 7. take a real-time priority, if root;
//! 8. watch the tree, and receive the kernel's reports of system calls;
//! 9. kill what is left of the tree;
//! 10. take the files of single-name grants back to their places;
//! 11. report how the module ended, so that the host stops waiting; then remove the room's file system and the control
//!     group.
//!
//! first process of the room (`init`)
//! 1. arrange to die with the launcher;
//! 2. wait until its users are mapped; become the user whose module it is, if that is another one;
//! 3. start a session;
//! 4. make the file system. All mounts are private: granted paths and the base, read-only where
//!    the grant is; a `/proc` with its own limit of processes; a file system in memory for `/tmp`, `/dev` and the
//!    module's files. All of it is mounted in a new root, and the old root is removed;
//! 5. join the `group`;
//! 6. enter the working directory;
//! 7. set `no_new_privs`, capabilities, limits, Landlock and seccomp;
//! 8. get the listener of that filter, which reports refused calls and calls that name a path or an address;
//! 9. report the confinement in force;
//! 10. start the shell or the program;
//! 11. wait for it, and exit, which ends everything in the namespace. If it was the last process in the room, report
//!     that first, because the kernel takes long to end a namespace.
//!
//! Where the kernel gives no namespaces, the first process takes steps 1, 2 and 5 to 11: level 2. The kernel's rules
//! (Landlock) cover neither modes nor owners; seccomp refuses changes of these, sockets with a path, and calls that reach other
//! processes of the user. The launcher sets modes, times and owners in the module's place, as far as they are granted, and
//! counts processes before they start, by reports of the filter. Root's module does not start without these reports.
//!
//! A module can also be observed ([`RoomRequest::observed`]): it runs as one without a room, under a filter that refuses
//! nothing and reports uses of paths and addresses, so that the report can name what a room would refuse.
//!
//! The module can be another user's than the host's, who is root then ([`NativeContext::user`]). The first process becomes
//! that user before it opens anything, and keeps the capability to mount until step 7; what the launcher and the host do
//! with granted files, they do with that user's rights. A module that is trusted with everything is started as that user.
//!
//! Commands of the module can run outside of its room ([`OutsideRequest`]). A further worker starts them, the [`starter`]: what
//! they leave running is not below the launcher, which would kill it. Commands of guests in WebAssembly use the same starter
//! ([`GuestOutside`]).
//!
//! Launcher and host watch each other. The launcher kills the tree when the host is gone, even by SIGKILL; the host
//! kills it when the launcher is gone or does not answer. A module in a room can signal neither. Two gaps remain
//! without a room. A module that kills the launcher *and* left a process in another session leaves that process behind.
//! Without root's right to a real-time priority, a fork bomb with more busy processes than the launcher can stop ends
//! late and may leave some behind.

#![deny(missing_docs)]

mod caller;
mod calls;
mod copies;
mod error;
mod host;
mod inside;
mod kernel_file;
mod link;
mod outside;
mod processes;
mod protocol;
mod rooms;
mod step;
mod system;
mod watching;

pub use self::rooms::base;
pub use self::watching::launcher;
pub use crate::error::NativeError;
pub use crate::host::context::NativeContext;
pub use crate::host::guest_copies::GuestCopies;
pub use crate::host::guest_outside::{GuestAnswer, GuestCommand, GuestOutside};
pub use crate::host::outside_commands::OutsideRecord;
pub use crate::host::program::{ProgramCommand, ProgramFailure, ProgramOutcome, run_program};
pub use crate::host::started::{LauncherExit, RunningModule, run, start, start_talking};
pub use crate::inside::folder::can_make_in;
pub use crate::outside::{starter, stub};
pub use crate::processes::group::control_groups;
pub use crate::rooms::room::{OutsideRequest, RoomRequest, USUAL_VARIABLES};
pub use crate::rooms::runtime::{Trace, trace};
pub use crate::rooms::writable::write_obstacle;
pub use crate::step::Step;
