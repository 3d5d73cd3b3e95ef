//! Assembles one module's payload, or finds it in the cache, and returns it as a tree or as one file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use modbox_closure::{Closure, Part};
use modbox_kinds::CoreArgs;
use modbox_kinds::ansiballz::{self, COMPILE_SCRIPT, DottedName, Payload, START_MODULE};
use modbox_store::{StoreError, Tree};
use modbox_vocabulary::User;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::module_digest::digest;
use crate::python::answers::stamp::Stamps;
use crate::python::ask::{ScriptAccess, ask};
use crate::python::cache::{Cache, INDEX, PAYLOAD};
use crate::python::config::PythonConfig;
use crate::python::context::{AssemblyContext, ModuleSource};
use crate::python::disk::{Disk, Roots};
use crate::python::error::PythonError;
use crate::python::folders::collection_folders;
use crate::python::install::Install;
use crate::python::interpreter::Interpreter;
use crate::python::parser_stack::with_parser_stack;

/// Name of the script that starts a tree.
pub(super) const SCRIPT: &str = "_modbox_run.py";

/// Index entry of a payload: its facts without its files.
#[derive(Debug, Serialize, Deserialize)]
struct IndexEntry {
    closure: Closure,
    module: String,
    core_args: CoreArgs,
    stamps: Stamps,
}

/// A payload that was found once: a later assembly with it makes this one, or fails.
#[derive(Debug, Clone)]
pub(crate) struct KnownAssembly {
    entry: Arc<IndexEntry>,
    /// The interpreter and the ansible-core that were chosen for it, if the choice depends on no grant.
    chosen: Option<Arc<ChosenPython>>,
}

/// An interpreter, if there is one, and an ansible-core that were chosen for a module.
#[derive(Debug)]
pub(super) struct ChosenPython {
    pub(super) interpreter: Option<Interpreter>,
    pub(super) install: Install,
    /// The user whose run it is.
    pub(super) user: Option<User>,
}

impl KnownAssembly {
    /// Returns the names and digests of the payload's files.
    pub(crate) fn closure(&self) -> &Closure {
        &self.entry.closure
    }

    /// Returns what was chosen for a run of this user.
    pub(super) fn chosen(&self, user: Option<&User>) -> Option<&ChosenPython> {
        self.chosen.as_deref().filter(|chosen| chosen.user.as_ref() == user)
    }

    /// Adds what was chosen.
    pub(super) fn with_chosen(self, chosen: ChosenPython) -> Self {
        Self { chosen: Some(Arc::new(chosen)), ..self }
    }
}

/// An error in making a tree: of the module, or of the cache.
pub(super) enum TreeError {
    Python(PythonError),
    Cache(StoreError),
}

impl From<StoreError> for TreeError {
    fn from(error: StoreError) -> Self {
        Self::Cache(error)
    }
}

impl From<PythonError> for TreeError {
    fn from(error: PythonError) -> Self {
        Self::Python(error)
    }
}

/// Assembly of one module, with the results so far.
pub(super) struct Assembly<'a> {
    context: &'a AssemblyContext<'a>,
    module: DottedName,
    imports: ImportSource<'a>,
    payload: Option<Payload>,
    index_entry: Option<Arc<IndexEntry>>,
    /// Digest of the module's file.
    digest: &'a str,
}

/// Where the imports of a module come from.
enum ImportSource<'a> {
    /// Files of this machine.
    Files { subject: ModuleSource<'a>, install: &'a Install, roots: Roots },
    /// The payload that the module arrived with.
    Received(&'a Payload),
}

impl<'a> Assembly<'a> {
    pub(super) fn new(
        context: &'a AssemblyContext<'a>,
        subject: ModuleSource<'a>,
        install: &'a Install,
        interpreter: Option<&Interpreter>,
        known: Option<&KnownAssembly>,
    ) -> Self {
        let digest = subject.digest;
        let module = ansiballz::module_name(subject.path, Some(&install.root), subject.name);
        let folders = interpreter.map(|interpreter| interpreter.facts.folders.as_slice()).unwrap_or_default();
        let roots = roots(context.config, subject.path, install, folders);
        let imports = ImportSource::Files { subject, install, roots };
        let index_entry = known.map(|known| Arc::clone(&known.entry));
        Self { context, module, imports, payload: None, index_entry, digest }
    }

    /// Takes the payload that a module arrived with.
    pub(super) fn received(
        context: &'a AssemblyContext<'a>,
        subject: ModuleSource<'a>,
        payload: &'a Payload,
        known: Option<&KnownAssembly>,
    ) -> Self {
        let (module, imports) = (payload.module.clone(), ImportSource::Received(payload));
        let index_entry = known.map(|known| Arc::clone(&known.entry));
        Self { context, module, imports, payload: None, index_entry, digest: subject.digest }
    }

