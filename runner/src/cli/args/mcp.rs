//! The switches of `modbox mcp`, as typed.

use std::path::PathBuf;

use clap::Args;
use modbox_policy::parse_count;

use crate::cli::args::shared::lookup::parse_interpreter;

#[derive(Debug, Args)]
#[command(after_help = MCP_HELP)]
pub(crate) struct McpArgs {
    /// Policy file, in addition to those that apply to every run. One of them must have `tools`. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    /// Show the tools, what each may do, and which modules are left out; serve nothing.
    #[arg(long)]
    pub(crate) show: bool,
    /// With `--show`, print the list of tools as clients get it, as one JSON object.
    #[arg(long, requires = "show")]
    pub(crate) json: bool,
    /// Number of calls at a time [default: the number of processors].
    #[arg(short, long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub(crate) jobs: Option<u64>,
    /// Search modules in this folder, before $MODBOX_LIBRARY. Repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) module_path: Vec<PathBuf>,
    /// Search collections first in this folder, which contains `ansible_collections`. Repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) collections_path: Vec<PathBuf>,
    /// Use this Python interpreter, with its ansible-core and collections; or this program for `#!` lines that name
    /// NAME. Repeatable.
    #[arg(long, value_name = "[NAME=]PATH", value_parser = parse_interpreter)]
    pub(crate) interpreter: Vec<(String, String)>,
}

const MCP_HELP: &str = "\
Examples:
  modbox mcp --policy agent.yaml --show
  modbox mcp --policy agent.yaml

A client of the Model Context Protocol starts the second one and speaks with it over standard input and output. The key `tools` of a \
policy file says which modules are tools: tools: {modules: [stat, \"acme.web.*\"], confirm: person}. Only files with `tools` grant to \
them; all policy files restrict. Files in the working directory count for nothing, and no module is built.

Exit status: 0 the client is done · 2 usage, no `tools`, or a grant that reaches what decides about grants · 3 no module can be a \
tool · 70 internal error of modbox.";
