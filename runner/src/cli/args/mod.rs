//! The command line as typed. Parsing only validates values; `settings` looks things up on the host. These types are
//! used only in `cli`.

mod ansible_switches;
mod audit;
mod authors;
mod collection;
mod doctor;
mod interpreters;
mod jobs;
mod list;
mod mcp;
mod play;
mod policy;
mod registry;
mod resource;
pub(crate) mod shared;
mod signing;
mod task;
mod transactions;
mod validate;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use modbox_kinds::Kind;
use modbox_policy::{parse_count, parse_duration, parse_size};

pub(crate) use self::ansible_switches::AnsibleSwitches;
pub(crate) use self::audit::AuditArgs;
pub(crate) use self::authors::{BuildArgs, NewArgs, ProjectLanguage, TestArgs};
pub(crate) use self::collection::{CollectionArgs, CollectionBuildArgs, CollectionCommand};
pub(crate) use self::doctor::DoctorArgs;
pub(crate) use self::interpreters::{InterpreterCommand, InterpreterInstallArgs, InterpretersArgs};
pub(crate) use self::jobs::{JobFolderArgs, JobsArgs, StatusArgs};
pub(crate) use self::list::ListArgs;
pub(crate) use self::mcp::McpArgs;
pub(crate) use self::play::{PlayArgs, PlayFormat, Preference, TemplateArgs};
pub(crate) use self::policy::{PolicyArgs, PolicyCommand, ShowArgs, SuggestionKey};
pub(crate) use self::registry::{InstallArgs, LoadArgs, PullArgs, PushArgs, RegistryArgs, SaveArgs, UpdateArgs};
pub(crate) use self::resource::{Compatibility, ResourceArgs, ResourceOutput};
use self::shared::help::{
    AFTER_HELP, BATCH_HELP, CACHE_HELP, COMPLETIONS_HELP, DOC_HELP, INSPECT_HELP, MAN_HELP, PRUNE_HELP, RUN_HELP,
};
use self::shared::internal::InternalKeyArgs;
use self::shared::late::Late;
pub(crate) use self::shared::layers::LayerArgs;
pub(crate) use self::shared::lookup::{LOCK_FILE, LookupArgs, parse_interpreter};
pub(crate) use self::shared::providers::ProviderArgs;
pub(crate) use self::shared::python::{AnsiballzForm, AssembleArgs, PythonArgs};
pub(crate) use self::shared::rules::{AnsweredGrant, GrantArgs, LimitArgs};
use self::shared::stub::StubArgs;
pub(crate) use self::signing::{SignArgs, VerifyArgs};
pub(crate) use self::task::TaskArgs;
pub(crate) use self::transactions::{
    ApplyArgs, AuditedArgs, RecoverArgs, TransactionsArgs, TransactionsCommand, UndoArgs,
};
pub(crate) use self::validate::ValidateArgs;

