//! `ping`: answers, to show that modules can run here.
//!
//! Parameters: `data` (str, default `pong`), what to answer; `crash` makes the module panic.
//! Returns: `ping`, the answer.
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

/// Answers, to show that modules can run here.
///
/// This is no ICMP ping: nothing touches the network.
#[derive(Args)]
struct Ping {
    /// What to answer. The word crash makes the module panic.
    #[arg(default = "pong")]
    data: String,
}

fn run(args: Ping, _module: &mut Module) -> Result<Exit, Failure> {
    assert!(args.data != "crash", "boom");
    Ok(Exit::unchanged().with("ping", args.data))
}