    /// Returns the payload that is to be made, without making it if it is in the cache.
    pub(super) fn known(&mut self) -> Result<KnownAssembly, PythonError> {
        let entry = self.index_entry()?;
        Ok(KnownAssembly { entry, chosen: None })
    }

    fn cache(&self) -> Option<&'a Cache> {
        self.context.cache.as_ref()
    }

    /// Returns the payload laid out in the cache; `None` without a cache.
    pub(super) fn tree(&mut self, interpreter: &Interpreter) -> Result<Option<Tree>, TreeError> {
        let Some(cache) = self.cache() else { return Ok(None) };
        let index_entry = self.index_entry()?;
        // Another modbox starts a module in another way.
        let start = digest(START_MODULE.1.as_bytes());
        let name = format!("{}-{}-{}", index_entry.closure.digest(), &interpreter.identity[..16], &start[..8]);
        cache.tree(&name, |staging, path| {
            tracing::debug!(module = %self.module, "laying out the module");
            lay_out(self.payload()?, staging, path).map_err(StoreError::io("lay out the module in", staging))?;
            self.compile(interpreter, staging, path)
        })
    }

    /// Compiles the sources in `staging`, for its final place `path`.
    fn compile(&self, interpreter: &Interpreter, staging: &Path, path: &Path) -> Result<(), TreeError> {
        let words = [
            interpreter.program.as_str(),
            "-I",
            "-S",
            "-",
            &staging.display().to_string(),
            &path.display().to_string(),
        ];
        let reads: Vec<PathBuf> =
            interpreter.reads(self.context.native).paths.into_iter().map(|runtime| runtime.path).collect();
        let access = ScriptAccess { reads: &reads, writes: Some(staging) };
        let compiled = ask(self.context.native, self.context.tmpdir, &words, COMPILE_SCRIPT, &access)?;
        let failed = |reason| StoreError::io("compile the module in", staging)(io::Error::other(reason)).into();
        compiled.map(drop).map_err(failed)
    }

    /// Returns the payload as one file, without arguments.
    pub(super) fn portable(&mut self) -> Result<Arc<str>, PythonError> {
        let key = self.digest()?;
        let kept = self.cache().and_then(|cache| cache.read(PAYLOAD, &key));
        if let Some(text) = kept.and_then(|bytes| String::from_utf8(bytes).ok()) {
            return Ok(text.into());
        }
        let payload = self.payload()?;
        let zip = ansiballz::zip_text(payload).map_err(PythonError::Zip)?;
        let text = ansiballz::portable("/usr/bin/env python3", payload, &zip);
        if let Some(cache) = self.cache() {
            cache.write(PAYLOAD, &key, text.as_bytes());
        }
        Ok(text.into())
    }

    pub(super) fn core_args(&mut self) -> Result<CoreArgs, PythonError> {
        Ok(self.index_entry()?.core_args.clone())
    }

    /// Returns the payload's index entry, looking it up only once.
    fn index_entry(&mut self) -> Result<Arc<IndexEntry>, PythonError> {
        if let Some(index_entry) = &self.index_entry {
            return Ok(Arc::clone(index_entry));
        }
        let index_entry = Arc::new(self.look_up()?);
        self.index_entry = Some(Arc::clone(&index_entry));
        Ok(index_entry)
    }

    /// Looks up the payload's index entry in the cache, or assembles the payload if a file that it depends on has
    /// changed.
    fn look_up(&mut self) -> Result<IndexEntry, PythonError> {
        let key = match &self.imports {
            ImportSource::Files { subject, install, roots } => self.key(*subject, install, roots),
            ImportSource::Received(payload) => {
                // Its arguments are those of its own release.
                let core_args = CoreArgs { unknown: Vec::new(), ..payload.core_args() };
                let (closure, module) = (closure(payload, self.digest), payload.module.to_string());
                return Ok(IndexEntry { closure, module, core_args, stamps: Stamps::of([]) });
            }
        };
        let known = self.cache().and_then(|cache| cache.get_compressed::<IndexEntry>(INDEX, &key));
        if let Some(known) = known.filter(|known| known.module == self.module.to_string() && known.stamps.are_current())
        {
            return Ok(known);
        }
        let (payload, stamps) = self.assemble()?;
        let (closure, module) = (closure(&payload, self.digest), payload.module.to_string());
        let index_entry = IndexEntry { closure, module, core_args: payload.core_args(), stamps };
        self.payload = Some(payload);
        if let Some(cache) = self.cache().filter(|_| index_entry.stamps.are_settled()) {
            cache.put_compressed(INDEX, &key, &index_entry);
        }
        Ok(index_entry)
    }

    /// Returns the name that the module runs under.
    pub(super) fn module(&self) -> &DottedName {
        &self.module
    }

    /// Returns the payload's digest.
    pub(super) fn digest(&mut self) -> Result<String, PythonError> {
        Ok(self.index_entry()?.closure.digest().to_owned())
    }

    /// Returns the payload. Its files are the ones that the index entry has the digests of: another module may not take its place.
    pub(super) fn payload(&mut self) -> Result<&Payload, PythonError> {
        if self.payload.is_none() {
            let (payload, _) = self.assemble()?;
            if let Some(entry) = &self.index_entry
                && closure(&payload, self.digest) != entry.closure
            {
                return Err(PythonError::Changed(self.module.to_string()));
            }
            self.payload = Some(payload);
        }
        self.payload.as_ref().ok_or_else(|| PythonError::Thread(io::Error::other("nothing was put together")))
    }

    fn assemble(&self) -> Result<(Payload, Stamps), PythonError> {
        let (subject, install, roots) = match &self.imports {
            ImportSource::Files { subject, install, roots } => (subject, install, roots),
            ImportSource::Received(payload) => return Ok(((*payload).clone(), Stamps::of([]))),
        };
        let mut disk = Disk::new(roots.clone(), self.context.config.routings.clone());
        // The release is part of the payload, so the stamps must include its file.
        drop(disk.read(&install.root.join("release.py"), 1)?);
        let (module, source, core) = (&self.module, &subject.source.text, &install.core);
        let assembled = with_parser_stack(|| ansiballz::assemble(module, source, core, &mut disk));
        let payload = assembled.map_err(PythonError::Thread)??;
        tracing::debug!(module = %payload.module, files = payload.files.len(), "put the module together");
        Ok((payload, disk.into_stamps()))
    }

    /// Returns the module's key in the index: a digest of its file and of its text, its names, and the folders of lookups.
    fn key(&self, subject: ModuleSource<'_>, install: &Install, roots: &Roots) -> String {
        let mut hash = Sha256::new();
        let text = format!("{}\0{}\0{}\0{:?}\0{:?}", self.module, subject.name, self.digest, install.core, roots);
        hash.update(text.as_bytes());
        hash.update([0]);
        hash.update(&subject.source.text);
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Returns the closure of a payload. The digest of the module's own file is that of the file itself, in which an old token may have
/// been replaced.
fn closure(payload: &Payload, digest: &str) -> Closure {
    let own = payload.module.file(false);
    let beside = || payload.files.iter().filter(|(name, _)| **name != own);
    let parts = beside().map(|(name, source)| Part::of(name.as_str(), source)).collect();
    let inert = beside().filter(|(_, source)| ansiballz::is_inert(source)).map(|(name, _)| name.clone());
    let inert = inert.collect();
    Closure::of(Part { name: own, digest: digest.to_owned() }, parts, inert)
}

/// Returns the folders in which imports are looked up, in Ansible's order: the named ones, those beside the module, the
/// user's, the system's, ansible-core.
fn roots(config: &PythonConfig, module: &Path, install: &Install, folders: &[PathBuf]) -> Roots {
    let home = |name: &str| config.home.as_ref().map(|home| home.join(name));
    let beside = module.parent().map(|folder| folder.join("module_utils"));
    let of_playbook = module
        .parent()
        .filter(|folder| folder.file_name().is_some_and(|name| name == "library"))
        .and_then(|library| Some(library.parent()?.join("module_utils")));
    let own = [
        beside,
        of_playbook,
        home(".ansible/plugins/module_utils"),
        Some(PathBuf::from("/usr/share/ansible/plugins/module_utils")),
        Some(install.root.join("module_utils")),
    ];
    let mut utilities: Vec<PathBuf> = config.module_utils.iter().cloned().chain(own.into_iter().flatten()).collect();
    let mut collections = collection_folders(config, module, Some(&install.root));
    collections.extend_from_slice(folders);
    for folders in [&mut utilities, &mut collections] {
        let mut seen = std::collections::HashSet::new();
        folders.retain(|folder| seen.insert(folder.clone()));
    }
    Roots { utilities, collections, core: install.root.clone() }
}

/// Writes a tree's files to `staging`, with the scripts that start it from `path`, its final place.
fn lay_out(payload: &Payload, staging: &Path, path: &Path) -> io::Result<()> {
    let script = ansiballz::start_script(&path.display().to_string(), &payload.module, payload.has_loader);
    let (start_name, start) = START_MODULE;
    let own = [(SCRIPT.to_owned(), script.as_bytes()), (format!("{start_name}.py"), start.as_bytes())];
    let files = payload.files.iter().map(|(path, source)| (path.clone(), &source[..]));
    for (name, source) in files.chain(own) {
        let file = staging.join(&name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, source)?;
    }
    Ok(())
}
