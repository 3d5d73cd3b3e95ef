//! The switches of `modbox resource`, as typed.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use crate::cli::args::shared::help::RESOURCE_HELP;
use crate::cli::args::shared::lookup::parse_interpreter;
use crate::cli::args::shared::providers::ProviderArgs;
use crate::cli::args::shared::rules::{GrantArgs, LimitArgs};

/// The output format of `modbox resource`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResourceOutput {
    /// Resources and changes as text.
    Human,
    /// Resources and changes as one JSON object.
    Json,
    /// The same, with the report of each run of the provider, as one JSON object.
    Report,
}

/// The program whose output and exit statuses are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compatibility {
    /// Libral's own program.
    Ralsh,
}

#[derive(Debug, Default, Args)]
#[command(after_help = RESOURCE_HELP)]
pub(crate) struct ResourceArgs {
    /// Type of the resources, or the name of a provider: TYPE::NAME.
    #[arg(value_name = "TYPE")]
    pub(crate) provider: Option<String>,
    /// Name of a resource. Without it, all are listed.
    pub(crate) name: Option<OsString>,
    /// Attributes to set.
    #[arg(value_name = "ATTRIBUTE=VALUE")]
    pub(crate) attributes: Vec<OsString>,
    /// Show the attributes of the provider.
    #[arg(short, long, requires = "provider", conflicts_with = "name")]
    pub(crate) explain: bool,
    /// Report what would change, and change nothing.
    #[arg(short = 'C', long)]
    pub(crate) check: bool,
    /// Run the provider as this user, with its rights. Only root can do this.
    #[arg(long, value_name = "NAME|UID")]
    pub(crate) become_user: Option<String>,
    /// Treat a resource that says `ensure: absent` as not found.
    #[arg(short, long)]
    pub(crate) absent: bool,
    #[command(flatten)]
    pub(crate) providers: ProviderArgs,
    /// Use this program for `#!` lines that name NAME. Repeatable.
    #[arg(long, value_name = "NAME=PATH", value_parser = parse_interpreter)]
    pub(crate) interpreter: Vec<(String, String)>,
    /// Output format.
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "human",
        hide_default_value = true,
        help_heading = "Output"
    )]
    pub(crate) output: Option<ResourceOutput>,
    /// Print exactly what libral's program prints, and use its exit statuses.
    #[arg(long, value_enum, value_name = "PROGRAM", help_heading = "Output")]
    pub(crate) compat: Option<Compatibility>,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}
