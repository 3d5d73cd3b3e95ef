//! The switches of `modbox policy`, as typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::args::shared::help::{CHECK_HELP, POLICY_HELP, SHOW_HELP};
use crate::cli::args::shared::lookup::LookupArgs;
use crate::cli::args::shared::rules::{GrantArgs, LimitArgs};

#[derive(Debug, Args)]
#[command(after_help = POLICY_HELP)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show the policy in force: every grant and limit, with its source.
    Show(Box<ShowArgs>),
    /// Check policy files for errors and doubtful rules.
    #[command(after_help = CHECK_HELP)]
    Check {
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print a policy file made of what runs were denied, and of what options granted to them.
    Suggest {
        /// Reports of `--output report` or `modbox batch`, audit files, or `-` for stdin.
        #[arg(required = true, value_name = "REPORT|AUDIT")]
        files: Vec<PathBuf>,
        /// Key of the rules for a module [default: the digest, or the name where the digest is unknown].
        #[arg(long, value_enum, value_name = "digest|name", hide_possible_values = true)]
        by: Option<SuggestionKey>,
        /// For observed runs: say in comments what was left out.
        #[arg(long)]
        reasons: bool,
    },
}

/// The key of a module in a suggested policy file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SuggestionKey {
    Digest,
    Name,
}

#[derive(Debug, Args)]
#[command(after_help = SHOW_HELP)]
pub(crate) struct ShowArgs {
    /// Include the rules for this module, and what it does with the paths in its options.
    pub(crate) module: Option<PathBuf>,
    /// Include what these arguments grant.
    #[arg(value_name = "KEY=VALUE", requires = "module")]
    pub(crate) pairs: Vec<OsString>,
    /// Include what these arguments grant: JSON or YAML, `@FILE`, or `-` for stdin. Repeatable; the last one wins.
    #[arg(short, long = "args", value_name = "JSON|@FILE|-", allow_hyphen_values = true, requires = "module")]
    pub(crate) args: Vec<OsString>,
    /// Include what a run as this user gets. Only root can start one.
    #[arg(long, value_name = "NAME|UID")]
    pub(crate) become_user: Option<String>,
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
