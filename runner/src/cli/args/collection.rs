//! The switches of `modbox collection`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::args::shared::lookup::LookupArgs;

#[derive(Debug, Args)]
pub(crate) struct CollectionArgs {
    #[command(subcommand)]
    pub(crate) command: CollectionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CollectionCommand {
    /// Make a collection of Ansible from component modules.
    Build(CollectionBuildArgs),
}

#[derive(Debug, Args)]
#[command(after_help = BUILD_HELP)]
pub(crate) struct CollectionBuildArgs {
    /// Components, module projects, folders of components, or names of modules [default: modbox's own modules].
    pub(crate) modules: Vec<PathBuf>,
    /// Namespace of the collection.
    #[arg(long, default_value = "modbox")]
    pub(crate) namespace: String,
    /// Name of the collection.
    #[arg(long, default_value = "modbox")]
    pub(crate) name: String,
    /// Version of the collection, such as 1.4.0 [default: that of modbox].
    #[arg(long)]
    pub(crate) version: Option<String>,
    /// Description of the collection, one sentence.
    #[arg(long, default_value = "Modules that run in the sandbox of modbox.")]
    pub(crate) description: String,
    /// Copy of modbox that may be sent to hosts, for one architecture; the collection then takes no others. Only for
    /// modbox.modbox.
    #[arg(long = "runner", value_name = "FILE")]
    pub(crate) runners: Vec<PathBuf>,
    /// Folder for the archive.
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
}

const BUILD_HELP: &str = "\
Examples:
  modbox collection build
  modbox collection build --namespace acme --name web --version 1.4.0 ./mymodules
  ansible-galaxy collection install acme-web-1.4.0.tar.gz --offline
  modbox collection build --runner modbox-linux-x86_64 --runner modbox-linux-aarch64

Tasks name the modules in full, such as acme.web.ping. Hosts need modbox; a component is sent to a host when it is first \
used there. A collection other than modbox.modbox depends on it, since it has the action plugin that does this. The same \
modules give the same bytes.

Exit status: 0 built · 2 usage · 3 a module cannot be found, built or put into a collection.";
