//! Signs a text with OpenSSH's `ssh-keygen`, which knows agents, security keys and passphrases. modbox reads no private
//! key.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use modbox_files::read_stream;

/// Maximum length of a signature.
const MAX_SIGNATURE: u64 = 16 << 10;

/// Returns the signature of a text by a key, without the last line end.
///
/// # Errors
///
/// `ssh-keygen` is missing or fails.
#[expect(
    clippy::disallowed_methods,
    reason = "the user's own program, at the user's terminal, which may ask for a passphrase"
)]
pub(crate) fn sign(key: &Path, namespace: &str, text: &str) -> anyhow::Result<String> {
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "sign", "-q", "-n", namespace, "-f"]).arg(key).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!(
            "failed to find `ssh-keygen`, which makes signatures; it is a part of OpenSSH (Debian: `apt install openssh-client`)"
        ),
        _ => anyhow::Error::from(error).context("failed to start `ssh-keygen`"),
    })?;
    // A program that fails may not read what it is to sign; its status tells.
    let written = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    let signature = child.stdout.take().map(|output| read_stream(output, MAX_SIGNATURE));
    let status = child.wait().context("failed to wait for `ssh-keygen`")?;
    if !status.success() {
        bail!("`ssh-keygen` did not sign with `{}` ({status})", key.display());
    }
    written.transpose().context("failed to write to `ssh-keygen`")?;
    let signature = signature.transpose().context("failed to read from `ssh-keygen`")?.unwrap_or_default();
    let signature = String::from_utf8(signature).context("the signature of `ssh-keygen` is not text")?;
    Ok(signature.trim_end().to_owned())
}
