//! The switches of the commands for registries, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use modbox_policy::parse_duration;

use crate::cli::args::shared::lookup::{LOCK_FILE, LookupArgs};

// How registries are spoken with. A doc comment would be shown as that of the commands.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Registries")]
pub(crate) struct RegistryArgs {
    /// Speak with this registry without TLS: HOST, or HOST:PORT. Repeatable.
    #[arg(long, value_name = "HOST")]
    pub(crate) plain_http: Vec<String>,
    /// Also trust the authorities in this file of PEM certificates.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Time limit for a module [default: 10m].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Debug, Args)]
#[command(after_help = PULL_HELP)]
pub(crate) struct PullArgs {
    /// References: `oci://HOST/NAME:TAG`, also with a digest [default: all of the lock file].
    pub(crate) references: Vec<String>,
    /// The lock file.
    #[arg(long, value_name = "FILE", default_value = LOCK_FILE)]
    pub(crate) lock: PathBuf,
    /// Pull only what the lock file has, and leave it as it is.
    #[arg(long)]
    pub(crate) locked: bool,
    /// Also write the module to this file.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Policy file with trust rules. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Args)]
#[command(after_help = PUSH_HELP)]
pub(crate) struct PushArgs {
    /// A component, a path of a project's directory, or a name in the library.
    pub(crate) module: PathBuf,
    /// Where to: `oci://HOST/NAME:TAG`.
    pub(crate) reference: String,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Args)]
#[command(after_help = INSTALL_HELP)]
pub(crate) struct InstallArgs {
    /// References: `oci://HOST/NAME:TAG`, or NAME:TAG below MODBOX_REGISTRY.
    #[arg(required = true)]
    pub(crate) references: Vec<String>,
    /// Policy file with trust rules. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Args)]
#[command(after_help = UPDATE_HELP)]
pub(crate) struct UpdateArgs {
    /// References with tags: `oci://HOST/NAME:TAG` [default: all of the lock file].
    pub(crate) references: Vec<String>,
    /// The lock file.
    #[arg(long, value_name = "FILE", default_value = LOCK_FILE)]
    pub(crate) lock: PathBuf,
    /// Update the modules that `modbox install` put into the user's library.
    #[arg(long, conflicts_with = "lock")]
    pub(crate) installed: bool,
    /// Show what would change, and leave the lock file as it is.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Policy file with trust rules. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Args)]
#[command(after_help = SAVE_HELP)]
pub(crate) struct SaveArgs {
    /// The bundle to write.
    pub(crate) bundle: PathBuf,
    /// References: `oci://HOST/NAME:TAG`, also with a digest [default: all of the lock file].
    pub(crate) references: Vec<String>,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
}

#[derive(Debug, Args)]
#[command(after_help = LOAD_HELP)]
pub(crate) struct LoadArgs {
    /// The bundle to read.
    pub(crate) bundle: PathBuf,
    /// The lock file, which gets the tags that it does not have.
    #[arg(long, value_name = "FILE", default_value = LOCK_FILE)]
    pub(crate) lock: PathBuf,
    /// Policy file with trust rules. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
}

const INSTALL_HELP: &str = "\
Examples:
  modbox install oci://ghcr.io/acme/lineinfile:1.4.2
  MODBOX_REGISTRY=oci://ghcr.io/acme modbox install lineinfile:1.4.2
  modbox run lineinfile path=/srv/app.conf line=x

Pulls a module and writes it to the user's library, modbox/library in the user's data folder, with an entry of the \
lock file there. Its signatures stay in the store. It is then found by its name, from every directory. `modbox update --installed` updates it.

Logins, proxies and their variables: see `modbox pull --help`.

Exit status: 0 installed · 2 usage · 3 the registry cannot be reached, lacks the module, or sends something else · 4 the trust \
rules refuse the module.";

const UPDATE_HELP: &str = "\
Examples:
  modbox update --dry-run
  modbox update oci://ghcr.io/acme/lineinfile:stable

Asks the registry what the tags stand for now. Shows for each that moved the version, the signers and what the module asks \
for, before and after, and writes it to the lock file. The trust rules of the policy files are applied before.

Logins, proxies and their variables: see `modbox pull --help`.

Exit status: 0 done · 2 usage · 3 the registry cannot be reached, lacks a module, or sends something else · 4 the trust rules \
refuse a module.";

const SAVE_HELP: &str = "\
Examples:
  modbox save modules.tar
  modbox save lineinfile.tar oci://ghcr.io/acme/lineinfile:1.4.2

Writes the modules with their signatures to one file, which `modbox load` reads where there is no network, and skopeo as \
oci-archive. What the store lacks is pulled, unless --offline is given. The same modules give the same bytes.

Logins, proxies and their variables: see `modbox pull --help`.

Exit status: 0 saved · 2 usage · 3 a module is missing, or the bundle cannot be written.";

const LOAD_HELP: &str = "\
Examples:
  modbox load modules.tar
  modbox run --offline oci://ghcr.io/acme/lineinfile:1.4.2 path=/srv/app.conf line=x

Reads the modules and signatures of a bundle, checks each against its digest, applies the trust rules of the policy files, and \
writes the tags that the lock file does not have.

Exit status: 0 loaded · 2 usage · 3 the bundle cannot be read or is damaged · 4 the trust rules refuse a module.";

const PULL_HELP: &str = "\
Examples:
  modbox pull oci://ghcr.io/acme/lineinfile:1.4.2
  modbox pull --locked
  modbox run oci://ghcr.io/acme/lineinfile:1.4.2 path=/srv/app.conf line=x

What a tag stands for is written to the lock file, and stays so: commit the file, and `modbox update` moves it. Modules are \
kept in an OCI layout in the user's data folder, and their signatures with them. The trust rules of the policy files are \
applied before the lock file is written. Users and passwords are those of `docker login` and `podman login`.

Environment: MODBOX_REGISTRY_AUTH_FILE, REGISTRY_AUTH_FILE, DOCKER_CONFIG: files and folder of logins · MODBOX_PLAIN_HTTP: \
hosts for --plain-http, separated by commas · SSL_CERT_FILE: authorities in place of the system's · \
HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY: proxies, and hosts that need none.

Exit status: 0 pulled · 2 usage · 3 the registry cannot be reached, lacks the module, or sends something else · 4 the trust \
rules refuse the module.";

const PUSH_HELP: &str = "\
Examples:
  modbox push target/modbox/lineinfile.wasm oci://ghcr.io/acme/lineinfile:1.4.2
  modbox push . oci://127.0.0.1:5000/lineinfile:dev --plain-http 127.0.0.1:5000

Pushes the component as one layer of type application/wasm, with what its metadata says. A signature file beside the component \
goes along. Prints the reference with the digest.

Logins, proxies and their variables: see `modbox pull --help`.

Exit status: 0 pushed · 2 usage · 3 the module cannot be read, or the registry refuses it.";
