//! Chooses the interpreter and the ansible-core of a module, and prepares its start.

use std::path::{Path, PathBuf};
use std::time::Instant;

use modbox_kinds::ansiballz::Payload;
use modbox_kinds::{PythonForm, PythonStart};
use modbox_native::{NativeContext, base};
use modbox_policy::{Access, normalize};
use modbox_store::Tree;
use modbox_vocabulary::{RuntimePath, error_chain};

use crate::python::assembly::{Assembly, ChosenPython, KnownAssembly, SCRIPT, TreeError};
use crate::python::cache::Cache;
use crate::python::config::{PayloadForm, PythonConfig};
use crate::python::context::{AssemblyContext, ModuleSource};
use crate::python::error::PythonError;
use crate::python::folders::{find_install, install_of_sandbox, known_site_folders};
use crate::python::guest::{self, GuestChoice, GuestModule, Verdict};
use crate::python::install::{self, Install};
use crate::python::interpreter::{self, Interpreter, ReadPaths};
use crate::python::shim;

/// First Python whose compiled files can be marked as not to be compared with their source.
const LEAST_FOR_TREES: [u32; 2] = [3, 7];

/// Module that is ready to start.
pub(crate) struct PreparedModule {
    pub(crate) start: PythonStart,
    /// Notes for the report.
    pub(crate) notes: Vec<String>,
    /// Lock on the tree, held while the module runs.
    pub(crate) _tree: Option<Tree>,
}

/// Assembler of modules for one runner.
pub(crate) struct Assembler<'a> {
    context: AssemblyContext<'a>,
}

impl<'a> Assembler<'a> {
    pub(crate) fn new(config: &'a PythonConfig, cx: &'a NativeContext, tmpdir: &'a Path) -> Self {
        let cache = config.cache.as_deref().and_then(|dir| Cache::open(dir, &cx.cleanup));
        let cache = if cx.user.is_some() { cache.map(Cache::read_only) } else { cache };
        Self { context: AssemblyContext { config, native: cx, cache, tmpdir } }
    }

    fn cache(&self) -> Option<&Cache> {
        self.context.cache.as_ref()
    }

    /// Finds the payload of a module. `received` is the one that it arrived with.
    pub(crate) fn known(
        &self,
        subject: ModuleSource<'_>,
        received: Option<&Payload>,
    ) -> Result<KnownAssembly, PythonError> {
        let path = absolute(subject.path, &self.context.native.directory);
        let subject = ModuleSource { path: &path, ..subject };
        if let Some(payload) = received {
            return Assembly::received(&self.context, subject, payload, None).known();
        }
        let (interpreter, install) = self.choose_for_other(subject)?;
        let known = Assembly::new(&self.context, subject, &install, interpreter.as_ref(), None).known()?;
        let user = self.context.native.user.clone();
        // What a module itself names depends on the grants.
        let is_fixed = subject.source.interpreter.is_none() || !subject.source.own_choice;
        Ok(if is_fixed { known.with_chosen(ChosenPython { interpreter, install, user }) } else { known })
    }

    /// Judges whether a module can run in an interpreter of the sandbox. `received` is the payload that it arrived with, and `known`
    /// the one that is to run.
    pub(crate) fn guest(
        &self,
        subject: ModuleSource<'_>,
        received: Option<&Payload>,
        known: Option<&KnownAssembly>,
        choice: &GuestChoice<'_>,
    ) -> Result<Verdict, PythonError> {
        let path = absolute(subject.path, &self.context.native.directory);
        let subject = ModuleSource { path: &path, ..subject };
        if let Some(payload) = received {
            let native = self.choose_interpreter(subject).ok();
            let folders = native.map(|native| native.facts.folders).unwrap_or_default();
            let assembly = Assembly::received(&self.context, subject, payload, known);
            return guest::judge(self.cache(), (assembly, &folders), choice);
        }
        let user = self.context.native.user.as_ref();
        let (interpreter, install) = match known.and_then(|known| known.chosen(user)) {
            Some(chosen) => (chosen.interpreter.clone(), chosen.install.clone()),
            None => self.choose_for_other(subject)?,
        };
        let folders = interpreter.as_ref().map(|native| native.facts.folders.clone()).unwrap_or_default();
        let assembly = Assembly::new(&self.context, subject, &install, interpreter.as_ref(), known);
        guest::judge(self.cache(), (assembly, &folders), choice)
    }

    /// Keeps the code of a module for an interpreter of the sandbox.
    pub(crate) fn keep_code(&self, module: &GuestModule, code: &[u8]) {
        self.cache().iter().for_each(|cache| guest::keep_code(cache, module, code));
    }

    /// Chooses the ansible-core of a module that no interpreter of this machine runs. Such an interpreter may know where
    /// ansible-core is.
    fn choose_for_other(&self, subject: ModuleSource<'_>) -> Result<(Option<Interpreter>, Install), PythonError> {
        self.asking_again(|| match self.choose(subject) {
            Ok((interpreter, install)) => Ok((Some(interpreter), install)),
            Err(error @ (PythonError::NoInterpreter(_) | PythonError::Interpreter { .. })) => {
                let install = self.install(subject, None)?.or_else(|| install_of_sandbox(self.context.config));
                Ok((None, install.ok_or(error)?))
            }
            Err(error) => Err(error),
        })
    }

