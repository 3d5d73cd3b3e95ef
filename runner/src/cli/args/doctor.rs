//! The switches of `modbox doctor`, as typed.

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = DOCTOR_HELP)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

const DOCTOR_HELP: &str = "\
Each line begins with \"ok\", with \"note\" for what is better to have, or with \"missing\" for what runs need, and ends \
with the remedy. Two tiny modules run to measure the level of confinement. Nothing is installed or changed.

Exit status: 0 nothing is missing · 1 something is missing that runs need.";
