//! A component for any host: WASI 0.2 has no processes.

use crate::platform::process::program::{NotRun, Ran, Request};

pub(crate) const AVAILABLE: bool = false;

pub(crate) fn run(_request: &Request) -> Result<Ran, NotRun> {
    let why = "WASI has no processes, and this module was built without the feature `host-commands` of modbox-sdk";
    Err(NotRun::System(None, why.to_owned()))
}
