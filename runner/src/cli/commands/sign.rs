//! `modbox sign`: signs modules with an SSH key.

use std::path::Path;

use anyhow::{Context as _, bail};
use modbox_argument_spec::Metadata;
use modbox_trust::NAMESPACE;
use modbox_trust::signature_file::SignatureFile;
use modbox_trust::ssh_signature::SigningKey;
use modbox_trust::statement::Statement;

use crate::app::{WasmInfo, locate, module_digest, wasm_bytes};
use crate::cli::args::SignArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::find::Lookup;
use crate::cli::output::{print_name, print_note};
use crate::cli::settings::{read_signature, signature_path};
use crate::cli::{ssh_keygen, whole_file};

/// Permissions of a signature file.
const MODE: u32 = 0o644;

/// Signs the modules, and prints the paths of the signature files.
pub(crate) fn run(context: &Context, args: &SignArgs) -> Result<ExitStatus, Failure> {
    if args.name.is_some() && args.modules.len() > 1 {
        return Err(anyhow::anyhow!("`--name` is the name of one module; sign one at a time")).or_usage();
    }
    let lookup = Lookup::new(context, &args.lookup)?;
    let key = context.environment.absolute(&args.key);
    for module in &args.modules {
        let path = lookup.find(context, module)?.path;
        let statement = statement(&path, args).or_unavailable()?;
        statement.check().or_usage()?;
        sign(&path, statement, &key).or_unavailable()?;
        print_name(&signature_path(&path).display().to_string()).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

fn statement(path: &Path, args: &SignArgs) -> anyhow::Result<Statement> {
    let file = locate::read(path)?;
    let info = wasm_bytes(&file.bytes).map(WasmInfo::parse).transpose()?;
    let metadata = info.map(|info| info.metadata()).transpose()?.flatten();
    let version = metadata.as_ref().map(|metadata| metadata.version.clone()).filter(|version| !version.is_empty());
    let name = path.file_name().unwrap_or_default().to_str();
    Ok(Statement {
        digest: module_digest(&file.bytes),
        file: name.with_context(|| format!("the name of `{}` is not UTF-8", path.display()))?.to_owned(),
        name: args.name.clone().or_else(|| metadata.as_ref().map(|metadata| metadata.name.clone())),
        version: args.version_of_module.clone().or(version),
        requests: metadata.as_ref().filter(|metadata| !metadata.requests.is_empty()).map(requests),
    })
}

/// Returns the digest of what a module asks for: one line for each request, sorted.
fn requests(metadata: &Metadata) -> String {
    let line = |request: &modbox_argument_spec::Request| {
        let required = if request.required { " required" } else { "" };
        format!("{} {}{required}\n", request.capability, request.subject)
    };
    let mut lines: Vec<String> = metadata.requests.iter().map(line).collect();
    lines.sort();
    module_digest(lines.concat().as_bytes())
}

/// Writes the signature file of a module, with the signatures that it has of the same statement.
fn sign(module: &Path, statement: Statement, key: &Path) -> anyhow::Result<()> {
    let path = signature_path(module);
    let present = read_signature(module).ok().and_then(|bytes| SignatureFile::parse(&bytes).ok());
    let mut signatures = match present {
        Some(present) if present.statement == statement => present.signatures,
        Some(present) if present.statement.digest == statement.digest => {
            bail!("`{}` has another statement of this module; remove it to sign this one:\n{statement}", path.display())
        }
        _ => Vec::new(),
    };
    let text = statement.to_string();
    let signature = ssh_keygen::sign(key, NAMESPACE, &text)?;
    let signer = SigningKey::verify(&signature, &text).context("the signature cannot be verified")?;
    let is_by_signer = |other: &String| {
        SigningKey::verify(other, &text).is_ok_and(|other| other.fingerprint() == signer.fingerprint())
    };
    if signatures.iter().any(is_by_signer) {
        print_note(&format!("`{}` has a signature by this key already", path.display()));
        return Ok(());
    }
    signatures.push(signature);
    whole_file::write(&path, MODE, &[SignatureFile { statement, signatures }.to_string().as_bytes()])
}
