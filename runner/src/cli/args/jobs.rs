//! The switches of `status` and `jobs`, and the switch that they share with `run`, as typed.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Default, Args)]
pub(crate) struct JobFolderArgs {
    /// The folder of jobs [default: $ANSIBLE_ASYNC_DIR, else ~/.ansible_async].
    #[arg(long, value_name = "DIR", help_heading = "Jobs")]
    pub(crate) async_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = STATUS_HELP)]
pub(crate) struct StatusArgs {
    /// The job's id, as `run --async` printed it.
    pub(crate) job: String,
    /// Remove the job's file.
    #[arg(long)]
    pub(crate) cleanup: bool,
    #[command(flatten)]
    pub(crate) folder: JobFolderArgs,
}

const STATUS_HELP: &str = "\
Exit status: 0 finished, and ok, changed or skipped · 1 finished and failed · 3 no such job · 5 its time was over \
· 6 lost: what looked after it was killed · 7 it has not finished · 70 modbox's own fault.";

#[derive(Debug, Args)]
pub(crate) struct JobsArgs {
    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) folder: JobFolderArgs,
}
