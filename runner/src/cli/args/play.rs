//! The switches of `modbox play` and `modbox template`, as typed. Those of Ansible keep its names.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use modbox_contract::Release;

use crate::cli::args::ansible_switches::AnsibleSwitches;
use crate::cli::args::shared::help::{PLAY_HELP, TEMPLATE_HELP};
use crate::cli::args::shared::layers::LayerArgs;
use crate::cli::args::shared::lookup::{LookupArgs, parse_interpreter};
use crate::cli::args::shared::providers::ProviderArgs;
use crate::cli::args::shared::python::PythonArgs;
use crate::cli::args::shared::rules::{GrantArgs, LimitArgs};

/// The output format of a play.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlayFormat {
    /// What ansible-playbook prints, with denials and what allows them.
    #[default]
    Human,
    /// One JSON object per event, with the whole report of each run.
    Jsonl,
    /// One HTML page.
    Html,
}

/// Which module runs for a name that modbox has a component for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preference {
    /// The component, if it accepts the arguments of the task.
    #[default]
    Component,
    /// Ansible's own module, if ansible-core is installed.
    Classic,
}

#[derive(Debug, Args)]
#[command(after_help = PLAY_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of ansible-playbook")]
pub(crate) struct PlayArgs {
    /// Playbooks, or lists of tasks.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Report what would change, and change nothing.
    #[arg(short = 'C', long, help_heading = "Ansible's switches")]
    pub(crate) check: bool,
    /// Show differences.
    #[arg(short = 'D', long, help_heading = "Ansible's switches")]
    pub(crate) diff: bool,
    /// Raise the verbosity. Repeatable.
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Ansible's switches")]
    pub(crate) verbose: u8,
    /// Set variables: KEY=VALUE words, JSON or YAML, or `@FILE`. Repeatable; the last one wins.
    #[arg(short, long, value_name = "VARS", help_heading = "Ansible's switches")]
    pub(crate) extra_vars: Vec<String>,
    /// Run only tasks with one of these tags. Repeatable.
    #[arg(short, long, value_name = "TAGS", value_delimiter = ',', help_heading = "Ansible's switches")]
    pub(crate) tags: Vec<String>,
    /// Do not run tasks with one of these tags. Repeatable.
    #[arg(long, value_name = "TAGS", value_delimiter = ',', help_heading = "Ansible's switches")]
    pub(crate) skip_tags: Vec<String>,
    /// Start at the task with this name.
    #[arg(long, value_name = "NAME", help_heading = "Ansible's switches")]
    pub(crate) start_at_task: Option<String>,
    /// Ask before each task.
    #[arg(long, help_heading = "Ansible's switches")]
    pub(crate) step: bool,
    /// List the hosts of the plays.
    #[arg(long, help_heading = "Ansible's switches")]
    pub(crate) list_hosts: bool,
    /// List the tasks that would run.
    #[arg(long, help_heading = "Ansible's switches")]
    pub(crate) list_tasks: bool,
    /// List the tags.
    #[arg(long, help_heading = "Ansible's switches")]
    pub(crate) list_tags: bool,
    /// Check the files, and run nothing.
    #[arg(long, help_heading = "Ansible's switches")]
    pub(crate) syntax_check: bool,
    /// Run notified handlers even if a task failed.
    #[arg(long, help_heading = "Ansible's switches")]
    pub(crate) force_handlers: bool,
    /// Forget facts. A run has none of earlier runs, so this changes nothing.
    #[arg(long, help_heading = "Ansible's switches")]
    pub(crate) flush_cache: bool,
    /// Run tasks as another user where they do not say.
    #[arg(short, long = "become", help_heading = "Ansible's switches")]
    pub(crate) become_user_by_default: bool,
    /// The user of `--become`.
    #[arg(long, value_name = "USER", help_heading = "Ansible's switches")]
    pub(crate) become_user: Option<String>,
    /// Inventory: a file or a folder, or names of hosts with commas. Repeatable.
    #[arg(short, long, alias = "inventory-file", value_name = "FILE|HOSTS", help_heading = "Ansible's switches")]
    pub(crate) inventory: Vec<String>,
    /// Run only on hosts that match the pattern.
    #[arg(short, long, value_name = "PATTERN", help_heading = "Ansible's switches")]
    pub(crate) limit: Option<String>,
    /// The connection, which must be `local`.
    #[arg(short, long, value_name = "NAME", value_parser = ["local"], help_heading = "Ansible's switches")]
    pub(crate) connection: Option<String>,
    /// Search modules in this folder. As `--module-path`.
    #[arg(short = 'M', value_name = "DIR", help_heading = "Ansible's switches")]
    pub(crate) library: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) layers: LayerArgs,

    /// Name of this host, in `hosts` patterns and in the output.
    #[arg(long = "as", value_name = "NAME", default_value = "localhost", help_heading = "This host")]
    pub(crate) host: String,
    /// Groups of this host. Repeatable.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "This host")]
    pub(crate) groups: Vec<String>,

    /// Output format.
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT", help_heading = "Output")]
    pub(crate) output: PlayFormat,
    /// Run nothing, and print what each task would do and need, as a policy file with comments.
    #[arg(long, conflicts_with_all = ["syntax_check", "list_tasks", "list_tags", "list_hosts"], help_heading = "Output")]
    pub(crate) explain: bool,

    /// Run the play once without confining native modules, and write a policy file that grants what it needs.
    #[arg(long, value_name = "FILE", help_heading = "Running", conflicts_with_all = ["ask", "check", "explain", "syntax_check",
        "list_tasks", "list_tags", "list_hosts", "allow_all", "preview", "transaction", "strict"])]
    pub(crate) learn: Option<PathBuf>,
    /// With `--learn`, say in comments what was left out of the file.
    #[arg(long, help_heading = "Running", requires = "learn")]
    pub(crate) reasons: bool,
    /// Do as this release of ansible-core, where releases differ [default: the installed one, else 2.21].
    #[arg(long, value_name = "RELEASE", value_parser = str::parse::<Release>, help_heading = "Running")]
    pub(crate) contract: Option<Release>,
    /// Which module runs for a name that modbox has a component for.
    #[arg(long, value_enum, default_value = "component", value_name = "KIND", help_heading = "Running")]
    pub(crate) prefer: Preference,
    /// Ask on the terminal for what the module of a task lacks, once or for good, and run the task again: each as a transaction of its own,
    /// so that nothing of a run that lacked something remains. With --explain, show what would be asked.
    #[arg(long, help_heading = "Grants",
        conflicts_with_all = ["preview", "transaction", "allow_all", "syntax_check", "list_tasks", "list_tags", "list_hosts"])]
    pub(crate) ask: bool,
    /// Grant no path that was made from results of modules, or from text outside of the play's folder, and use no tasks or
    /// templates that were written since the run began.
    #[arg(long, help_heading = "Grants")]
    pub(crate) strict: bool,
    /// Search roles in this folder, after `roles` beside the play and before $ANSIBLE_ROLES_PATH. Repeatable.
    #[arg(long, value_name = "DIR", help_heading = "Running")]
    pub(crate) roles_path: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) providers: ProviderArgs,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    // The last one, as its heading would hold for what follows without one.
    #[command(flatten)]
    pub(crate) ansible: AnsibleSwitches,
}

