//! `ping`: returns its argument, to show that modules can run.
//!
//! Parameters: `data` (str, default `pong`), the value to return; `crash` makes the module panic.
//! Returns: `ping`, the value.
//! Capabilities: none.

#![forbid(unsafe_code)]

use modbox_sdk::{Args, Exit, Failure, Module};

modbox_sdk::module! {
    args = Ping,
    run = run,
    check_mode = true,
    returns = [ping: str = "The value of data."],
    examples = ["modbox run ping", "modbox run ping data=hello"],
}

/// Returns its argument, to show that modules can run.
///
/// This is not an ICMP ping: it does not use the network.
#[derive(Args)]
struct Ping {
    /// The value to return. The word crash makes the module panic.
    #[arg(default = "pong")]
    data: String,
}

fn run(args: Ping, _module: &mut Module) -> Result<Exit, Failure> {
    assert!(args.data != "crash", "boom");
    Ok(Exit::unchanged().with("ping", args.data))
}