    /// Makes all that is needed to start a module. `known` is the payload that is to run. With `on_disk`, it is a file that may
    /// be kept.
    pub(crate) fn start(
        &self,
        subject: ModuleSource<'_>,
        known: Option<&KnownAssembly>,
        on_disk: bool,
    ) -> Result<PreparedModule, PythonError> {
        let path = absolute(subject.path, &self.context.native.directory);
        let subject = ModuleSource { path: &path, ..subject };
        let user = self.context.native.user.as_ref();
        let chosen = known.and_then(|known| known.chosen(user));
        let (interpreter, install) =
            match chosen.and_then(|chosen| Some((chosen.interpreter.clone()?, &chosen.install))) {
                Some((interpreter, install)) => (interpreter, install.clone()),
                None => self.asking_again(|| self.choose(subject))?,
            };
        let assembly = Assembly::new(&self.context, subject, &install, Some(&interpreter), known);
        self.start_by(&interpreter, assembly, subject, on_disk)
    }

    /// Makes all that is needed to start a module that arrived with its imports.
    pub(crate) fn start_received(
        &self,
        subject: ModuleSource<'_>,
        payload: &Payload,
        known: Option<&KnownAssembly>,
        on_disk: bool,
    ) -> Result<PreparedModule, PythonError> {
        let interpreter = self.asking_again(|| self.choose_interpreter(subject))?;
        let assembly = Assembly::received(&self.context, subject, payload, known);
        self.start_by(&interpreter, assembly, subject, on_disk)
    }

