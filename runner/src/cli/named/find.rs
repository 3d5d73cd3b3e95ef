//! Finds a module's file and names from the MODULE argument of the command line.
//!
//! Only commands that run a module build its project. Building runs the project's code unconfined, which a command that
//! shows or checks a module must not do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use modbox_kinds::Kind;
use modbox_run::library::{FoundModule, Inventory, Library, Located, LookupError, ManyNames};
use modbox_run::{Description, KnownPackages, ModuleFile, PythonConfig, spelling};
use modbox_vocabulary::quoting::quote;

use crate::cli::args::{AnsiballzForm, LookupArgs};
use crate::cli::authoring;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::named::{shadow, standard};
use crate::cli::printing::output;
use crate::cli::registry::{ReferenceLookup, is_reference};
use crate::cli::settings;

/// How the modules of a command are looked up, resolved from its switches and the environment.
#[derive(Clone)]
pub(crate) struct Lookup {
    module_path: Vec<PathBuf>,
    /// Folders of collections and of utilities.
    pub(crate) python: PythonConfig,
    /// Programs to start instead of an interpreter, by the interpreter's base name.
    pub(crate) interpreters: BTreeMap<String, String>,
    references: ReferenceLookup,
    /// Whether what the working directory has counts for nothing.
    ignores_directory: bool,
}

impl Lookup {
    /// Resolves the switches of a command that assembles Python modules. `policies` are the policy files of its command line.
    pub(crate) fn of_run(
        context: &Context,
        args: &LookupArgs,
        policies: &[PathBuf],
        module_utils: &[PathBuf],
        form: AnsiballzForm,
    ) -> Result<Self, Failure> {
        let environment = &context.environment;
        Ok(Self {
            module_path: args.module_path.clone(),
            python: settings::python(environment, args, module_utils, form).or_usage()?,
            interpreters: settings::interpreters(environment, &args.interpreter).or_usage()?,
            references: ReferenceLookup::new(context, args, policies),
            ignores_directory: false,
        })
    }

    /// Resolves the switches of a command that runs nothing.
    pub(crate) fn new(context: &Context, args: &LookupArgs) -> Result<Self, Failure> {
        Self::of_run(context, args, &[], &[], AnsiballzForm::Cached)
    }

    /// Makes what the working directory has count for nothing: modules are found by their names alone.
    pub(crate) fn without_directory(self) -> Self {
        Self { ignores_directory: true, ..self }
    }

    /// Makes what is installed be looked for once, for a command that describes many modules at one moment.
    pub(crate) fn at_one_moment(mut self) -> Self {
        self.python.known = Some(KnownPackages::default());
        self
    }

    /// Returns a module's file. Starts no program: the file of a project is the component of its last build, which must
    /// be up to date.
    pub(crate) fn find(&self, context: &Context, module: &Path) -> Result<FoundModule, Failure> {
        if is_reference(module) {
            return self.references.find(context, module);
        }
        let located = self.locate(context, module)?;
        Self::found(context, module, located)
    }

    /// Does so for one of many names, with a search that keeps what it has seen.
    pub(crate) fn find_of_many(
        &self,
        context: &Context,
        many: &ManyNames<'_>,
        module: &Path,
    ) -> Result<FoundModule, Failure> {
        if is_reference(module) {
            return self.references.find(context, module);
        }
        let located = self.told(context, module, many.find_by_name(module))?;
        Self::found(context, module, located)
    }

    fn found(context: &Context, module: &Path, located: Located) -> Result<FoundModule, Failure> {
        match located {
            Located::File(found) => Ok(found),
            Located::Own(name) => {
                let path =
                    standard::find(context, &name).with_context(|| standard::not_built(&name)).or_unavailable()?;
                Ok(FoundModule::at(path, module))
            }
            Located::Project(dir) => {
                let path = authoring::find_fresh(context, &dir).with_context(|| not_built(&dir)).or_unavailable()?;
                Ok(FoundModule::at(path, module))
            }
        }
    }

