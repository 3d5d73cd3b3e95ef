//! The files of a payload: a module, its closure, and the packages around them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use modbox_contract::{InternalArgs, Release, Value, repr};
use sha2::{Digest, Sha256};

use crate::ansiballz::closure::{self, ClosureError, Lookup};
use crate::ansiballz::name::DottedName;

/// What starts a module since ansible-core 2.19; earlier releases have none.
const LOADER: &str = "_internal._ansiballz._loader";

/// How arguments and results are written down, each way: what the loader and `basic` import by name when they run.
const PROFILES: [&str; 2] =
    ["_internal._json._profiles._module_legacy_c2m", "_internal._json._profiles._module_legacy_m2c"];

/// Where ansible-core, from 2.8 on, names the internal arguments.
const PARAMETERS: &str = "ansible/module_utils/common/parameters.py";

/// Which ansible-core a payload is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Core {
    /// Its release, such as `2.19.14`.
    pub version: String,
    /// Who it says has made it.
    pub author: String,
}

/// A module with all that it imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The name that the module runs under.
    pub module: DottedName,
    /// Whether ansible-core brings what starts it.
    pub has_loader: bool,
    /// Every file, by its path.
    pub files: BTreeMap<String, Arc<[u8]>>,
}

impl Payload {
    /// Returns which internal arguments this ansible-core would refuse: it names those that it knows. Each release has its
    /// own, and a module fails when it is given one that it does not know.
    #[must_use]
    pub fn unknown_args(&self) -> Vec<String> {
        let Some(known) = self.files.get(PARAMETERS) else { return Vec::new() };
        let known = String::from_utf8_lossy(known);
        let is_known = |key: &str| {
            let word = key.trim_start_matches("_ansible_");
            [format!("'{word}'"), format!("\"{word}\"")].iter().any(|quoted| known.contains(quoted))
        };
        let of = |release| InternalArgs { release, ..InternalArgs::new("") }.into_dict().into_iter();
        // Not always is the contract that is kept the one of this ansible-core.
        let sent: BTreeSet<String> = Release::ALL.into_iter().flat_map(of).map(|(key, _)| key).collect();
        sent.into_iter().filter(|key| !is_known(key)).collect()
    }

    /// Returns a SHA-256 of all of it, in hex.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(self.module.to_string().as_bytes());
        add(&[u8::from(self.has_loader)]);
        for (path, source) in &self.files {
            add(path.as_bytes());
            add(source);
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Puts a payload together.
///
/// # Errors
///
/// A source that is no Python, and an import of what is nowhere.
pub fn assemble<L: Lookup>(
    module: &DottedName,
    source: &Arc<[u8]>,
    core: &Core,
    lookup: &mut L,
) -> Result<Payload, ClosureError<L::Error>> {
    let utility = |name: &str| DottedName::parse(&format!("ansible.module_utils.{name}"));
    let loader = utility(LOADER);
    let has_loader = lookup.core(&loader.parts()[2..]).map_err(ClosureError::Lookup)?.is_some();
    let mut always = vec![utility("basic")];
    if has_loader {
        always.push(loader);
        always.extend(PROFILES.map(utility));
    }
    let closure = closure::find((module, source), &always, lookup)?;
    let mut files: BTreeMap<String, Arc<[u8]>> =
        closure.into_iter().map(|(name, (source, is_package))| (name.file(is_package), source)).collect();
    // What else is installed of `ansible` stays within reach, as it is for modules that Ansible runs.
    let namespace = "from pkgutil import extend_path\n\n__path__ = extend_path(__path__, __name__)\n";
    let literal = |text: &str| repr(&Value::from(text));
    let (version, author) = (literal(&core.version), literal(&core.author));
    let root = format!("{namespace}__version__ = {version}\n__author__ = {author}\n");
    files.insert("ansible/__init__.py".to_owned(), root.into_bytes().into());
    files.insert("ansible/module_utils/__init__.py".to_owned(), namespace.as_bytes().into());
    for count in 1..module.parts().len() {
        files.entry(module.first(count).file(true)).or_default();
    }
    files.insert(module.file(false), Arc::clone(source));
    Ok(Payload { module: module.clone(), has_loader, files })
}
