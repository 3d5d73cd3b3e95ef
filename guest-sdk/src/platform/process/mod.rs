//! Other programs: started directly in a build for a Unix host, requested from `modbox:host/process` in a component
//! with the feature `host-commands`. Elsewhere, every call is an error.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(all(not(unix), target_family = "wasm", feature = "host-commands"), path = "component.rs")]
#[cfg_attr(all(not(unix), not(all(target_family = "wasm", feature = "host-commands"))), path = "nowhere.rs")]
mod here;

mod program;

pub(crate) use self::here::{AVAILABLE, run};
pub(crate) use self::program::{Ending, NotRun, ProgramOutput, Request};
