//! The files of a collection.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use flate2::{Compression, GzBuilder};
use modbox_python_json::{Dict, Value, encode};

use crate::digest::sha256;
use crate::manual::Manual;
use crate::name::{CollectionName, Version, is_part};
use crate::runner::{self, Runner};
use crate::sanity;

/// What only modbox's own collection has: the action plugin that runs components with its parts, the callback that collects
/// audit lines, and the role that installs modbox.
const OWN: [(&str, &str); 12] = [
    ("plugins/action/component.py", include_str!("../data/plugins/action/component.py")),
    ("plugins/callback/audit.py", include_str!("../data/plugins/callback/audit.py")),
    ("plugins/lookup/runner.py", include_str!("../data/plugins/lookup/runner.py")),
    ("plugins/plugin_utils/audit.py", include_str!("../data/plugins/plugin_utils/audit.py")),
    ("plugins/plugin_utils/runners.py", include_str!("../data/plugins/plugin_utils/runners.py")),
    ("plugins/plugin_utils/target.py", include_str!("../data/plugins/plugin_utils/target.py")),
    ("roles/install/defaults/main.yml", include_str!("../data/roles/install/defaults/main.yml")),
    ("roles/install/files/apparmor", include_str!("../data/roles/install/files/apparmor")),
    ("roles/install/handlers/main.yml", include_str!("../data/roles/install/handlers/main.yml")),
    ("roles/install/meta/argument_specs.yml", include_str!("../data/roles/install/meta/argument_specs.yml")),
    ("roles/install/meta/main.yml", include_str!("../data/roles/install/meta/main.yml")),
    ("roles/install/tasks/main.yml", include_str!("../data/roles/install/tasks/main.yml")),
];

/// Path of the list of runners.
const RUNNERS: &str = "meta/runners.json";

/// Oldest ansible-core that the action plugin is compared with.
const REQUIRES_ANSIBLE: &str = ">=2.16.0";

/// A module of a collection.
#[derive(Debug, Clone)]
pub struct CollectionModule {
    /// Name, without the collection.
    pub name: String,
    /// The component.
    pub component: Vec<u8>,
    /// Its manual.
    pub manual: Manual,
    /// Its signature file.
    pub signature: Option<Vec<u8>>,
}

/// A collection of component modules.
#[derive(Debug, Clone)]
pub struct Collection {
    /// Namespace and name of the collection.
    pub name: CollectionName,
    /// Version.
    pub version: Version,
    /// One sentence.
    pub description: String,
    /// The modules.
    pub modules: Vec<CollectionModule>,
    /// The runners that may be sent to hosts. If there is none, the collection takes whichever the controller has.
    pub runners: Vec<Runner>,
    /// Version of modbox that made it.
    pub made_by: String,
}

/// Why modules are not a collection.
#[derive(Debug, thiserror::Error)]
pub enum CollectionError {
    /// A name that Ansible does not take.
    #[error(
        "`{0}` cannot be the name of a module in a collection: write lowercase letters, digits and `_`, a letter first"
    )]
    ModuleName(String),
    /// Two modules with one name.
    #[error("two modules have the name `{0}`")]
    Twice(String),
    /// Two runners for one architecture.
    #[error("two runners are for `{0}`; name one for each architecture")]
    RunnerTwice(&'static str),
    /// Runners for a collection that sends none.
    #[error("only the collection {0} sends runners; build that one with them")]
    NoRunners(CollectionName),
    /// No module.
    #[error("a collection needs a module")]
    Empty,
    /// The bytes cannot be compressed or put together.
    #[error("failed to put the collection together")]
    Write(#[from] io::Error),
}

/// Files by their paths.
pub type Files = BTreeMap<String, Vec<u8>>;

impl Collection {
    /// Returns the dependencies, by the names of collections.
    #[must_use]
    pub fn dependencies(&self) -> Dict {
        match self.name == CollectionName::own() {
            true => Dict::new(),
            // The action plugin of a later major version may want another form of components.
            false => Dict::from_iter([(CollectionName::own().to_string(), Value::from(">=0.1.0,<1.0.0"))]),
        }
    }

    /// Returns all files but the two that list the others.
    ///
    /// # Errors
    ///
    /// The collection has no module, or a module whose name is invalid or occurs twice.
    pub fn files(&self) -> Result<Files, CollectionError> {
        self.check_names()?;
        self.check_runners()?;
        let mut files = Files::new();
        let mut digests = Dict::new();
        for module in &self.modules {
            let digest = sha256(&module.component);
            digests.insert(module.name.clone(), format!("sha256:{digest}").into());
            files.insert(format!("plugins/modules/{}.py", module.name), module.manual.to_python().into_bytes());
            files.insert(format!("components/{}.wasm.gz", module.name), compressed(&module.component)?);
            if let Some(signature) = &module.signature {
                files.insert(format!("components/{}.wasm.sig", module.name), signature.clone());
            }
        }
        files.insert("components/index.json".to_owned(), line(&Value::Dict(digests)));
        files.insert("meta/runtime.yml".to_owned(), self.runtime().into_bytes());
        files.insert("README.md".to_owned(), self.readme().into_bytes());
        if self.name == CollectionName::own() {
            files.extend(OWN.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())));
        }
        let lists = sanity::ignored(files.keys().map(String::as_str));
        files.extend(lists);
        if !self.runners.is_empty() {
            files.insert(RUNNERS.to_owned(), line(&runner::list(&self.runners)));
        }
        Ok(files)
    }

    fn check_runners(&self) -> Result<(), CollectionError> {
        if !self.runners.is_empty() && self.name != CollectionName::own() {
            return Err(CollectionError::NoRunners(CollectionName::own()));
        }
        let mut machines: Vec<&'static str> = self.runners.iter().map(|runner| runner.machine).collect();
        machines.sort_unstable();
        match machines.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(CollectionError::RunnerTwice(pair[0])),
            None => Ok(()),
        }
    }

    fn check_names(&self) -> Result<(), CollectionError> {
        let mut names: Vec<&str> = self.modules.iter().map(|module| module.name.as_str()).collect();
        if names.is_empty() {
            return Err(CollectionError::Empty);
        }
        if let Some(wrong) = names.iter().find(|name| !is_part(name)) {
            return Err(CollectionError::ModuleName(wrong.chars().take(80).collect()));
        }
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(CollectionError::Twice(pair[0].to_owned())),
            None => Ok(()),
        }
    }

    /// Returns what leads names of modules to the action plugin, as YAML. Names are quoted, since a module may be named `no`.
    fn runtime(&self) -> String {
        let own = CollectionName::own();
        let mut names: Vec<&str> = self.modules.iter().map(|module| module.name.as_str()).collect();
        names.sort_unstable();
        let listed: String = names.iter().map(|name| format!("    - \"{name}\"\n")).collect();
        let route = |name: &&str| format!("    \"{name}\":\n      action_plugin: {own}.component\n");
        let routes: String = names.iter().map(route).collect();
        format!(
            "---\nrequires_ansible: \"{REQUIRES_ANSIBLE}\"\naction_groups:\n  all:\n{listed}plugin_routing:\n  modules:\n{routes}"
        )
    }

    fn readme(&self) -> String {
        let mut text = format!(
            "# {}\n\n{}\n\nModules for Ansible that run in the sandbox of modbox: one file for every architecture. They are sent to \
             hosts when they are first used, and so is modbox to hosts that lack it.\n\nMade by modbox {}.\n\n| module | SHA-256 |\n|---|---|\n",
            self.name, self.description, self.made_by
        );
        for module in &self.modules {
            let digest = sha256(&module.component);
            text.push_str(&format!("| `{}.{}` | `{digest}` |\n", self.name, module.name));
        }
        text
    }
}

