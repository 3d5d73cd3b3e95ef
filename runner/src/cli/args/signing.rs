//! The switches of `sign` and `verify`, as typed.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::shared::lookup::LookupArgs;

#[derive(Debug, Args)]
#[command(after_help = SIGN_HELP)]
pub(crate) struct SignArgs {
    /// Module files, or names in the library.
    #[arg(required_unless_present = "ansible_core")]
    pub(crate) modules: Vec<PathBuf>,
    /// Sign the files of an ansible-core that modules are run with [default: those of the one that would be used].
    #[arg(
        long,
        value_name = "FOLDER",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with_all = ["modules", "name", "version_of_module", "whole"]
    )]
    pub(crate) ansible_core: Option<Option<PathBuf>>,
    /// Also list the parts that are ansible-core's, so that no statement about its release is needed.
    #[arg(long)]
    pub(crate) whole: bool,
    /// The private key; or the public key of one that an agent or a security key holds.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// Name of the module in the signed statement, such as acme/lineinfile [default: that of its metadata].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Version of the module there [default: that of its metadata].
    #[arg(long, value_name = "VERSION")]
    pub(crate) version_of_module: Option<String>,
    /// Folder, or path like `ansible/module_utils`, that is searched before all others for what modules import. Repeatable.
    #[arg(long, value_name = "PATH")]
    pub(crate) module_utils: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
}

#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub(crate) struct VerifyArgs {
    /// Module files, or names in the library.
    #[arg(required = true)]
    pub(crate) modules: Vec<PathBuf>,
    /// File of keys in OpenSSH's format `allowed_signers` [default: the trust rules of the policy files].
    #[arg(long, value_name = "FILE")]
    pub(crate) signers: Option<PathBuf>,
    /// Count only the signatures of this name.
    #[arg(long, value_name = "NAME", requires = "signers")]
    pub(crate) signer: Option<String>,
    /// File of keys and digests that count no longer.
    #[arg(long, value_name = "FILE", requires = "signers")]
    pub(crate) revoked: Option<PathBuf>,
    /// Statement about a release of ansible-core, by one of these keys. Repeatable.
    #[arg(long, value_name = "FILE", requires = "signers")]
    pub(crate) ansible_core: Vec<PathBuf>,
    /// Policy file. Repeatable.
    #[arg(long, value_name = "FILE", conflicts_with = "signers")]
    pub(crate) policy: Vec<PathBuf>,
    /// Print JSON, one line for each module.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
}

const SIGN_HELP: &str = "\
Examples:
  modbox sign lineinfile.wasm --key ~/.ssh/id_ed25519 --name acme/lineinfile
  modbox sign lineinfile.wasm --key ~/.ssh/id_ed25519_sk.pub
  modbox sign --ansible-core --key ~/.ssh/id_ed25519

`ssh-keygen` makes the signature, so it asks for passphrases and touches, and modbox reads no private key. The file \
lineinfile.wasm.sig gets the statement that is signed, with the digest of the module, and the signature; a further signature \
of the same statement is added. The parts that a run takes from beside the module, such as its module_utils, are listed in the \
statement; those of ansible-core are not, unless with --whole. --ansible-core signs these for one release, into the file \
ansible-core-RELEASE.sig of the current directory. Keys of the types ssh-ed25519 and ecdsa-sha2-nistp256 can be verified, also those of security \
keys.

Exit status: 0 signed · 2 usage · 3 a module cannot be read, or ssh-keygen failed.";

const VERIFY_HELP: &str = "\
Examples:
  modbox verify lineinfile.wasm --signers allowed_signers --signer release@acme.example
  modbox verify lineinfile.wasm

Without --signers, the trust rules of the policy files say which keys count, and the rule that fits and the most that it lets \
the module be granted are shown. OpenSSH checks a signature without modbox:
  sed '/^-----BEGIN/,$d' FILE.sig > statement; sed -n '/^-----BEGIN/,$p' FILE.sig > signature
  ssh-keygen -Y verify -n module@modbox -f allowed_signers -I NAME -s signature < statement

Exit status: 0 each module has a signature that counts · 2 usage · 3 a module cannot be read · 4 a signature is missing or does \
not count.";
