//! The switches of `modbox task`, as typed.

use std::time::Duration;

use clap::Args;
use modbox_fleet::module_digest::ModuleDigest;
use modbox_policy::parse_duration;

use crate::cli::args::jobs::JobFolderArgs;

#[derive(Debug, Args)]
#[command(after_help = TASK_HELP)]
pub(crate) struct TaskArgs {
    /// Keep the module that standard input holds, compressed by gzip or not, and run nothing.
    #[arg(long, value_name = "DIGEST")]
    pub(crate) store: Option<ModuleDigest>,
    /// Run in the background with this time limit, and print the job's id.
    #[arg(long = "async", value_name = "LIMIT", value_parser = parse_duration, conflicts_with = "store")]
    pub(crate) background: Option<Duration>,
    #[command(flatten)]
    pub(crate) jobs: JobFolderArgs,
}

const TASK_HELP: &str = "\
Examples:
  modbox task --store sha256:DIGEST < ping.wasm
  echo '{\"contract\": 1, \"module\": \"sha256:DIGEST\", \"args\": {}}' | modbox task

A task is one JSON object: \"contract\" is 1, \"module\" is the digest of the module, and \"args\" has its arguments with \
Ansible's `_ansible_*` keys. The answer is the module's result as one line of JSON. If the module is not kept here, it is \
{\"modbox_need\": \"module\", …} with exit status 97; \"runner\" means that a newer modbox is needed. Grants come from policy \
files, as for `modbox FILE ARGSFILE`. Modules are kept in the cache folder of the user, up to 256 MiB.

Exit status: 0 done · 1 the module failed · 2 the task is wrong · 3 not the module that was named · 4 denied · 5 limit · \
6 crashed · 70 internal error of modbox · 97 something is needed.";
