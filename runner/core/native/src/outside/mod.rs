//! Commands outside: programs that a module starts in its room and that run on the machine instead, if a rule of the policy
//! covers them.
//!
//! 1. The room shows a small script in the place of each program that a rule names; see `inside/shown`. The script starts modbox in the
//!    room as a [`stub`], and the real program lies beside it.
//! 2. The stub makes a system call that no kernel has any more, with the words of the command. The filter of the room reports it,
//!    and the launcher copies the words and the stub's standard streams; see [`asks`]. Any process of the room may make the call:
//!    nothing depends on what the stub is.
//! 3. The launcher passes the copies to a process of its own kind, which has the user's authority, no filter and no room: the
//!    [`starter`]. It judges its copy by the rules, and starts that copy. What no rule covers, the stub starts in the room.
//! 4. The kernel holds the stub until the command has ended, and lets no signal but a fatal one interrupt it. Then the stub ends
//!    as the command did.
//!
//! A guest in WebAssembly runs in no room. The host itself passes its commands to the same starter; see
//! [`GuestOutside`](crate::GuestOutside).
//!
//! The starter does not descend from the launcher, so what the commands leave behind, such as a service, stays. It does not kill
//! commands half-way: a command is asked to end when the process that started it is gone, and is killed only if it then runs longer
//! than its limit. When modbox itself is killed, commands go on.

pub(crate) mod answer;
pub(crate) mod asks;
mod changeable;
mod command;
pub(crate) mod environment;
mod inputs;
mod judge;
pub(crate) mod messages;
pub(crate) mod operand_files;
pub(crate) mod paths;
pub(crate) mod refresh;
mod running;
pub mod starter;
pub mod stub;