/// Runs automation modules in a sandbox.
#[derive(Debug, Parser)]
#[command(name = "modbox", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one module.
    Run(Late<RunArgs>),
    /// Show the state or the result of a job that was started with `run --async`.
    Status(Late<StatusArgs>),
    /// List the jobs that were started with `run --async`, newest first.
    Jobs(Late<JobsArgs>),
    /// Make the changes of a preview that were saved.
    Apply(Late<ApplyArgs>),
    /// Take back the changes of a transaction that was kept.
    Undo(Late<UndoArgs>),
    /// List or remove the transactions that can be undone, and those that were interrupted.
    Transactions(Late<TransactionsArgs>),
    /// Bring transactions to an end that were interrupted.
    Recover(Late<RecoverArgs>),
    /// Run many jobs in warm processes, with jobs and reports as JSON lines.
    Batch(Late<BatchArgs>),
    /// Run the tasks of playbooks on this host.
    Play(Late<PlayArgs>),
    /// Serve modules as tools of an agent, over the Model Context Protocol.
    Mcp(Late<McpArgs>),
    /// Run a task that a controller sends on standard input.
    Task(Late<TaskArgs>),
    /// Render a template, as the tasks of a play do.
    Template(Late<TemplateArgs>),
    /// List the modules that have a name.
    List(Late<ListArgs>),
    /// Show and change resources, such as services, by providers of libral.
    Resource(Late<ResourceArgs>),
    /// Show a module's kind, options and requests, without running it.
    Inspect(Late<InspectArgs>),
    /// Write a Python module and its imports to one file.
    Assemble(Late<AssembleArgs>),
    /// Show a module's manual.
    Doc(Late<DocArgs>),
    /// Check arguments against a module's spec, without running it.
    Validate(Late<ValidateArgs>),
    /// Build a module project as a component.
    Build(Late<BuildArgs>),
    /// Run the test cases of a module project.
    Test(Late<TestArgs>),
    /// Create a module project.
    New(Late<NewArgs>),
    /// Make a collection of Ansible from component modules.
    Collection(Late<CollectionArgs>),
    /// Bring modules from registries.
    Pull(Late<PullArgs>),
    /// Put modules from registries into the user's library.
    Install(Late<InstallArgs>),
    /// Move the lock file to what tags stand for now.
    Update(Late<UpdateArgs>),
    /// Send a module to a registry.
    Push(Late<PushArgs>),
    /// Write modules with their signatures to one file, to carry them.
    Save(Late<SaveArgs>),
    /// Read modules from a file that `save` wrote.
    Load(Late<LoadArgs>),
    /// Sign modules with an SSH key.
    Sign(Late<SignArgs>),
    /// Show who signed a module.
    Verify(Late<VerifyArgs>),
    /// Show, check or suggest the policy.
    Policy(Late<PolicyArgs>),
    /// Check what runs need of this machine.
    Doctor(Late<DoctorArgs>),
    /// Show the runs of audit logs.
    Audit(Late<AuditArgs>),
    /// Manage the Python interpreters of the sandbox.
    Python(Late<InterpretersArgs>),
    /// Manage the cache of compiled modules.
    Cache(Late<CacheArgs>),
    /// Print completions for a shell.
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    #[command(after_help = MAN_HELP)]
    Man,
}

/// The switches for the log.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Logs")]
pub(crate) struct LogArgs {
    /// Level of the log on stderr.
    #[arg(long, value_enum, value_name = "LEVEL", global = true)]
    pub(crate) log: Option<LogLevel>,
    /// Format of the log.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    pub(crate) log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// The format of a log: text, or one JSON object per event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The module's result as one JSON object.
    Result,
    /// Status, message, diff and warnings as text.
    Human,
    /// Result, grants, denials, limits, usage and timing as one JSON object.
    Report,
}

