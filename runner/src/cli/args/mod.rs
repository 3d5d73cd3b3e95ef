//! The command line as typed. Parsing only validates values; `settings` looks things up on the host. These types are
//! used only in `cli`.

mod internal;
mod jobs;
mod late;
mod lookup;
mod python;
mod rules;
mod validate;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use modbox_kinds::Kind;
use modbox_policy::{parse_count, parse_duration, parse_size};

use self::internal::InternalKeyArgs;
pub(crate) use self::jobs::{JobFolderArgs, JobsArgs, StatusArgs};
use self::late::Late;
pub(crate) use self::lookup::{LookupArgs, parse_interpreter};
pub(crate) use self::python::{AnsiballzForm, AssembleArgs, PythonArgs};
pub(crate) use self::rules::{GrantArgs, LimitArgs};
pub(crate) use self::validate::ValidateArgs;

/// Runs automation modules that nobody has to trust.
#[derive(Debug, Parser)]
#[command(name = "modbox", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Without a subcommand, `modbox FILE ARGSFILE` runs a module as a kernel starts it for a `#!` line: arguments \
from a JSON file, grants from the policy files alone, the result as one JSON line.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one module.
    Run(Late<RunArgs>),
    /// Tell how far a job is that was started with `run --async`, or what came of it.
    Status(Late<StatusArgs>),
    /// List the jobs that were started with `run --async`, the newest first.
    Jobs(Late<JobsArgs>),
    /// Run many jobs in warm processes: JSON lines in, reports as JSON lines out.
    Batch(Late<BatchArgs>),
    /// Show what a module is and asks for, without running it.
    Inspect(Late<InspectArgs>),
    /// Write a Python module with all that it imports as one file.
    Assemble(Late<AssembleArgs>),
    /// Show a module's manual.
    Doc(Late<DocArgs>),
    /// Check arguments against a module's spec, without running it.
    Validate(Late<ValidateArgs>),
    /// Turn a guest crate into a component.
    Build(Late<BuildArgs>),
    /// Write a new module project.
    New(Late<NewArgs>),
    /// Show or check what modules may reach.
    Policy(Late<PolicyArgs>),
    /// Look after the cache of compiled modules.
    Cache(Late<CacheArgs>),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

/// What modbox says of its own work.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Logs")]
pub(crate) struct LogArgs {
    /// Say on stderr what is done, in this detail.
    #[arg(long, value_enum, value_name = "LEVEL", global = true)]
    pub(crate) log: Option<LogLevel>,
    /// How that is written.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    pub(crate) log_format: LogFormat,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// How logs are written: for people, or one JSON object an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// How a result leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The module's result, one JSON object.
    Result,
    /// Status, message, diff and warnings for a person.
    Human,
    /// Result, grants, denials, limits, usage and timing, one JSON object.
    Report,
}

#[derive(Debug, Default, Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// A module file, a guest crate's directory, or a name to look up in the library.
    pub(crate) module: PathBuf,
    /// Arguments as strings.
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) pairs: Vec<OsString>,
    /// Arguments with types: JSON or YAML, `@FILE`, or `-` for stdin. Repeatable; later wins.
    #[arg(short, long = "args", value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,

    /// Report what would change and change nothing.
    #[arg(short = 'C', long, help_heading = "Ansible's switches")]
    pub(crate) check: bool,
    /// Ask the module for differences.
    #[arg(short = 'D', long, help_heading = "Ansible's switches")]
    pub(crate) diff: bool,
    /// Be more verbose; repeatable.
    #[arg(short, action = clap::ArgAction::Count, help_heading = "Ansible's switches")]
    pub(crate) verbose: u8,
    /// Tell the module to log nothing, and show nothing of its result but the status.
    #[arg(long, help_heading = "Ansible's switches")]
    pub(crate) no_log: bool,

    #[command(flatten)]
    pub(crate) internal: InternalKeyArgs,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// How the result leaves. Default: `human` on a terminal, else `result`.
    #[arg(long, value_enum, help_heading = "Output")]
    pub(crate) output: Option<OutputFormat>,
    /// Take the last line of stdout that is a JSON object, whatever else there is. Ansible does not do this.
    #[arg(long, help_heading = "Output")]
    pub(crate) last_json_line: bool,

    /// Take the module for this kind; an error when its bytes say otherwise.
    #[arg(long, value_name = "KIND", value_parser = parse_kind, help_heading = "Running")]
    pub(crate) kind: Option<Kind>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    /// Use another interpreter for `#!` lines that name NAME, or for Python modules. Repeatable.
    #[arg(long, value_name = "[NAME=]PATH", value_parser = parse_interpreter, help_heading = "Running")]
    pub(crate) interpreter: Vec<(String, String)>,
    /// Give a wasm module its arguments on stdin, too.
    #[arg(long, help_heading = "Running")]
    pub(crate) stdin_args: bool,
    /// Leave the run's temporary directory, and say where it is.
    #[arg(long, help_heading = "Running")]
    pub(crate) keep_files: bool,
    /// Put the module on the disk even where it could be piped into its interpreter.
    #[arg(long, help_heading = "Running")]
    pub(crate) no_pipelining: bool,
    /// Go on in the background, for this long at most; `modbox status` says what became of it.
    #[arg(long = "async", value_name = "LIMIT", value_parser = parse_duration, help_heading = "Running")]
    pub(crate) background: Option<Duration>,
    #[command(flatten)]
    pub(crate) jobs: JobFolderArgs,
}

