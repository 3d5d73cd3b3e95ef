//! Commands that guests run through `modbox:host/process`: checked against the policy, and run in the same confinement
//! as native modules, with the same grants.
//!
//! The monitor runs them, because a guest's worker has given up the right to start processes. The guest may have taken
//! over the worker that sends the request, so every request is checked here. Without a grant no command runs, and every
//! call is a denial.
//!
//! Rules for commands outside come first: what one covers, the starter of the run starts on the machine.

mod command_runner;
mod guest_commands_outside;
mod shared_temporary;

pub(crate) use self::command_runner::CommandRunner;
pub(crate) use self::guest_commands_outside::CommandsOutside;
