//! The switches of `audit`, as typed.

use std::path::PathBuf;

use clap::Args;

use modbox_policy::NamePattern;

use crate::cli::since::Since;

#[derive(Debug, Args)]
#[command(after_help = AUDIT_HELP)]
pub(crate) struct AuditArgs {
    /// Audit logs; `-` is stdin. Several are shown as one, in the order of time.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Only runs that began since then: a duration before now, a day, or a time.
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    pub(crate) since: Option<Since>,
    /// Only runs with denials.
    #[arg(long, help_heading = "Filters")]
    pub(crate) denied: bool,
    /// Only runs whose status is not ok, changed or skipped.
    #[arg(long, help_heading = "Filters")]
    pub(crate) failed: bool,
    /// Only modules whose name, path or file name fits: `*` is any text, `?` one character.
    #[arg(long, value_name = "PATTERN", help_heading = "Filters")]
    pub(crate) module: Option<NamePattern>,

    /// Only hosts whose name fits: that which the controller has for the host, or else its own.
    #[arg(long, value_name = "PATTERN", help_heading = "Filters")]
    pub(crate) host: Option<NamePattern>,

    /// Show limits, errors, denials with what allows them, grants and notes of each run.
    #[arg(short, long, help_heading = "Output", conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// Print the lines of the log unchanged.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print one HTML page with everything in it.
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "verbose"])]
    pub(crate) html: bool,
}

const AUDIT_HELP: &str = "\
modbox run --audit FILE and the key `audit` of a policy file write such logs, and so does the callback modbox.modbox.audit of \
Ansible for all hosts. A line that is not one of an audit log is named on stderr and left out.

Examples:
  modbox audit --since 2h --failed -v audit.jsonl
  modbox audit --denied --json audit.jsonl
  modbox audit --host 'web*' modbox-audit.jsonl
  modbox audit --html audit.jsonl > audit.html

Exit status: 0 shown, also if nothing fits · 2 usage · 3 a log cannot be read.";
