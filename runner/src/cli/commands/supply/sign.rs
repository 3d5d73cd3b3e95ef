//! `modbox sign`: signs modules with an SSH key.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use modbox_argument_spec::Metadata;
use modbox_closure::Part;
use modbox_policy::Policy;
use modbox_run::{CoreFiles, Module, WasmInfo, locate, module_digest, wasm_bytes};
use modbox_trust::NAMESPACE;
use modbox_trust::core_statement::{CoreFile, CoreStatement};
use modbox_trust::signature_file::SignatureFile;
use modbox_trust::ssh_signature::SigningKey;
use modbox_trust::statement::Statement;

use crate::cli::args::{AnsiballzForm, SignArgs};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::whole_file;
use crate::cli::identity::Identity;
use crate::cli::named::find::Lookup;
use crate::cli::printing::output::{print_name, print_note};
use crate::cli::runner::runner;
use crate::cli::settings::{read_signature, read_signature_file, signature_path};
use crate::cli::ssh_keygen;

/// Permissions of a signature file.
const MODE: u32 = 0o644;

/// Signs the modules, or the files of an ansible-core, and prints the paths of the signature files.
pub(crate) fn run(context: &Context, args: &SignArgs) -> Result<ExitStatus, Failure> {
    if args.name.is_some() && args.modules.len() > 1 {
        return Err(anyhow::anyhow!("`--name` is the name of one module; sign one at a time")).or_usage();
    }
    let lookup = Lookup::of_run(context, &args.lookup, &[], &args.module_utils, AnsiballzForm::Cached)?;
    let key = context.environment.absolute(&args.key);
    if let Some(folder) = &args.ansible_core {
        let path = sign_core(context, &lookup, folder.as_deref(), &key).or_unavailable()?;
        print_name(&path.display().to_string()).or_internal()?;
        return Ok(ExitStatus::Success);
    }
    let runner = runner(context, None, lookup.python.clone());
    for module in &args.modules {
        let found = lookup.find(context, module)?;
        let opened = Module::new(locate::read(&found.path).or_unavailable()?, None);
        let identity = Identity::of(&runner, &opened, &found.name, &lookup.interpreters, &Policy::default());
        let parts = own_parts(context, &lookup, args, &identity).or_unavailable()?;
        let statement = statement(&opened, args, parts).or_unavailable()?;
        statement.check().or_usage()?;
        if statement.name.is_none() {
            print_note(&format!(
                "the statement of `{}` has no name, so no trust rule with `modules` fits it; give one with `--name`",
                found.path.display()
            ));
        }
        sign(&found.path, statement, &key).or_unavailable()?;
        print_name(&signature_path(&found.path).display().to_string()).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

/// Returns the parts that a statement lists: all that are not files of ansible-core and run something.
fn own_parts(context: &Context, lookup: &Lookup, args: &SignArgs, identity: &Identity) -> anyhow::Result<Vec<Part>> {
    if let Some(reason) = &identity.unresolved {
        bail!("failed to find what the module is run with: {reason}");
    }
    let closure = &identity.closure;
    if closure.parts().is_empty() {
        return Ok(Vec::new());
    }
    let core = match args.whole {
        true => Vec::new(),
        // Without an ansible-core, no part is one of it.
        false => CoreFiles::find(&lookup.python, lookup.interpreter(), &context.environment.cwd)
            .map(|core| core.parts)
            .unwrap_or_default(),
    };
    let is_own = |part: &&Part| !core.contains(part) && !closure.is_inert(part, |_| false);
    Ok(closure.parts().iter().filter(is_own).cloned().collect())
}

/// Signs the files of an ansible-core: of the one in `folder`, or of the one that modules are run with. Returns the path of the file.
fn sign_core(context: &Context, lookup: &Lookup, folder: Option<&Path>, key: &Path) -> anyhow::Result<PathBuf> {
    let environment = &context.environment;
    let CoreFiles { release, parts } = match folder {
        None => CoreFiles::find(&lookup.python, lookup.interpreter(), &environment.cwd)?,
        Some(folder) => CoreFiles::of(&environment.absolute(folder))?,
    };
    let path = environment.absolute(Path::new(&format!("ansible-core-{release}.sig")));
    let statement = CoreStatement::new(release, parts)?;
    let present = read_signature_file(&path).ok().and_then(|bytes| CoreFile::parse(&bytes).ok());
    let mut signatures = match present {
        Some(present) if present.statement == statement => present.signatures,
        Some(_) => bail!("`{}` has another statement of this release; remove it to sign this one", path.display()),
        None => Vec::new(),
    };
    add_signature(&path, &mut signatures, &statement.to_string(), key)?;
    whole_file::write(&path, MODE, &[CoreFile { statement, signatures }.to_string().as_bytes()])?;
    Ok(path)
}

fn statement(module: &Module, args: &SignArgs, parts: Vec<Part>) -> anyhow::Result<Statement> {
    let (path, bytes) = (module.path(), module.bytes()?);
    let info = wasm_bytes(bytes).map(WasmInfo::parse).transpose()?;
    let metadata = info.map(|info| info.metadata()).transpose()?.flatten();
    let version = metadata.as_ref().map(|metadata| metadata.version.clone()).filter(|version| !version.is_empty());
    let name = path.file_name().unwrap_or_default().to_str();
    Ok(Statement {
        digest: module.digest().to_owned(),
        file: name.with_context(|| format!("the name of `{}` is not UTF-8", path.display()))?.to_owned(),
        name: args.name.clone().or_else(|| metadata.as_ref().map(|metadata| metadata.name.clone())),
        version: args.version_of_module.clone().or(version),
        requests: metadata.as_ref().filter(|metadata| !metadata.requests.is_empty()).map(requests),
        parts,
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
    add_signature(&path, &mut signatures, &text, key)?;
    whole_file::write(&path, MODE, &[SignatureFile { statement, signatures }.to_string().as_bytes()])
}

/// Adds the signature of a text by a key, unless there is one.
fn add_signature(path: &Path, signatures: &mut Vec<String>, text: &str, key: &Path) -> anyhow::Result<()> {
    let signature = ssh_keygen::sign(key, NAMESPACE, text)?;
    let signer = SigningKey::verify(&signature, text).context("the signature cannot be verified")?;
    let is_by_signer =
        |other: &String| SigningKey::verify(other, text).is_ok_and(|other| other.fingerprint() == signer.fingerprint());
    if signatures.iter().any(is_by_signer) {
        print_note(&format!("`{}` has a signature by this key already", path.display()));
    } else {
        signatures.push(signature);
    }
    Ok(())
}