    fn start_by(
        &self,
        interpreter: &Interpreter,
        mut assembly: Assembly<'_>,
        subject: ModuleSource<'_>,
        on_disk: bool,
    ) -> Result<PreparedModule, PythonError> {
        let mut words = vec![interpreter.program.clone()];
        words.extend(subject.source.arguments.iter().cloned());
        let mut notes = Vec::new();
        // Another user cannot reach the cache.
        let wants_tree = self.context.config.form == PayloadForm::Cached
            && !on_disk
            && self.context.native.user.is_none()
            && interpreter.is_at_least(LEAST_FOR_TREES);
        let ReadPaths { paths: mut runtime_paths, notes: left_out } = interpreter.reads(self.context.native);
        notes.extend(left_out);
        let core_args = assembly.core_args()?;
        if wants_tree {
            match assembly.tree(interpreter) {
                Ok(Some(tree)) => {
                    let script = tree.path().join(SCRIPT).display().to_string();
                    runtime_paths.push(RuntimePath { path: tree.path().to_owned(), needed_by: None });
                    let form = PythonForm::LaidOut { script };
                    let start = PythonStart { interpreter: words, form, core_args, runtime_paths };
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
            start: PythonStart { interpreter: words, form, core_args, runtime_paths },
            notes,
            _tree: None,
        })
    }

    /// Returns one file that runs with plain Python on any machine.
    pub(crate) fn portable(&self, subject: ModuleSource<'_>) -> Result<String, PythonError> {
        let path = absolute(subject.path, &self.context.native.directory);
        let subject = ModuleSource { path: &path, ..subject };
        let (interpreter, install) = self.choose_for_other(subject)?;
        let mut assembly = Assembly::new(&self.context, subject, &install, interpreter.as_ref(), None);
        assembly.portable().map(|text| text.to_string())
    }

    fn no_cache_note(&self) -> String {
        match (&self.context.cache, &self.context.config.cache) {
            (Some(cache), _) => format!("the module cannot be kept in `{}`", cache.dir().display()),
            (None, Some(dir)) => format!("the cache `{}` cannot be used", dir.display()),
            (None, None) => "there is no cache, so the module is put together for each run".to_owned(),
        }
    }

    /// Chooses the interpreter, and the ansible-core that goes with it.
    fn choose(&self, subject: ModuleSource<'_>) -> Result<(Interpreter, Install), PythonError> {
        if let Some(program) = &subject.source.interpreter {
            let wrong = |reason| PythonError::Interpreter { interpreter: program.clone(), reason };
            let interpreter = self.named_interpreter(program, subject.source.own_choice)?;
            let install = match self.install(subject, Some(&interpreter))? {
                Some(install) => install,
                None => self.sandboxs_install(&interpreter)?,
            };
            reason_if_too_old(&interpreter, &install).map_or(Ok(()), |reason| Err(wrong(reason)))?;
            return Ok((interpreter, install));
        }
        let (mut tried, mut without_core) = (Vec::new(), None);
        for program in interpreter::candidates(&self.context.config.search_path) {
            let interpreter = match self.probe(&self.behind_shim(&program, true), true)? {
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
        let Some(interpreter) = without_core else { return Err(PythonError::NoInterpreter(tried)) };
        let install = self.sandboxs_install(&interpreter)?;
        match reason_if_too_old(&interpreter, &install) {
            None => Ok((interpreter, install)),
            Some(reason) => {
                tried.push((interpreter.program, reason));
                Err(PythonError::NoInterpreter(tried))
            }
        }
    }

    /// Chooses the interpreter of a module that needs no ansible-core of this machine.
    fn choose_interpreter(&self, subject: ModuleSource<'_>) -> Result<Interpreter, PythonError> {
        if let Some(program) = &subject.source.interpreter {
            return self.named_interpreter(program, subject.source.own_choice);
        }
        let mut tried = Vec::new();
        for program in interpreter::candidates(&self.context.config.search_path) {
            match self.probe(&self.behind_shim(&program, true), true)? {
                Ok(interpreter) => return Ok(interpreter),
                Err(reason) => tried.push((program, reason)),
            }
        }
        Err(PythonError::NoInterpreter(tried))
    }

    /// Probes an interpreter that the caller or, with `own_choice`, the module has named.
    fn named_interpreter(&self, named: &str, own_choice: bool) -> Result<Interpreter, PythonError> {
        if own_choice && !self.may_choose(named) {
            return Err(PythonError::NotGranted(named.to_owned()));
        }
        let brings_files = !own_choice || self.is_of_operator(named);
        let program = self.behind_shim(named, !own_choice);
        let wrong = |reason| PythonError::Interpreter { interpreter: named.to_owned(), reason };
        self.probe(&program, brings_files)?.map_err(wrong)
    }

    /// Returns whether a module may choose this interpreter: a program that the module could start by itself, or one in
    /// a folder of PATH.
    fn may_choose(&self, program: &str) -> bool {
        let Some(confine) = &self.context.native.confine else { return true };
        self.is_of_operator(program) || confine.policy.covers(&normalize(Path::new(program)), Access::Read)
    }

    /// Returns whether an interpreter that a module chooses is one of the system, or in a folder of PATH. Only such an
    /// interpreter shows the module what it needs. The module may have made any other, with links that lead anywhere.
    fn is_of_operator(&self, program: &str) -> bool {
        let path = Path::new(program);
        if !path.is_absolute() {
            return !program.contains('/');
        }
        let path = normalize(path);
        let listed =
            path.parent().is_some_and(|folder| self.context.config.search_path.iter().any(|one| one == folder));
        listed || base::paths().any(|base| path.starts_with(base))
    }

    /// Returns the interpreter behind a pyenv shim, or the program itself if it is not a shim. Shims that a module
    /// names are resolved only in the folders of PATH: a module may name a program there, but must not choose a shim
    /// elsewhere.
    fn behind_shim(&self, program: &str, trusted: bool) -> String {
        let path = install::find_program(program, &self.context.config.search_path)
            .map(|path| self.context.native.directory.join(path));
        let listed = |path: &PathBuf| {
            path.parent().is_some_and(|folder| self.context.config.search_path.iter().any(|it| it == folder))
        };
        let path = path.filter(|path| trusted || listed(path));
        let asked = self.context.config.pyenv_version.as_deref();
        let behind = path.and_then(|path| shim::resolve(&path, &self.context.native.directory, asked));
        behind.map_or_else(|| program.to_owned(), |path| path.display().to_string())
    }

    fn probe(&self, program: &str, brings_files: bool) -> Result<Result<Interpreter, String>, PythonError> {
        interpreter::probe(&self.context, program, brings_files)
    }

    /// Chooses again if nothing was found and interpreters are held for broken that were asked earlier in this process: one may have
    /// been mended since then.
    fn asking_again<T>(&self, choose: impl Fn() -> Result<T, PythonError>) -> Result<T, PythonError> {
        let begun = Instant::now();
        match choose() {
            Err(PythonError::NoInterpreter(_) | PythonError::Interpreter { .. } | PythonError::NoCore(_))
                if self.context.config.probes.forget_failures(begun) =>
            {
                choose()
            }
            chosen => chosen,
        }
    }

    /// Returns the ansible-core for a module: the one named by `module_utils`, the one that the module lies in, the
    /// interpreter's own, that of the `ansible` command, or one of the system or the user. Callers try that of the sandbox
    /// after it.
    fn install(
        &self,
        subject: ModuleSource<'_>,
        interpreter: Option<&Interpreter>,
    ) -> Result<Option<Install>, PythonError> {
        find_install(self.context.config, subject.path, &self.site_folders(interpreter))
    }

    fn site_folders(&self, interpreter: Option<&Interpreter>) -> Vec<PathBuf> {
        let own = interpreter.map(|interpreter| interpreter.facts.folders.clone()).unwrap_or_default();
        own.into_iter().chain(known_site_folders(self.context.config)).collect()
    }

    /// Returns the ansible-core of an interpreter of the sandbox, for an interpreter that has none.
    fn sandboxs_install(&self, interpreter: &Interpreter) -> Result<Install, PythonError> {
        let install = install_of_sandbox(self.context.config);
        install.ok_or_else(|| PythonError::NoCore(self.site_folders(Some(interpreter))))
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
