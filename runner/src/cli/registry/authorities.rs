//! The certificates of the authorities that vouch for servers: those of the system, and those that the caller names.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use modbox_files::{open_at_once, read_stream};

use crate::cli::process::environment::Environment;

/// Files in which systems keep them: Debian and its kin, Fedora and its kin, openSUSE, Alpine.
const FILES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Maximum size of a file of certificates.
const MAX_FILE: u64 = 4 << 20;

/// Returns the certificates as PEM.
///
/// # Errors
///
/// A named file cannot be read, or the system has none and none is named.
pub(super) fn read(environment: &Environment, named: Option<&Path>) -> anyhow::Result<Vec<u8>> {
    let own = environment.variable("SSL_CERT_FILE").filter(|path| !path.is_empty()).map(PathBuf::from);
    let system = own.or_else(|| FILES.iter().map(PathBuf::from).find(|path| path.is_file()));
    let mut pem = Vec::new();
    for path in system.iter().map(PathBuf::as_path).chain(named) {
        pem.extend(read_file(&environment.absolute(path))?);
        pem.push(b'\n');
    }
    Ok(pem)
}

fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let failed = || format!("failed to read the certificates `{}`", path.display());
    let (file, metadata) = open_at_once(path).with_context(failed)?;
    if !metadata.is_file() {
        bail!("the file of certificates `{}` is not a regular file", path.display());
    }
    let pem = read_stream(file, MAX_FILE).with_context(failed)?;
    if !pem.windows(11).any(|window| window == b"-----BEGIN ") {
        bail!("`{}` has no PEM certificates", path.display());
    }
    Ok(pem)
}
