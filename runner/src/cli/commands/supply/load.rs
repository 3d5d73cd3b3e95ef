//! `modbox load`: reads modules with their signatures from a file that `save` wrote.

use anyhow::Context as _;
use modbox_files::open_at_once;
use modbox_registry::bundle::Bundle;
use modbox_registry::layout::StoredModule;
use modbox_registry::lock_file::{LockFile, LockedModule};
use modbox_registry::reference::Reference;
use modbox_run::locate::MAX_MODULE;
use modbox_trust::signature_file::SignatureFile;

use crate::cli::args::LoadArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::module_store::module_store;
use crate::cli::printing::output::{clean_line, print_line, print_note};
use crate::cli::registry::{JudgedModule, ModuleJudge, say_left_out};
use crate::cli::settings::Settings;

/// Loads the bundle, and prints the references of what is in it.
pub(crate) fn run(context: &Context, args: &LoadArgs) -> Result<ExitStatus, Failure> {
    let environment = &context.environment;
    let lock_path = environment.absolute(&args.lock);
    // Before anything is kept.
    LockFile::read(&lock_path).or_usage()?;
    let trust = Settings::trust_of(environment, &args.policy).or_usage()?;
    let store = module_store(environment).or_unavailable()?;
    let path = environment.absolute(&args.bundle);
    let failed = || format!("failed to load `{}`", path.display());
    let (file, metadata) = open_at_once(&path).with_context(failed).or_unavailable()?;
    if !metadata.is_file() {
        return Err(anyhow::anyhow!("`{}` is not a regular file", path.display())).or_unavailable();
    }
    let counts = |file: &SignatureFile, signature: &str| trust.counts(file, signature);
    let loaded = Bundle::read(file).and_then(|bundle| bundle.load(&store, MAX_MODULE, &counts));
    let (loaded, left_out) = loaded.with_context(failed).or_unavailable()?;
    say_left_out(left_out, &path.display().to_string());
    let judge = ModuleJudge { store: &store, trust: &trust };
    let mut modules = Vec::new();
    for StoredModule { reference, manifest } in loaded {
        let Ok(reference) = Reference::from_layout(&reference) else {
            print_note(&format!("`{}` is kept, and is not the name of a module in a registry", clean_line(&reference)));
            continue;
        };
        if reference.digest.as_ref().is_some_and(|digest| *digest != manifest.digest) {
            let error = anyhow::anyhow!("the bundle has {} by the name `{reference}`", manifest.digest);
            return Err(error).with_context(failed).or_unavailable();
        }
        let (parsed, _) = store.layout().manifest(&manifest.digest).or_unavailable()?;
        let content = parsed.module().or_unavailable()?.clone();
        modules.push(judge.judge(&reference, manifest.digest, content)?);
    }
    let kept = LockFile::update(&lock_path, |lock| add_missing(lock, &modules)).or_unavailable()?;
    for (reference, locked) in kept {
        print_note(&format!("the lock file has {} for `{reference}`, and keeps it", locked.manifest));
    }
    modules.iter().try_for_each(|module| print_line(&module.line())).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Adds the tags that the lock file does not have. Returns those that it has for other modules.
fn add_missing(lock: &mut LockFile, modules: &[JudgedModule]) -> Vec<(Reference, LockedModule)> {
    let mut kept = Vec::new();
    for module in modules.iter().filter(|module| module.reference.tag.is_some()) {
        let tag = module.reference.without_digest();
        match lock.get(&tag) {
            Some(locked) if locked.manifest != module.locked.manifest => kept.push((tag, locked.clone())),
            Some(_) => {}
            // It has a tag and no digest, so it can be inserted.
            None => drop(lock.insert(&tag, module.locked.clone())),
        }
    }
    kept
}
