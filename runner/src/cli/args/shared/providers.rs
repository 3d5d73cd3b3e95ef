//! The switches for finding providers of libral, as typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Default, Args)]
pub(crate) struct ProviderArgs {
    /// Search providers of libral first in DIR/providers. Repeatable.
    #[arg(short = 'I', long, value_name = "DIR")]
    pub(crate) include: Vec<PathBuf>,
    /// Search providers of libral here, instead of in the directories of $RALSH_DATA_DIR.
    #[arg(long, value_name = "DIR[:DIR]")]
    pub(crate) data_dir: Option<OsString>,
}