    /// Returns a module's file. Builds the file first when the module is a project whose component is stale.
    pub(crate) fn find_or_build(&self, context: &Context, module: &Path) -> Result<FoundModule, Failure> {
        if is_reference(module) {
            return self.references.find(context, module);
        }
        match self.locate(context, module)? {
            Located::File(found) => {
                shadow::warn(context, &self.library(context), module, &found);
                Ok(found)
            }
            Located::Own(name) => Ok(FoundModule::at(standard::build_if_stale(context, &name)?, module)),
            Located::Project(dir) => Ok(FoundModule::at(authoring::build_if_stale(context, &dir)?, module)),
        }
    }

    /// Describes a native module without running it.
    pub(crate) fn describe(&self, context: &Context, file: &ModuleFile, kind: Kind, name: &str) -> Description {
        Description::of(file, kind, name, &self.python, self.interpreter(), &context.environment.cwd)
    }

    /// Returns the operator's interpreter of Python.
    pub(crate) fn interpreter(&self) -> Option<&str> {
        self.interpreters.get("python").map(String::as_str)
    }

    /// Lists all modules with a name, except modbox's own.
    pub(crate) fn inventory(&self, context: &Context) -> Inventory {
        self.library(context).inventory()
    }

    fn locate(&self, context: &Context, module: &Path) -> Result<Located, Failure> {
        let library = self.library(context);
        let found = if self.ignores_directory { library.find_by_name(module) } else { library.find(module) };
        self.told(context, module, found)
    }

    fn told(&self, context: &Context, module: &Path, found: Result<Located, LookupError>) -> Result<Located, Failure> {
        if let Err(LookupError::NoCore { .. }) = found
            && let Some(name) = standard::namesake(module)
        {
            // As in a play, modbox's own module takes the place of Ansible's where ansible-core is absent.
            output::print_note(&format!(
                "no ansible-core was found, so modbox's own module `{name}` stands for `{}`",
                module.display()
            ));
            return Ok(Located::Own(name.to_owned()));
        }
        found.map_err(|error| self.with_tip(context, module, error)).or_unavailable()
    }

    /// Adds the known name that is nearest to an unknown one, if one is near.
    fn with_tip(&self, context: &Context, module: &Path, error: LookupError) -> anyhow::Error {
        let is_unknown = matches!(error, LookupError::NotFound { .. } | LookupError::NotInCollection { .. });
        let inventory = if is_unknown { self.inventory(context) } else { Inventory::default() };
        let own = modbox_authoring::standard_names();
        let known: Vec<&str> = inventory.modules.keys().map(String::as_str).chain(own).collect();
        let plain = module.to_string_lossy();
        match spelling::nearest(&plain, &known).filter(|_| is_unknown) {
            Some(near) => anyhow::anyhow!("{error}; did you mean `{near}`?"),
            None => error.into(),
        }
    }

    /// Adds folders of modules after those of `--module-path`.
    pub(crate) fn add_folders(&mut self, folders: &[PathBuf]) {
        self.module_path.extend(folders.iter().cloned());
    }

    /// Returns the folders that have `ansible_collections` in them, in the order of the search.
    pub(crate) fn collection_roots(&self, context: &Context) -> Vec<PathBuf> {
        self.library(context).collection_roots()
    }

    /// Returns the folders of modules, of collections and of utilities.
    pub(crate) fn folders(&self, context: &Context) -> Vec<PathBuf> {
        let own = self.library(context).folders.into_iter().flat_map(|place| place.folders);
        own.chain(self.collection_roots(context)).chain(self.python.module_utils.iter().cloned()).collect()
    }

    /// Returns the places in which names are looked up.
    pub(crate) fn library<'a>(&'a self, context: &'a Context) -> Library<'a> {
        let environment = &context.environment;
        let mut folders = settings::library(environment, &self.module_path);
        if self.ignores_directory {
            folders.retain(|place| place.origin != settings::WORKING_LIBRARY);
        }
        Library {
            own: standard::name,
            folders,
            python: &self.python,
            interpreter: self.interpreter(),
            directory: &environment.cwd,
        }
    }
}

fn not_built(dir: &Path) -> String {
    let shown = dir.display();
    format!(
        "`{shown}` is a module project without an up-to-date component; run `modbox build {}` first, or name the \
         component in `{}`",
        quote(&dir.to_string_lossy()),
        dir.join("target/modbox").display(),
    )
}
