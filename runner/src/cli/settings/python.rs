//! Resolves how Python modules are assembled and which interpreters run scripts, from switches and the environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use modbox_run::{CollectionPaths, PayloadForm, Probes, PythonConfig, Routings};

use crate::cli::args::{AnsiballzForm, LookupArgs, parse_interpreter};
use crate::cli::process::environment::Environment;

/// The variable that names one interpreter, as `--interpreter` does. It is for runs without switches, such as those
/// that Ansible starts.
const INTERPRETER: &str = "MODBOX_INTERPRETER";

/// The base name of the interpreter in the `#!` line of Ansible's modules.
const PYTHON: &str = "python";

/// The variables with folders of collections. Releases of Ansible before 2.19 know the second one, too; the first one
/// takes precedence.
const COLLECTIONS: [&str; 2] = ["ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_COLLECTIONS_PATHS"];

/// Resolves the switches for Python modules.
///
/// # Errors
///
/// A named folder does not exist.
pub(crate) fn python(
    environment: &Environment,
    lookup: &LookupArgs,
    module_utils: &[PathBuf],
    form: AnsiballzForm,
) -> anyhow::Result<PythonConfig> {
    let folder = |from: &str, folder: &Path| existing_folder(environment, from, folder);
    let switches = module_utils.iter().map(|path| folder("--module-utils ", path));
    let folders = switches.chain(environment.module_utils.iter().map(|path| folder("MODBOX_MODULE_UTILS=", path)));
    let search_path = environment.variable("PATH").map(|path| std::env::split_paths(path).collect::<Vec<_>>());
    let search_path = search_path.unwrap_or_default().into_iter().filter(|folder| folder.is_absolute());
    Ok(PythonConfig {
        cache: environment.cache_dir.as_ref().map(|dir| dir.join("python")),
        interpreters: environment.cache_dir.as_deref().map(interpreters_folder),
        form: match form {
            AnsiballzForm::Cached => PayloadForm::Cached,
            AnsiballzForm::Zip => PayloadForm::Zip,
        },
        module_utils: folders.collect::<anyhow::Result<_>>()?,
        collections: collections(environment, &lookup.collections_path)?,
        home: environment.variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
        search_path: search_path.collect(),
        pyenv_version: environment.variable("PYENV_VERSION").and_then(|version| version.to_str()).map(str::to_owned),
        known: None,
        probes: Probes::default(),
        routings: Routings::default(),
    })
}

/// Resolves where collections are looked up. Folders of the variables need not exist, as in Ansible.
fn collections(environment: &Environment, named: &[PathBuf]) -> anyhow::Result<CollectionPaths> {
    let home = environment.variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    // A folder may be named with or without the `ansible_collections` in it.
    let root = |path: PathBuf| match path.file_name().is_some_and(|name| name == "ansible_collections") {
        true => path.parent().map(Path::to_owned).unwrap_or(path),
        false => path,
    };
    let expand = |path: &Path| match (path.strip_prefix("~"), &home) {
        (Ok(below), Some(home)) => environment.absolute(&home.join(below)),
        _ => environment.absolute(path),
    };
    let named = named.iter().map(|path| Ok(root(existing_folder(environment, "--collections-path ", path)?)));
    let variable = COLLECTIONS.iter().find_map(|name| environment.variable(name)).map(|value| {
        let folders = std::env::split_paths(value).filter(|folder| !folder.as_os_str().is_empty());
        folders.map(|folder| root(expand(&folder))).collect()
    });
    let own = environment.variable("ANSIBLE_HOME").filter(|path| !path.is_empty()).map(|path| expand(Path::new(path)));
    Ok(CollectionPaths {
        named: named.collect::<anyhow::Result<_>>()?,
        variable,
        ansible_home: own.or_else(|| home.as_ref().map(|home| home.join(".ansible"))),
    })
}

fn existing_folder(environment: &Environment, from: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let path = environment.absolute(folder);
    anyhow::ensure!(path.is_dir(), "`{from}{}` is not a folder", folder.display());
    Ok(path)
}

/// Returns the folder of the interpreters of the sandbox in the user's cache.
pub(crate) fn interpreters_folder(cache: &Path) -> PathBuf {
    cache.join("interpreters")
}

/// Returns the replacements for interpreters, from the variable `MODBOX_INTERPRETER` and the switches. Switches win.
///
/// # Errors
///
/// The variable has a wrong form.
pub(crate) fn interpreters(
    environment: &Environment,
    switches: &[(String, String)],
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut interpreters = BTreeMap::new();
    if let Some(value) = environment.variable(INTERPRETER).filter(|value| !value.is_empty()) {
        let pair = parse_interpreter(&value.to_string_lossy());
        interpreters.extend([pair.map_err(|reason| anyhow::anyhow!("`{INTERPRETER}={}`: {reason}", value.display()))?]);
    }
    interpreters.extend(switches.iter().cloned());
    // Modules of ansible-core ask for `python`, whatever Python they run with.
    if let (None, Some(python)) = (interpreters.get(PYTHON), interpreters.get("python3").cloned()) {
        interpreters.insert(PYTHON.to_owned(), python);
    }
    Ok(interpreters)
}
