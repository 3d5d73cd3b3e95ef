//! `modbox push`: sends a component and its signatures to a registry.

use std::fs::File;

use anyhow::{Context as _, bail};
use modbox_argument_spec::Metadata;
use modbox_registry::digest::Digest;
use modbox_registry::manifest::Annotations;
use modbox_registry::push::Push;
use modbox_registry::reference::Reference;
use modbox_run::{WasmInfo, locate, wasm_bytes};
use modbox_trust::signature_file::SignatureFile;
use serde_json::json;

use crate::cli::args::PushArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::module_store::module_store;
use crate::cli::named::find::Lookup;
use crate::cli::printing::output::{print_name, print_note};
use crate::cli::registry::{RegistryAccess, is_reference};
use crate::cli::settings::{read_signature, signature_path};

/// What the names of the annotations begin with (OCI image specification 1.1, "Pre-Defined Annotation Keys").
const ANNOTATION: &str = "org.opencontainers.image";

/// Pushes the module, and prints its reference with the digest.
pub(crate) fn run(context: &Context, args: &PushArgs) -> Result<ExitStatus, Failure> {
    let reference: Reference = args.reference.parse().or_usage()?;
    if reference.digest.is_some() || reference.tag.is_none() {
        return Err(anyhow::anyhow!(
            "`{reference}` has no tag alone; what is pushed has a tag, and its digest follows"
        ))
        .or_usage();
    }
    let lookup = Lookup::new(context, &args.lookup)?;
    let path = lookup.find_or_build(context, &args.module)?.path;
    let bytes = locate::read(&path).or_unavailable()?.bytes;
    let shown = path.display();
    let wasm = wasm_bytes(&bytes).with_context(|| format!("`{shown}` is not a WebAssembly module")).or_unavailable()?;
    let info = WasmInfo::parse(wasm).or_unavailable()?;
    let metadata = info.metadata().or_unavailable()?;
    let digest = Digest::of(wasm);
    let push = Push {
        reference: &reference,
        file: &content(wasm).or_internal()?,
        size: wasm.len() as u64,
        config: config(&info, &digest).into_bytes(),
        annotations: annotations(metadata.as_ref()),
        signatures: match is_reference(&args.module) {
            true => module_store(&context.environment).or_unavailable()?.signature_files(&digest),
            false => signature(&path, &digest).or_unavailable()?.into_iter().collect(),
        },
        digest,
    };
    let mut session = RegistryAccess::new(context, &args.registry, &[]).open(&reference.repository).or_unavailable()?;
    let manifest = push.run(&mut session).or_unavailable()?;
    print_name(&reference.with_digest(manifest).to_string()).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Returns a file with what is pushed: without the `#!` line that a module's file can have.
fn content(wasm: &[u8]) -> std::io::Result<File> {
    use std::io::Write as _;
    let mut file = tempfile::tempfile()?;
    file.write_all(wasm)?;
    Ok(file)
}

/// Returns the configuration of the layout of the CNCF. It has no time, so that the same module has the same digest.
fn config(info: &WasmInfo, module: &Digest) -> String {
    let is_component = info.imports.iter().chain(&info.exports).any(|name| name.contains(':'));
    let mut config = json!({
        "architecture": "wasm",
        "os": if is_component { "wasip2" } else { "wasip1" },
        "layerDigests": [module.as_str()],
    });
    if is_component {
        config["component"] = json!({"exports": info.exports, "imports": info.imports});
    }
    config.to_string()
}

fn annotations(metadata: Option<&Metadata>) -> Annotations {
    let Some(metadata) = metadata else { return Annotations::new() };
    let description = metadata.description.first().cloned().unwrap_or_default();
    let known = [("title", &metadata.name), ("version", &metadata.version), ("description", &description)];
    let said = known.into_iter().filter(|(_, value)| !value.is_empty());
    said.map(|(key, value)| (format!("{ANNOTATION}.{key}"), value.clone())).collect()
}

/// Returns the signature file beside a module, if it has one.
///
/// # Errors
///
/// It is one of another module.
fn signature(module: &std::path::Path, digest: &Digest) -> anyhow::Result<Option<Vec<u8>>> {
    let path = signature_path(module);
    if !path.exists() {
        return Ok(None);
    }
    let bytes = read_signature(module).map_err(anyhow::Error::msg)?;
    let file = SignatureFile::parse(&bytes).with_context(|| format!("failed to read `{}`", path.display()))?;
    if file.statement.digest != digest.hex() {
        bail!(
            "`{}` signs sha256:{}, and the module has {digest}; sign the module again, or remove the file",
            path.display(),
            file.statement.digest
        );
    }
    print_note(&format!("the signature file `{}` goes along", path.display()));
    Ok(Some(bytes))
}