/// Returns bytes compressed by gzip, without a time and a name.
fn compressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Returns a value as one line of JSON.
pub(crate) fn line(value: &Value) -> Vec<u8> {
    let mut text = encode(value);
    text.push('\n');
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(namespace: &str, modules: &[&str]) -> Collection {
        let module = |name: &&str| CollectionModule {
            name: (*name).to_owned(),
            component: name.as_bytes().to_vec(),
            manual: Manual::default(),
            signature: (*name == "one").then(|| b"signed".to_vec()),
        };
        Collection {
            name: CollectionName::new(namespace, namespace).unwrap(),
            version: "1.0.0".parse().unwrap(),
            description: "Modules.".to_owned(),
            modules: modules.iter().map(module).collect(),
            runners: Vec::new(),
            made_by: "0".to_owned(),
        }
    }

    #[test]
    fn each_module_has_a_manual_a_component_and_a_route() {
        let files = collection("acme", &["one", "two"]).files().unwrap();
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        let expect = [
            "README.md",
            "components/index.json",
            "components/one.wasm.gz",
            "components/one.wasm.sig",
            "components/two.wasm.gz",
            "meta/runtime.yml",
            "plugins/modules/one.py",
            "plugins/modules/two.py",
        ];
        let (checks, names): (Vec<&str>, _) =
            names.into_iter().partition(|name| name.starts_with("tests/sanity/ignore-2."));
        assert_eq!((checks.is_empty(), names), (false, expect.to_vec()));
        let runtime = String::from_utf8(files["meta/runtime.yml"].clone()).unwrap();
        assert!(runtime.contains("    \"two\":\n      action_plugin: modbox.modbox.component\n"), "{runtime}");
        assert!(collection("modbox", &["one"]).files().unwrap().contains_key("plugins/action/component.py"));
    }

    #[test]
    fn only_the_own_collection_lists_runners() {
        let runner = Runner { machine: "x86_64", digest: "0a".repeat(32) };
        let with = |namespace: &str, runners: &[&Runner]| {
            let runners = runners.iter().map(|runner| (*runner).clone()).collect();
            Collection { runners, ..collection(namespace, &["one"]) }.files()
        };
        let files = with("modbox", &[&runner]).unwrap();
        assert_eq!(files[RUNNERS], format!("{{\"x86_64\": \"sha256:{}\"}}\n", runner.digest).into_bytes());
        assert!(!with("modbox", &[]).unwrap().contains_key(RUNNERS));
        assert!(with("acme", &[&runner]).unwrap_err().to_string().contains("modbox.modbox"));
        assert!(with("modbox", &[&runner, &runner]).unwrap_err().to_string().contains("`x86_64`"));
    }

    #[test]
    fn wrong_names_are_refused() {
        for (modules, expect) in
            [(&["One"][..], "`One`"), (&["../x"], "`../x`"), (&["a", "a"], "two modules"), (&[], "needs a module")]
        {
            let error = collection("acme", modules).files().unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        }
    }
}
