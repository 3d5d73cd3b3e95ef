//! The switch by which `modbox test` gives a run answers for its HTTP requests.

use std::path::PathBuf;

use clap::Args;

// No doc comment: clap would show it as the help of the subcommand.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StubArgs {
    /// Answer HTTP requests of a component from this file, and send none. For `modbox test`.
    #[arg(long, value_name = "FILE", hide = true,
        conflicts_with_all = ["background", "watch", "learn", "ask", "preview", "transaction"])]
    pub(crate) http_stub: Option<PathBuf>,
}
