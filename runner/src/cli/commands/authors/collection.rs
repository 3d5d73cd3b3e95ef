//! `modbox collection build`: makes a collection of Ansible from component modules.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use modbox_collection::files::{Collection, CollectionModule};
use modbox_collection::manual::Manual;
use modbox_collection::name::CollectionName;
use modbox_collection::runner::Runner;
use modbox_python_json::Value;
use modbox_run::{WasmInfo, ansible_documentation, locate, module_digest};
use modbox_trust::signature_file::SignatureFile;

use crate::cli::args::{CollectionBuildArgs, CollectionCommand};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::whole_file;
use crate::cli::named::find::Lookup;
use crate::cli::printing::folded_yaml::folded;
use crate::cli::printing::output::print_name;
use crate::cli::settings::{read_signature, signature_path};

/// Maximum number of files of a folder.
const MAX_ENTRIES: usize = 10_000;

/// Maximum bytes of a runner. A build without optimisation and with all symbols is shorter.
const MAX_RUNNER: u64 = 512 << 20;

/// Permissions of the archive.
const MODE: u32 = 0o644;

/// Makes the collection, and prints the path of its archive.
pub(crate) fn run(context: &Context, command: &CollectionCommand) -> Result<ExitStatus, Failure> {
    let CollectionCommand::Build(args) = command;
    let name = CollectionName::new(&args.namespace, &args.name).or_usage()?;
    let version = args.version.as_deref().unwrap_or(env!("CARGO_PKG_VERSION")).parse().or_usage()?;
    let lookup = Lookup::new(context, &args.lookup)?;
    let mut modules = Vec::new();
    for path in components(context, &lookup, args)? {
        let read = module(&path).with_context(|| format!("failed to put `{}` into a collection", path.display()));
        modules.push(read.or_unavailable()?);
    }
    modules.sort_by(|one: &CollectionModule, other| one.name.cmp(&other.name));
    let runners = args.runners.iter().map(|path| runner(&context.environment.absolute(path)));
    let collection = Collection {
        name,
        version,
        description: args.description.clone(),
        modules,
        runners: runners.collect::<anyhow::Result<_>>().or_unavailable()?,
        made_by: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let archive = collection.archive().or_unavailable()?;
    let output = context.environment.absolute(&args.output);
    let path = output.join(collection.archive_name());
    let made = std::fs::create_dir_all(&output).with_context(|| format!("failed to make `{}`", output.display()));
    made.and_then(|()| whole_file::write(&path, MODE, &[&archive])).or_unavailable()?;
    print_name(&path.display().to_string()).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Returns the components that the arguments name. Builds those of projects.
fn components(context: &Context, lookup: &Lookup, args: &CollectionBuildArgs) -> Result<Vec<PathBuf>, Failure> {
    let own: Vec<PathBuf> = match args.modules.is_empty() {
        true => modbox_authoring::standard_names().into_iter().map(PathBuf::from).collect(),
        false => Vec::new(),
    };
    let mut found = Vec::new();
    for module in args.modules.iter().chain(&own) {
        let folder = context.environment.absolute(module);
        match folder.is_dir() && !folder.join("Cargo.toml").is_file() {
            true => found.extend(in_folder(&folder).or_unavailable()?),
            false => found.push(lookup.find_or_build(context, module)?.path),
        }
    }
    Ok(found)
}

/// Returns the components in a folder.
fn in_folder(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = folder.display();
    let failed = || format!("failed to read the folder `{shown}`");
    let mut components = Vec::new();
    for (number, entry) in folder.read_dir().with_context(failed)?.enumerate() {
        if number == MAX_ENTRIES {
            bail!("the folder `{shown}` has more than {MAX_ENTRIES} files; name the components");
        }
        let file = entry.with_context(failed)?.path();
        components.extend(Some(file).filter(|file| file.extension().is_some_and(|extension| extension == "wasm")));
    }
    components.sort();
    if components.is_empty() {
        bail!("the folder `{shown}` has no components; build them first (`modbox build`), or name their projects");
    }
    Ok(components)
}

/// Reads a copy of modbox for hosts.
fn runner(path: &Path) -> anyhow::Result<Runner> {
    let read = || anyhow::Ok(Runner::of(&modbox_files::read_file(path, MAX_RUNNER)?)?);
    read().with_context(|| format!("failed to list the runner `{}`", path.display()))
}

/// Reads a component with its manual.
fn module(path: &Path) -> anyhow::Result<CollectionModule> {
    let file = locate::read(path)?;
    let component = modbox_kinds::skip_shebang(&file.bytes).to_vec();
    let metadata = WasmInfo::parse(&component)?.metadata()?;
    let metadata = metadata.context("it is a component without a manual; make it with the SDK")?;
    let manual = manual(&ansible_documentation(&metadata))?;
    let signature = signature(path, &component)?;
    Ok(CollectionModule { name: metadata.name, component, manual, signature })
}

/// Returns the signature file beside a component, if there is one.
fn signature(path: &Path, component: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
    if !signature_path(path).exists() {
        return Ok(None);
    }
    let bytes = read_signature(path).map_err(anyhow::Error::msg)?;
    let shown = signature_path(path).display().to_string();
    let signed = SignatureFile::parse(&bytes).with_context(|| format!("failed to read `{shown}`"))?;
    if signed.statement.digest != module_digest(component) {
        bail!("`{shown}` is a signature of other bytes; sign the component again, or remove the signature");
    }
    Ok(Some(bytes))
}

/// Returns the texts of a manual. The examples are commands, and so comments in a file of tasks.
fn manual(documentation: &Value) -> anyhow::Result<Manual> {
    let keys = documentation.as_dict().context("a manual has keys")?;
    let yaml = |key: &str| match keys.get(key) {
        Some(value) => {
            serde_saphyr::to_string(value).map(|yaml| folded(&yaml)).context("failed to write the manual as YAML")
        }
        None => Ok(String::new()),
    };
    let examples = keys.get("EXAMPLES").and_then(Value::as_str).unwrap_or_default();
    let examples =
        examples.lines().map(|line| format!("# {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n");
    Ok(Manual { documentation: yaml("DOCUMENTATION")?, examples, returns: yaml("RETURN")? })
}
