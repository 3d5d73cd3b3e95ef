//! The module that a reference names: in the store, by the digest in the reference or by the lock file.
//!
//! A tag alone names nothing here: its owner can move it. What is missing in the store is pulled by its digest, unless the
//! network is not to be used. The loader checks the content against its name; see `locate`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use modbox_registry::digest::Digest;
use modbox_registry::lock_file::LockFile;
use modbox_registry::manifest::Descriptor;
use modbox_registry::module_store::ModuleStore;
use modbox_registry::reference::{self, Reference};
use modbox_run::library::FoundModule;

use crate::cli::args::{LOCK_FILE, LookupArgs, RegistryArgs};
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::module_store::module_store;
use crate::cli::registry::access::RegistryAccess;
use crate::cli::registry::judged;
use crate::cli::registry::progress::TransferBar;
use crate::cli::settings::Settings;

/// How references are looked up.
#[derive(Debug, Clone)]
pub(crate) struct ReferenceLookup {
    lock: PathBuf,
    is_offline: bool,
    /// Policy files of the command line, which can say not to ask registries.
    policies: Vec<PathBuf>,
}

/// Returns whether the word for a module is a reference.
pub(crate) fn is_reference(module: &Path) -> bool {
    module.to_str().is_some_and(reference::is_reference)
}

impl ReferenceLookup {
    /// Resolves the switches.
    pub(crate) fn new(context: &Context, args: &LookupArgs, policies: &[PathBuf]) -> Self {
        let lock = args.lock.as_deref().unwrap_or_else(|| Path::new(LOCK_FILE));
        let lock = context.environment.absolute(lock);
        Self { lock, is_offline: args.offline, policies: policies.to_vec() }
    }

    /// Returns the module that a reference names.
    ///
    /// # Errors
    ///
    /// It is not a reference, the lock file does not have its tag, or it can neither be found nor pulled.
    pub(crate) fn find(&self, context: &Context, module: &Path) -> Result<FoundModule, Failure> {
        let reference: Reference = module.to_string_lossy().parse().or_usage()?;
        let store = module_store(&context.environment).or_unavailable()?;
        let (_, content) = self.resolve(context, &store, &reference).or_unavailable()?;
        Ok(FoundModule {
            path: store.layout().path(&content.digest),
            name: reference.repository.to_string(),
            task_name: reference.repository.module_name().to_owned(),
            ..FoundModule::default()
        })
    }

    /// Returns a reference with its digest, and the content of its module, which is then in the store.
    ///
    /// # Errors
    ///
    /// The lock file does not have its tag, or it can neither be found nor pulled.
    pub(crate) fn resolve(
        &self,
        context: &Context,
        store: &ModuleStore,
        reference: &Reference,
    ) -> anyhow::Result<(Reference, Descriptor)> {
        let pinned = self.pinned(reference)?;
        let content = match stored(store, &pinned) {
            Some(content) => content,
            None => self.pull(context, store, &pinned)?,
        };
        self.check_locked(reference, &content)?;
        Ok((pinned, content))
    }

    /// Returns the tags of the lock file.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(crate) fn locked(&self) -> anyhow::Result<Vec<Reference>> {
        Ok(LockFile::read(&self.lock)?.iter().map(|(reference, _)| reference.clone()).collect())
    }

    /// Returns a reference with a digest: its own, or that of the lock file.
    fn pinned(&self, reference: &Reference) -> anyhow::Result<Reference> {
        if reference.digest.is_some() {
            return Ok(reference.clone());
        }
        let locked = LockFile::read(&self.lock)?.get(reference).map(|locked| locked.manifest.clone());
        let missing = || {
            format!(
                "`{}` does not say which module `{reference}` is; run `modbox pull {reference}` once, or add the digest",
                self.lock.display()
            )
        };
        Ok(reference.with_digest(locked.with_context(missing)?))
    }

    /// Checks that a module is the one that the lock file has for its tag.
    fn check_locked(&self, reference: &Reference, content: &Descriptor) -> anyhow::Result<()> {
        if reference.digest.is_some() {
            return Ok(());
        }
        check_locked(&LockFile::read(&self.lock)?, &self.lock, reference, content)
    }

    fn pull(&self, context: &Context, store: &ModuleStore, reference: &Reference) -> anyhow::Result<Descriptor> {
        if self.is_offline {
            bail!("`{reference}` is not in the store, and --offline says not to pull it");
        }
        let access = RegistryAccess::new(context, &RegistryArgs::default(), &self.policies);
        if let Some(rule) = access.offline()? {
            bail!("`{reference}` is not in the store, and {rule}, so that it is not pulled");
        }
        let mut session = access.open(&reference.repository)?;
        let bar = TransferBar::new(&reference.to_string());
        let trust = Settings::trust_of(&context.environment, &self.policies)?;
        let pulled = judged::pull(store, &trust, reference, &mut session, &bar)?;
        drop(bar);
        judged::say_left_out(pulled.left_out, &reference.to_string());
        Ok(pulled.module)
    }
}

/// Checks that the content of a manifest is the module that a lock file has for a tag. The manifest alone decides what is pulled, so
/// another line `module` is one that was changed by hand, or a mistake of a merge.
///
/// # Errors
///
/// The lock file has another one.
pub(crate) fn check_locked(
    lock: &LockFile,
    path: &Path,
    reference: &Reference,
    content: &Descriptor,
) -> anyhow::Result<()> {
    let Some(locked) = lock.get(&reference.without_digest()).filter(|locked| locked.module != content.digest) else {
        return Ok(());
    };
    bail!(
        "`{}` says that the module of `{reference}` is {}, and the manifest {} that it names has {}; restore the file, or run \
         `modbox update {reference}`",
        path.display(),
        locked.module,
        locked.manifest,
        content.digest
    )
}

/// Returns the content of a module that is in the store.
fn stored(store: &ModuleStore, reference: &Reference) -> Option<Descriptor> {
    let digest: &Digest = reference.digest.as_ref()?;
    let (manifest, _) = store.layout().manifest(digest).ok()?;
    manifest.module().ok().filter(|module| store.layout().has(module)).cloned()
}
