//! `modbox install`: puts modules from registries into the user's library, where they are found by their names.

use anyhow::bail;
use modbox_registry::lock_file::{LockFile, LockedModule};
use modbox_registry::reference::{Reference, ReferenceError, is_reference};

use crate::cli::args::InstallArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::module_store::module_store;
use crate::cli::printing::output::print_line;
use crate::cli::process::environment::Environment;
use crate::cli::registry::{ModuleJudge, RegistryAccess, UserLibrary};
use crate::cli::settings::Settings;

/// Variable with the registry of references that name none.
const REGISTRY: &str = "MODBOX_REGISTRY";

/// Installs the modules, and prints the path of each.
pub(crate) fn run(context: &Context, args: &InstallArgs) -> Result<ExitStatus, Failure> {
    let environment = &context.environment;
    let references = args.references.iter().map(|text| reference(environment, text));
    let references: Vec<Reference> = references.collect::<anyhow::Result<_>>().or_usage()?;
    let library = UserLibrary::of(environment).or_unavailable()?;
    let lock = LockFile::read(&library.lock()).or_usage()?;
    for (number, reference) in references.iter().enumerate() {
        let installed = lock.iter().map(|(installed, _)| installed);
        refuse_other(installed.chain(&references[..number]), reference).or_usage()?;
    }
    let trust = Settings::trust_of(environment, &args.policy).or_usage()?;
    let store = module_store(environment).or_unavailable()?;
    let access = RegistryAccess::new(context, &args.registry, &args.policy);
    let judge = ModuleJudge { store: &store, trust: &trust };
    for reference in &references {
        let module = judge.pull(&access, reference)?;
        library.create().or_unavailable()?;
        // The entry first: another process that installs the same name is refused by it.
        LockFile::update(&library.lock(), |lock| set(lock, reference, &module.locked)).or_unavailable()?.or_usage()?;
        let path = library.write(&store, &module).or_unavailable()?;
        print_line(&format!("{}: {}", path.display(), module.line())).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

/// Reads a reference, or a name and tag below the registry of the environment.
fn reference(environment: &Environment, text: &str) -> anyhow::Result<Reference> {
    let whole = match environment.variable(REGISTRY).and_then(|registry| registry.to_str()) {
        _ if is_reference(text) => text.to_owned(),
        Some(registry) if !registry.is_empty() => format!("{}/{text}", registry.trim_end_matches('/')),
        _ => bail!("`{text}` names no registry: write `oci://HOST/NAME:TAG`, or set {REGISTRY} to `oci://HOST/NAME`"),
    };
    let no_tag = || anyhow::anyhow!("`{whole}` has no tag, which `modbox update` needs; write `oci://HOST/NAME:TAG`");
    match whole.parse::<Reference>() {
        Ok(Reference { tag: None, .. }) | Err(ReferenceError::NoVersion(_)) => Err(no_tag()),
        parsed => Ok(parsed?),
    }
}

/// Refuses a module whose name one of another repository has.
fn refuse_other<'a>(mut installed: impl Iterator<Item = &'a Reference>, reference: &Reference) -> anyhow::Result<()> {
    let has_name = |installed: &&Reference| {
        installed.repository.module_name() == reference.repository.module_name()
            && installed.repository != reference.repository
    };
    match installed.find(has_name) {
        Some(installed) => bail!(
            "`{installed}` is installed by the name `{}` already; remove the file of the module and its entry in the lock \
             file first",
            reference.repository.module_name()
        ),
        None => Ok(()),
    }
}

/// Sets the entry of an installed module, which has one tag.
fn set(lock: &mut LockFile, reference: &Reference, module: &LockedModule) -> anyhow::Result<()> {
    refuse_other(lock.iter().map(|(installed, _)| installed), reference)?;
    let installed: Vec<Reference> = lock.iter().map(|(installed, _)| installed.clone()).collect();
    for older in installed.iter().filter(|installed| installed.repository == reference.repository) {
        lock.remove(older);
    }
    Ok(lock.insert(&reference.without_digest(), module.clone()).map(drop)?)
}
