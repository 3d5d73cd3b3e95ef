//! The switches of `modbox list`, as typed.

use clap::Args;

use crate::cli::args::shared::lookup::LookupArgs;
use crate::cli::args::shared::providers::ProviderArgs;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// List only modules whose full name, or its last part, is this: `*` is any text, `?` one character.
    pub(crate) pattern: Option<String>,
    /// Show digests and files, too.
    #[arg(short, long)]
    pub(crate) long: bool,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    #[command(flatten)]
    pub(crate) providers: ProviderArgs,
    /// Print one JSON object per module.
    #[arg(long)]
    pub(crate) json: bool,
}