const RUN_HELP: &str = "\
A module starts with its arguments, a private /tmp, clocks, random numbers and its standard streams. A path that \
you name in an argument is granted to it, if the module's manual says what it does there; --designated turns that \
down. Anything else, a network address, too, is granted with --allow-* or in a policy file: /etc/modbox/policy.yaml, then \
modbox/policy.yaml in the user's config folder, then --policy.

Exit status: 0 ok, changed or skipped · 1 failed · 2 usage · 3 module not found, read, built or loaded · 4 denied \
· 5 a limit was hit · 6 the module crashed · 70 modbox's own fault.";

#[derive(Debug, Args)]
#[command(after_help = BATCH_HELP)]
pub(crate) struct BatchArgs {
    /// Jobs that run at a time [default: as many as there are processors].
    #[arg(short, long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub(crate) jobs: Option<u64>,
    /// Print reports in the order of the jobs, not as they come.
    #[arg(long)]
    pub(crate) ordered: bool,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

const BATCH_HELP: &str = "\
A job is one line on standard input: {\"id\": ANY, \"module\": \"PATH or NAME\", \"args\": {…}}, and as wanted \
\"check\", \"diff\", \"verbosity\", \"no_log\", \"kind\", \"name\", \"stdin_args\", \"last_json_line\", \"no_pipelining\", \
\"internal\" (what `modbox run` calls what the module is told, such as {\"contract\": \"2.14\"}), \"policy\" and \"limits\" (as \
in a policy file, for this job alone). Every line is answered by one report with its id. Grants and limits \
given here are those of every job. The first SIGTERM or SIGINT lets running jobs finish.

Exit status: 0 every job was ok, changed or skipped · 1 some were not · 2 usage · 70 modbox's own fault.";

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A module file, a guest crate's directory, or a name.
    pub(crate) module: PathBuf,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    /// Print one JSON object.
    #[arg(long, help_heading = None)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show the policy in force: every grant and limit, and who set it.
    Show(Box<ShowArgs>),
    /// Check policy files: what is wrong with them, and what is doubtful.
    Check {
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The module that it is for: its own rules count, too.
    pub(crate) module: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DocArgs {
    /// A module file, a guest crate's directory, or a name.
    pub(crate) module: PathBuf,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// The directory of the guest crate, or of the project in C, Go, Python or JavaScript.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Build this binary of a crate that has several.
    #[arg(long, value_name = "NAME")]
    pub(crate) bin: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The module's name: lower-case letters, digits, `_` and `-`. Also the directory's, which must be new or empty.
    pub(crate) name: String,
    /// Use the SDK from this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) sdk: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List the compiled modules, the newest first.
    List,
    /// Remove those that were not used for the longest time, until the rest fits.
    Prune {
        /// Bytes that may stay. A run that compiles keeps the cache below 1GiB by itself.
        #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1GiB", allow_negative_numbers = true)]
        max_size: u64,
    },
    /// Remove them all.
    Clear,
}

fn parse_kind(word: &str) -> Result<Kind, String> {
    word.parse::<Kind>().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
