//! The switches of `modbox run` and `modbox play` for previews and transactions.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Previews and transactions")]
pub(crate) struct LayerArgs {
    /// Run the module for real on private views of what it may write, show the changes, and discard them. With --check,
    /// also compare them with what the module's own check mode says.
    #[arg(short, long, conflicts_with_all = ["transaction", "allow_all"])]
    pub(crate) preview: bool,
    /// With --preview, let the module use the network, sockets and devices, whose effects are real.
    #[arg(long, requires = "preview")]
    pub(crate) preview_net: bool,
    /// With --preview, save the changes as a new file. `modbox apply` makes exactly these changes, or none.
    #[arg(long, value_name = "FILE", requires = "preview", conflicts_with_all = ["transaction", "watch", "background"])]
    pub(crate) save: Option<PathBuf>,
    /// Run the module on private views of what it may write, and commit all changes if it succeeds, or none.
    #[arg(long, conflicts_with_all = ["allow_all", "check"])]
    pub(crate) transaction: bool,
    /// With --transaction, write each step to the disk, so that a loss of power leaves all changes or none.
    #[arg(long, requires = "transaction")]
    pub(crate) durable: bool,
    /// With --transaction, keep what was replaced, for `modbox undo`.
    #[arg(long, requires = "transaction")]
    pub(crate) keep_undo: bool,
    /// Accept changes of which a part could not be seen or simulated.
    #[arg(long)]
    pub(crate) incomplete_ok: bool,
}
