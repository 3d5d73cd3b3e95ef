//! The switches of `modbox list`, as typed.

use clap::Args;

use crate::cli::args::shared::lookup::LookupArgs;
use crate::cli::args::shared::providers::ProviderArgs;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// List only modules with this word in their name or description; or, with `*` for any text and `?` for one character, those
    /// whose full name, or its last part, fits.
    #[arg(value_name = "WORD|PATTERN")]
    pub(crate) pattern: Option<String>,
    /// List only the modules of this collection, such as community.general or ansible.builtin.
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
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
