//! `ping`: answers, to show that modules can run here.
//!
//! Parameters: `data` (str, default `pong`), what to answer; `crash` makes the module panic.
//! Returns: `ping`, the answer.
//! Capabilities: none.

#![forbid(unsafe_code)]

use modbox_sdk::{Exit, Failure, Module};

modbox_sdk::module! { metadata = "module.json", run = run }

#[derive(serde::Deserialize)]
struct Args {
    data: String,
}

fn run(args: Args, _module: &mut Module) -> Result<Exit, Failure> {
    assert!(args.data != "crash", "boom");
    Ok(Exit::unchanged().with("ping", args.data))
}
