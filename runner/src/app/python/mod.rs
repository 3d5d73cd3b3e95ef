//! Prepares new-style Python modules: finds the interpreter and ansible-core, assembles the payload, and caches all of
//! that for the next run.
//!
//! By default a payload is laid out once in the cache, compiled, and imported from there; a later run then only has to
//! check each file that the payload was made of. Where nothing can be cached, and with [`PayloadForm::Zip`], the
//! payload is passed as Ansible sends it: one script on the interpreter's standard input.

mod ask;
mod assembly;
mod cache;
mod disk;
mod error;
mod install;
mod interpreter;
mod shim;
mod stamp;

use std::path::{Path, PathBuf};

use modbox_kinds::{PythonForm, PythonSource, PythonStart};
use modbox_native::{NativeContext, base};
use modbox_policy::{Access, normalize};
use modbox_store::Tree;
use modbox_vocabulary::error_chain;
use serde::{Deserialize, Serialize};

use self::assembly::{Assembly, SCRIPT, TreeError};
use self::cache::Cache;
pub use self::cache::clear_cache;
pub use self::error::PythonError;
use self::install::Install;
use self::interpreter::Interpreter;

/// First Python whose compiled files can be marked as not to be compared with their source.
const LEAST_FOR_TREES: [u32; 2] = [3, 7];

/// Form in which a payload reaches the interpreter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PayloadForm {
    /// Laid out and compiled in the cache.
    #[default]
    Cached,
    /// One script with a zip in it.
    Zip,
}

/// Configuration for running Python modules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonConfig {
    /// Folder of cached payloads; without one, they are made anew for each run.
    pub cache: Option<PathBuf>,
    /// Form in which payloads reach the interpreter.
    pub form: PayloadForm,
    /// Folders like `ansible/module_utils`, or with `ansible_collections` in them, that are searched before all others.
    pub module_utils: Vec<PathBuf>,
    /// The user's home, below which Ansible looks for both sorts of folders.
    pub home: Option<PathBuf>,
    /// Folders in which programs are looked up.
    pub search_path: Vec<PathBuf>,
    /// Version that pyenv is asked for (`PYENV_VERSION`), where interpreters are shims of pyenv.
    pub pyenv_version: Option<String>,
}

/// Module that is ready to start.
pub(super) struct PreparedModule {
    pub(super) start: PythonStart,
    /// Notes for the report.
    pub(super) notes: Vec<String>,
    /// Lock on the tree, held while the module runs.
    pub(super) _tree: Option<Tree>,
}

/// Assembler of modules for one runner.
pub(super) struct Assembler<'a> {
    config: &'a PythonConfig,
    cx: &'a NativeContext,
    cache: Option<Cache>,
    tmpdir: &'a Path,
}