#[derive(Debug, Default, Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// A module file, a path of a project's directory (`./ping`, `.`), or a name in the library.
    pub(crate) module: PathBuf,
    /// Arguments as strings.
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) pairs: Vec<OsString>,
    /// Arguments with types: JSON or YAML, `@FILE`, or `-` for stdin; or words KEY=VALUE in one text. Repeatable; the last one wins.
    #[arg(short, long = "args", value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,

    /// Report what would change, and change nothing.
    #[arg(short = 'C', long, help_heading = "Ansible's switches")]
    pub(crate) check: bool,
    /// Ask the module for differences.
    #[arg(short = 'D', long, help_heading = "Ansible's switches")]
    pub(crate) diff: bool,
    /// Raise the verbosity. Repeatable.
    #[arg(short, action = clap::ArgAction::Count, help_heading = "Ansible's switches")]
    pub(crate) verbose: u8,
    /// Forbid the module to log, and show only the status of its result.
    #[arg(long, help_heading = "Ansible's switches")]
    pub(crate) no_log: bool,
    /// Show the value of this option or suboption nowhere, as if the module declared it as a secret. Repeatable.
    #[arg(long, value_name = "OPTION", help_heading = "Ansible's switches")]
    pub(crate) secret: Vec<String>,
    /// Run the module as this user, with its rights. Only root can do this.
    #[arg(long, value_name = "NAME|UID", help_heading = "Ansible's switches")]
    pub(crate) become_user: Option<String>,

    #[command(flatten)]
    pub(crate) internal: InternalKeyArgs,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) layers: LayerArgs,

    /// Output format. Default: `human` on a terminal, else `result`.
    #[arg(long, value_enum, help_heading = "Output")]
    pub(crate) output: Option<OutputFormat>,
    /// Use the last line of stdout that is a JSON object, and ignore other output. Ansible does not do this.
    #[arg(long, help_heading = "Output")]
    pub(crate) last_json_line: bool,

    /// Treat the module as this kind. An error if its bytes contradict it.
    #[arg(long, value_name = "KIND", value_parser = parse_kind, help_heading = "Running")]
    pub(crate) kind: Option<Kind>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    /// Pass the arguments of a wasm module on stdin too.
    #[arg(long, help_heading = "Running")]
    pub(crate) stdin_args: bool,
    /// Keep the run's temporary directory, and print its path.
    #[arg(long, help_heading = "Running")]
    pub(crate) keep_files: bool,
    /// Write the module to disk, instead of piping it into its interpreter.
    #[arg(long, help_heading = "Running")]
    pub(crate) no_pipelining: bool,
    /// Run in the background with this time limit; `modbox status` shows the result.
    #[arg(long = "async", value_name = "LIMIT", value_parser = parse_duration, help_heading = "Running")]
    pub(crate) background: Option<Duration>,
    /// Run again whenever a file of the project changes, until Ctrl-C.
    #[arg(long, help_heading = "Running", conflicts_with = "background")]
    pub(crate) watch: bool,
    /// Learn what the module needs: run it in rounds on copies of what it may write, and write a policy to a new file.
    #[arg(long, value_name = "FILE", help_heading = "Running",
        conflicts_with_all = ["background", "watch", "check", "allow_all", "keep_files", "become_user", "preview", "transaction"])]
    pub(crate) learn: Option<PathBuf>,
    /// Ask on the terminal for what the module lacks, once or for good, and run it again: as a transaction, so that nothing of
    /// a run that lacked something remains.
    #[arg(long, help_heading = "Grants",
        conflicts_with_all = ["background", "watch", "check", "allow_all", "learn", "keep_files"])]
    pub(crate) ask: bool,
    /// With `--learn`, also try the network, commands, sockets and devices, whose effects are real.
    #[arg(long, help_heading = "Running", requires = "learn")]
    pub(crate) learn_effects: bool,
    #[command(flatten)]
    pub(crate) jobs: JobFolderArgs,
    #[command(flatten)]
    pub(crate) stub: StubArgs,
}

#[derive(Debug, Args)]
#[command(after_help = BATCH_HELP)]
pub(crate) struct BatchArgs {
    /// Number of jobs at a time [default: the number of processors].
    #[arg(short, long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub(crate) jobs: Option<u64>,
    /// Print reports in the order of the jobs, instead of as they finish.
    #[arg(long)]
    pub(crate) ordered: bool,
    /// Name of the program whose jobs these are. What they keep for `modbox undo` is counted by this name and the policy, and is
    /// undone with `--origin NAME` only.
    #[arg(long, value_name = "NAME")]
    pub(crate) origin: Option<String>,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

#[derive(Debug, Args)]
#[command(after_help = INSPECT_HELP)]
pub(crate) struct InspectArgs {
    /// A module file, a path of a project's directory (`./ping`, `.`), or a name in the library.
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
#[command(after_help = DOC_HELP)]
pub(crate) struct DocArgs {
    /// A module file, a path of a project's directory (`./ping`, `.`), or a name in the library.
    pub(crate) module: PathBuf,
    /// Do not show a long manual through `MODBOX_PAGER`, `PAGER` or less.
    #[arg(long)]
    pub(crate) no_pager: bool,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
}

#[derive(Debug, Args)]
#[command(after_help = CACHE_HELP)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List the compiled modules, newest first.
    List,
    /// Remove the least recently used modules until the rest fits.
    #[command(after_help = PRUNE_HELP)]
    Prune {
        /// Size of the rest. A run that compiles keeps the cache below 1GiB.
        #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1GiB", allow_negative_numbers = true)]
        max_size: u64,
    },
    /// Remove all compiled modules.
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
