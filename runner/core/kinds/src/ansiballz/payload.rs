//! The files of a payload: a module, its closure with embedded files, and the packages around them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use modbox_contract::args::INJECT_INVOCATION;
use modbox_contract::{InternalArgs, Release, Value, repr};

use crate::ansiballz::closure::{self, EmbeddedFiles, Lookup};
use crate::ansiballz::closure_error::ClosureError;
use crate::ansiballz::loader::{NewerCore, unknown_keyword};
use crate::ansiballz::name::DottedName;
use crate::request::CoreArgs;

/// The utility that starts a module since ansible-core 2.19. Earlier releases do not have it.
pub(super) const LOADER: &str = "_internal._ansiballz._loader";

/// The serialisation profiles for arguments and for results. The loader and `basic` import them by name at run time.
const PROFILES: [&str; 2] =
    ["_internal._json._profiles._module_legacy_c2m", "_internal._json._profiles._module_legacy_m2c"];

/// The file in which ansible-core, since 2.8, lists the internal arguments.
const PARAMETERS: &str = "ansible/module_utils/common/parameters.py";

/// The ansible-core that a payload is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Core {
    /// Its release, such as `2.19.14`.
    pub version: String,
    /// The author that it names.
    pub author: String,
}

/// A module with all its imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The name that the module runs under.
    pub module: DottedName,
    /// Whether ansible-core has a loader that starts the module.
    pub has_loader: bool,
    /// All files by path.
    pub files: BTreeMap<String, Arc<[u8]>>,
}

impl Payload {
    /// Returns what this ansible-core knows of internal arguments. Each release has its own list, and a module fails when it
    /// gets an unknown one. Nothing is known of a payload without that list.
    #[must_use]
    pub fn core_args(&self) -> CoreArgs {
        let Some(known) = self.files.get(PARAMETERS) else { return CoreArgs::default() };
        let known = String::from_utf8_lossy(known);
        let is_known = |key: &str| {
            let word = key.trim_start_matches("_ansible_");
            [format!("'{word}'"), format!("\"{word}\"")].iter().any(|quoted| known.contains(quoted))
        };
        let of = |release| InternalArgs { release, ..InternalArgs::new("") }.to_dict().into_iter();
        // The chosen contract may differ from the release of this ansible-core.
        let sent: BTreeSet<String> = Release::ALL.into_iter().flat_map(of).map(|(key, _)| key).collect();
        CoreArgs {
            unknown: sent.into_iter().filter(|key| !is_known(key)).collect(),
            invocation_on_request: is_known(INJECT_INVOCATION),
        }
    }
}

/// Assembles a payload.
///
/// # Errors
///
/// A source that is not valid Python, an import that cannot be found, and an ansible-core that asks for what modbox does not
/// know.
pub fn assemble<L: Lookup>(
    module: &DottedName,
    source: &Arc<[u8]>,
    core: &Core,
    lookup: &mut L,
) -> Result<Payload, ClosureError<L::Error>> {
    let utility = |name: &str| DottedName::parse(&format!("ansible.module_utils.{name}"));
    let loader = utility(LOADER);
    let found = lookup.core(&loader.parts()[2..]).map_err(ClosureError::Lookup)?;
    let has_loader = found.is_some();
    if let Some(unknown) = found.and_then(|found| unknown_keyword(&found.source)) {
        return Err(NewerCore::installed(&core.version, unknown).into());
    }
    let mut always = vec![utility("basic")];
    if has_loader {
        always.push(loader);
        always.extend(PROFILES.map(utility));
    }
    let (closure, embedded) = closure::find((module, source), &always, lookup)?;
    let mut files: BTreeMap<String, Arc<[u8]>> =
        closure.into_iter().map(|(name, (source, is_package))| (name.file(is_package), source)).collect();
    // Other installed parts of `ansible` stay importable, as in modules that Ansible runs.
    let namespace = "from pkgutil import extend_path\n\n__path__ = extend_path(__path__, __name__)\n";
    let literal = |text: &str| repr(&Value::from(text));
    let (version, author) = (literal(&core.version), literal(&core.author));
    let root = format!("{namespace}__version__ = {version}\n__author__ = {author}\n");
    files.insert("ansible/__init__.py".to_owned(), root.into_bytes().into());
    files.insert("ansible/module_utils/__init__.py".to_owned(), namespace.as_bytes().into());
    for count in 1..module.parts().len() {
        files.entry(module.first(count).file(true)).or_default();
    }
    add_embedded(embedded, &mut files);
    files.insert(module.file(false), Arc::clone(source));
    Ok(Payload { module: module.clone(), has_loader, files })
}

/// Adds embedded files, and makes the folders around them packages.
fn add_embedded(embedded: EmbeddedFiles, files: &mut BTreeMap<String, Arc<[u8]>>) {
    for (path, bytes) in embedded {
        let mut folder = path.as_str();
        while let Some((above, _)) = folder.rsplit_once('/') {
            files.entry(format!("{above}/__init__.py")).or_default();
            folder = above;
        }
        files.insert(path, bytes);
    }
}
