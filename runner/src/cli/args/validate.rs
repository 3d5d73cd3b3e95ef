//! The switches of `validate`, as typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::cli::args::shared::lookup::LookupArgs;

// No doc comment: clap would show it as the help of the subcommand.
#[derive(Debug, Args)]
#[command(after_help = VALIDATE_HELP, override_usage = VALIDATE_USAGE)]
pub(crate) struct ValidateArgs {
    /// A module file, a path of a project's directory, or a name; then arguments as strings.
    #[arg(value_name = "MODULE] [KEY=VALUE")]
    pub(crate) pairs: Vec<OsString>,
    /// Arguments with types: JSON or YAML, `@FILE`, or `-` for stdin; or words KEY=VALUE in one text. Repeatable; later wins.
    #[arg(short, long = "args", value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
    /// Check against the options in this JSON or YAML file, without a MODULE.
    #[arg(long, value_name = "FILE")]
    pub(crate) spec: Option<PathBuf>,
    /// Answer requests on standard input: one JSON object per line.
    #[arg(long, conflicts_with_all = ["pairs", "args", "spec", "module_path"])]
    pub(crate) jsonl: bool,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
}

const VALIDATE_USAGE: &str = "modbox validate [OPTIONS] <MODULE> [KEY=VALUE]...
       modbox validate [OPTIONS] --spec <FILE> [KEY=VALUE]...
       modbox validate --jsonl";

const VALIDATE_HELP: &str = "\
Examples:
  modbox validate lineinfile path=/etc/motd line=Hello
  modbox validate --spec options.yaml name=x

A spec file contains options as in Ansible's `argument_spec`, or is a `module.json`. A request of --jsonl is {\"spec\": {…}, \
\"kw\": {\"required_if\": […], …}, \"params\": {…}, \"env\": {…}}; its spec is read as ansible-core reads it, and `env` \
replaces the environment. The answer has `validated`, `errors` (each with `type` and `msg`), `unsupported`, `no_log_values`, \
`aliases`, `deprecations`, `warnings`, and `spec_error` for a spec that contradicts itself; or it is {\"error\": …, \"line\": N}.

Exit status: 0 the arguments fit, or all requests were answered · 1 they do not fit · 2 usage · 3 module not found or unreadable.";
