//! The switches of `status` and `jobs`, and the switch that they share with `run`, as typed.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Default, Args)]
pub(crate) struct JobFolderArgs {
    /// Folder of jobs [default: $ANSIBLE_ASYNC_DIR, else ~/.ansible_async].
    #[arg(long, value_name = "DIR", help_heading = "Jobs")]
    pub(crate) async_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = STATUS_HELP)]
pub(crate) struct StatusArgs {
    /// The job's id, which `run --async` printed.
    pub(crate) job: String,
    /// Remove the job's file.
    #[arg(long)]
    pub(crate) cleanup: bool,
    #[command(flatten)]
    pub(crate) folder: JobFolderArgs,
}

const STATUS_HELP: &str = "\
Examples:
  modbox status j012345678901.4711
  modbox status j012345678901.4711 --cleanup

Exit status: 0 finished with ok, changed or skipped · 1 finished with failed · 3 unknown job · 5 time limit reached \
· 6 lost: its monitor was killed · 7 not finished · 70 internal error of modbox.";

const JOBS_HELP: &str = "\
Examples:
  modbox run --async 10m ./backup
  modbox jobs --json";

#[derive(Debug, Args)]
#[command(after_help = JOBS_HELP)]
pub(crate) struct JobsArgs {
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) folder: JobFolderArgs,
}