#[derive(Debug, Args)]
#[command(after_help = TEMPLATE_HELP)]
pub(crate) struct TemplateArgs {
    /// A template, or `@FILE` for a template file.
    #[arg(value_name = "TEXT|@FILE", required_unless_present = "jsonl")]
    pub(crate) template: Option<OsString>,
    /// Evaluate an expression, without `{{ }}`.
    #[arg(long)]
    pub(crate) expression: bool,
    /// Set variables: KEY=VALUE words, JSON or YAML, or `@FILE`. Repeatable; the last one wins.
    #[arg(short, long, value_name = "VARS")]
    pub(crate) extra_vars: Vec<String>,
    /// Print values as JSON. Text that is printed otherwise is printed as it is.
    #[arg(long)]
    pub(crate) json: bool,
    /// Answer questions on standard input, one JSON object per line: {"template" or "expression" or "condition": TEXT,
    /// "variables": {…}, "data": {…}}. Only "variables" may have templates in them.
    #[arg(long, conflicts_with_all = ["template", "expression"])]
    pub(crate) jsonl: bool,
    /// Do as this release of ansible-core, where releases differ [default: the installed one, else 2.21].
    #[arg(long, value_name = "RELEASE", value_parser = str::parse::<Release>)]
    pub(crate) contract: Option<Release>,
    /// Search collections with filters, tests and lookups first in this folder, which contains `ansible_collections`. Repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) collections_path: Vec<PathBuf>,
    /// Run filters, tests and lookups in Python with this interpreter, which has ansible-core.
    #[arg(long, value_name = "[NAME=]PATH", value_parser = parse_interpreter)]
    pub(crate) interpreter: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}
