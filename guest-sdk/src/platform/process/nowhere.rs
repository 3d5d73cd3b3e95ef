//! Programs for a component on any host: WASI 0.2 has no processes.

use crate::platform::process::program::{NotRun, ProgramOutput, Request};

pub(crate) const AVAILABLE: bool = false;

pub(crate) fn run(_request: &Request) -> Result<ProgramOutput, NotRun> {
    let why = "WASI has no processes, and this module was built without the feature `host-commands` of modbox-sdk";
    Err(NotRun::System(None, why.to_owned()))
}