/// Module to assemble: its name, path and source.
#[derive(Clone, Copy)]
pub(super) struct ModuleSource<'a> {
    pub(super) name: &'a str,
    pub(super) path: &'a Path,
    pub(super) source: &'a PythonSource,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(config: &'a PythonConfig, cx: &'a NativeContext, tmpdir: &'a Path) -> Self {
        let cache = config.cache.as_deref().and_then(|dir| Cache::open(dir, &cx.cleanup));
        Self { config, cx, cache, tmpdir }
    }

    /// Makes all that is needed to start a module. With `on_disk`, the payload is a file that may be kept.
    pub(super) fn start(&self, subject: ModuleSource<'_>, on_disk: bool) -> Result<PreparedModule, PythonError> {
        let path = absolute(subject.path, &self.cx.directory);
        let subject = ModuleSource { path: &path, ..subject };
        let (interpreter, install) = self.choose(subject)?;
        let mut words = vec![interpreter.program.clone()];
        words.extend(subject.source.arguments.iter().cloned());
        let mut notes = Vec::new();
        let wants_tree =
            self.config.form == PayloadForm::Cached && !on_disk && interpreter.is_at_least(LEAST_FOR_TREES);
        let mut runtime_paths = interpreter.runtime_paths();
        let mut assembly = Assembly::new(self, subject, &install, Some(&interpreter));
        let unknown_args = assembly.unknown_args()?;
        if wants_tree {
            match assembly.tree(&interpreter) {
                Ok(Some(tree)) => {
                    let script = tree.path().join(SCRIPT).display().to_string();
                    runtime_paths.push(tree.path().to_owned());
                    let form = PythonForm::LaidOut { script };
                    let start = PythonStart { interpreter: words, form, unknown_args, runtime_paths };
                    return Ok(PreparedModule { start, notes, _tree: Some(tree) });
                }
                Ok(None) => notes.push(self.no_cache_note()),
                Err(TreeError::Cache(error)) => {
                    notes.push(format!("{}: {}", self.no_cache_note(), error_chain(&error)))
                }
                Err(TreeError::Python(error)) => return Err(error),
            }
        }
        let text = assembly.portable()?;
        let form = PythonForm::Portable { text, on_disk };
        Ok(PreparedModule {
            start: PythonStart { interpreter: words, form, unknown_args, runtime_paths },
            notes,
            _tree: None,
        })
    }

    /// Returns one file that runs with plain Python on any machine.
    pub(super) fn portable(&self, subject: ModuleSource<'_>) -> Result<String, PythonError> {
        let path = absolute(subject.path, &self.cx.directory);
        let subject = ModuleSource { path: &path, ..subject };
        // Writing the file needs no interpreter, but an interpreter of this machine may know where ansible-core is.
        let (interpreter, install) = match self.choose(subject) {
            Ok((interpreter, install)) => (Some(interpreter), install),
            Err(error @ (PythonError::NoInterpreter(_) | PythonError::Interpreter { .. })) => {
                (None, self.install(subject, None)?.ok_or(error)?)
            }
            Err(error) => return Err(error),
        };
        Assembly::new(self, subject, &install, interpreter.as_ref()).portable().map(|text| text.to_string())
    }

    fn no_cache_note(&self) -> String {
        match (&self.cache, &self.config.cache) {
            (Some(cache), _) => format!("the module cannot be kept in `{}`", cache.dir().display()),
            (None, Some(dir)) => format!("the cache `{}` cannot be used", dir.display()),
            (None, None) => "there is no cache, so the module is put together for each run".to_owned(),
        }
    }

    /// Chooses the interpreter, and the ansible-core that goes with it.
    fn choose(&self, subject: ModuleSource<'_>) -> Result<(Interpreter, Install), PythonError> {
        if let Some(program) = &subject.source.interpreter {
            if subject.source.own_choice && !self.may_choose(program) {
                return Err(PythonError::NotGranted(program.clone()));
            }
            let wrong = |reason| PythonError::Interpreter { interpreter: program.clone(), reason };
            let interpreter = self.probe(&self.behind_shim(program, !subject.source.own_choice))?.map_err(wrong)?;
            let install = self.install(subject, Some(&interpreter))?.ok_or_else(|| self.no_core(Some(&interpreter)))?;
            reason_if_too_old(&interpreter, &install).map_or(Ok(()), |reason| Err(wrong(reason)))?;
            return Ok((interpreter, install));
        }
        let (mut tried, mut without_core) = (Vec::new(), None);
        for program in interpreter::candidates(&self.config.search_path) {
            let interpreter = match self.probe(&self.behind_shim(&program, true))? {
                Ok(interpreter) => interpreter,
                Err(reason) => {
                    tried.push((program, reason));
                    continue;
                }
            };
            match self.install(subject, Some(&interpreter))? {
                None => without_core = without_core.or(Some(interpreter)),
                Some(install) => match reason_if_too_old(&interpreter, &install) {
                    None => return Ok((interpreter, install)),
                    Some(reason) => tried.push((program, reason)),
                },
            }
        }
        Err(match without_core {
            Some(interpreter) => self.no_core(Some(&interpreter)),
            None => PythonError::NoInterpreter(tried),
        })
    }

    /// Returns whether a module may choose this interpreter: a program that the module could start by itself, or one in
    /// a folder of PATH. The check is needed because the interpreter decides which paths the module may read.
    fn may_choose(&self, program: &str) -> bool {
        let Some(confine) = &self.cx.confine else { return true };
        let path = Path::new(program);
        if !path.is_absolute() {
            return !program.contains('/');
        }
        let path = normalize(path);
        let listed = path.parent().is_some_and(|folder| self.config.search_path.iter().any(|one| one == folder));
        listed || base::paths().any(|base| path.starts_with(base)) || confine.policy.covers(&path, Access::Read)
    }

    /// Returns the interpreter behind a pyenv shim, or the program itself if it is not a shim. Shims that a module
    /// names are resolved only in the folders of PATH: a module may name a program there, but must not choose a shim
    /// elsewhere.
    fn behind_shim(&self, program: &str, trusted: bool) -> String {
        let path = install::find_program(program, &self.config.search_path).map(|path| self.cx.directory.join(path));
        let listed =
            |path: &PathBuf| path.parent().is_some_and(|folder| self.config.search_path.iter().any(|it| it == folder));
        let path = path.filter(|path| trusted || listed(path));
        let asked = self.config.pyenv_version.as_deref();
        let behind = path.and_then(|path| shim::resolve(&path, &self.cx.directory, asked));
        behind.map_or_else(|| program.to_owned(), |path| path.display().to_string())
    }

    fn probe(&self, program: &str) -> Result<Result<Interpreter, String>, PythonError> {
        interpreter::probe(self.cx, self.cache.as_ref(), &self.config.search_path, program, self.tmpdir)
    }

    /// Returns the ansible-core for a module: the one named by `module_utils`, the one that the module lies in, the
    /// interpreter's own, that of the `ansible` command, or one of the system or the user.
    fn install(
        &self,
        subject: ModuleSource<'_>,
        interpreter: Option<&Interpreter>,
    ) -> Result<Option<Install>, PythonError> {
        for folder in &self.config.module_utils {
            if let Some(install) = folder.parent().map(Install::at).transpose()?.flatten() {
                return Ok(Some(install));
            }
        }
        match Install::around(subject.path)? {
            Some(install) => Ok(Some(install)),
            None => Install::first_in(&self.site_folders(interpreter)),
        }
    }

    fn site_folders(&self, interpreter: Option<&Interpreter>) -> Vec<PathBuf> {
        let own = interpreter.map(|interpreter| interpreter.facts.folders.clone()).unwrap_or_default();
        let controllers = install::controllers_python(&self.config.search_path);
        let known = install::site_folders(controllers.as_deref(), self.config.home.as_deref());
        own.into_iter().chain(known).collect()
    }

    fn no_core(&self, interpreter: Option<&Interpreter>) -> PythonError {
        PythonError::NoCore(self.site_folders(interpreter))
    }
}

fn reason_if_too_old(interpreter: &Interpreter, install: &Install) -> Option<String> {
    let least = install.least_python();
    let [major, minor, micro] = interpreter.facts.version;
    (!interpreter.is_at_least(least)).then(|| {
        let version = &install.core.version;
        format!(
            "it is Python {major}.{minor}.{micro}, and ansible-core {version} needs {}.{} or newer",
            least[0], least[1]
        )
    })
}

fn absolute(path: &Path, directory: &Path) -> PathBuf {
    // Links are not followed, since they lead away from the folders by which a module is recognised.
    modbox_policy::normalize(&directory.join(path))
}
