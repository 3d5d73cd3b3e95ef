//! `modbox pull`: brings modules from registries, and writes what their tags stood for to the lock file.

use anyhow::Context as _;
use modbox_registry::lock_file::LockFile;
use modbox_registry::reference::Reference;

use crate::cli::args::PullArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::whole_file;
use crate::cli::module_store::module_store;
use crate::cli::printing::output::print_line;
use crate::cli::registry::{ModuleJudge, RegistryAccess, check_locked};
use crate::cli::settings::Settings;

/// Permissions of a module that is written to a file.
const MODE: u32 = 0o644;

/// Pulls the modules, and prints each with its digest.
pub(crate) fn run(context: &Context, args: &PullArgs) -> Result<ExitStatus, Failure> {
    let environment = &context.environment;
    let lock_path = environment.absolute(&args.lock);
    let lock = LockFile::read(&lock_path).or_usage()?;
    let references = references(args, &lock)?;
    if args.output.is_some() && references.len() != 1 {
        return Err(anyhow::anyhow!("`--output` is the file of one module; pull one at a time")).or_usage();
    }
    let trust = Settings::trust_of(environment, &args.policy).or_usage()?;
    let store = module_store(environment).or_unavailable()?;
    let access = RegistryAccess::new(context, &args.registry, &args.policy);
    let judge = ModuleJudge { store: &store, trust: &trust };
    for reference in &references {
        let module = judge.pull(&access, &pinned(reference, &lock))?;
        if reference.digest.is_none() {
            check_locked(&lock, &lock_path, reference, &module.content).or_unavailable()?;
        }
        if reference.tag.is_some() && !args.locked {
            let tag = reference.without_digest();
            let inserted = LockFile::update(&lock_path, |lock| lock.insert(&tag, module.locked.clone()).map(drop));
            inserted.or_unavailable()?.or_usage()?;
        }
        if let Some(output) = &args.output {
            let bytes = store.layout().read(&module.content.digest, module.content.size).or_unavailable()?;
            whole_file::write(&environment.absolute(output), MODE, &[&bytes]).or_unavailable()?;
        }
        print_line(&module.line()).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

/// Returns what is to be pulled: what the caller names, or all of the lock file.
fn references(args: &PullArgs, lock: &LockFile) -> Result<Vec<Reference>, Failure> {
    let named: Result<Vec<Reference>, _> = args.references.iter().map(|text| text.parse()).collect();
    let named = named.or_usage()?;
    let path = args.lock.display();
    let is_missing = |reference: &&Reference| reference.digest.is_none() && lock.get(reference).is_none();
    match named.iter().find(|reference| args.locked && is_missing(reference)) {
        Some(missing) => {
            Err(anyhow::anyhow!("`{path}` does not have `{missing}`, and --locked says to leave it so")).or_usage()
        }
        None if !named.is_empty() => Ok(named),
        None => {
            let all: Vec<Reference> = lock.iter().map(|(reference, _)| reference.clone()).collect();
            let nothing = || format!("`{path}` has no modules; name one such as `oci://HOST/NAME:TAG`");
            (!all.is_empty()).then_some(all).with_context(nothing).or_usage()
        }
    }
}

/// Returns the reference with the digest of the lock file, if that has one for it.
fn pinned(reference: &Reference, lock: &LockFile) -> Reference {
    match (&reference.digest, lock.get(&reference.without_digest())) {
        (None, Some(locked)) => reference.with_digest(locked.manifest.clone()),
        _ => reference.clone(),
    }
}
