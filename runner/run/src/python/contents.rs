//! What an interpreter of the sandbox has: the files of ansible-core and of collections in it, the modules that can be imported, and the
//! names of those that lack some. It was asked once, in the sandbox, when it was installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use modbox_kinds::ansiballz::{MAX_SOURCE, Needs};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::python::disk::read_bounded;

/// Maximum depth of folders in `module_utils`.
const MAX_DEPTH: usize = 32;

/// Modules that only Python 2 had. A module that names one imports another one in its place.
const OF_PYTHON_2: [&str; 20] = [
    "BaseHTTPServer",
    "ConfigParser",
    "HTMLParser",
    "Queue",
    "SocketServer",
    "StringIO",
    "UserDict",
    "__builtin__",
    "cPickle",
    "cStringIO",
    "commands",
    "cookielib",
    "dummy_thread",
    "exceptions",
    "httplib",
    "md5",
    "sha",
    "urllib2",
    "urlparse",
    "xmlrpclib",
];

/// What an interpreter has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterpreterContents {
    /// Top-level modules that can be imported.
    pub modules: BTreeSet<String>,
    /// All usable names of those modules that lack some which they have on Linux.
    pub names: BTreeMap<String, BTreeSet<String>>,
    /// Modules that could not be imported, with the error.
    pub not_imported: BTreeMap<String, String>,
    /// SHA-256 of each file of ansible-core and of collections in it, in hex, by its path in a payload.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// How an interpreter has a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// It has the same file.
    Same,
    /// It has another one under the same name.
    Other,
    /// It has none of this name.
    Missing,
}

impl InterpreterContents {
    /// Reads the digests of the files of ansible-core and of collections that go into an interpreter. `ansible` is the
    /// package; `collections` are names, such as `community.general`, and folders.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn digests<'a>(
        ansible: &Path,
        collections: impl IntoIterator<Item = (&'a str, &'a Path)>,
    ) -> io::Result<BTreeMap<String, String>> {
        let mut files = BTreeMap::new();
        add_folder(&ansible.join("module_utils"), "ansible/module_utils", 0, &mut files)?;
        for (name, root) in collections {
            let shown = format!("ansible_collections/{}/plugins/module_utils", name.replace('.', "/"));
            add_folder(&root.join("plugins/module_utils"), &shown, 0, &mut files)?;
        }
        Ok(files)
    }

    pub(super) fn held(&self, path: &str, source: &[u8]) -> Held {
        match self.files.get(path) {
            None => Held::Missing,
            Some(own) if *own == digest(source) => Held::Same,
            Some(_) => Held::Other,
        }
    }

    /// Returns the modules that the interpreter does not have, and whether they are optional.
    pub(super) fn missing_modules<'a>(&self, needs: &'a Needs) -> impl Iterator<Item = (&'a str, bool)> {
        let is_there = |name: &String| self.modules.contains(name) || OF_PYTHON_2.contains(&name.as_str());
        needs.modules.iter().filter(move |(name, _)| !is_there(name)).map(|(name, optional)| (name.as_str(), *optional))
    }

    /// Returns the names that modules of the interpreter lack.
    pub(super) fn missing_names(&self, needs: &Needs) -> impl Iterator<Item = String> {
        let is_missing = |(module, name): &&(String, String)| {
            self.names.get(module).is_some_and(|names| name != "*" && !names.contains(name))
        };
        needs.names.iter().filter(is_missing).map(|(module, name)| format!("{module}.{name}"))
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn add_folder(folder: &Path, shown: &str, depth: usize, files: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let shown = format!("{shown}/{}", name.to_string_lossy());
        if path.is_dir() {
            if depth < MAX_DEPTH && name != "__pycache__" {
                add_folder(&path, &shown, depth + 1, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "py") {
            files.insert(shown, digest(&read_bounded(&path, MAX_SOURCE)?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use modbox_kinds::ansiballz::needs;

    use super::*;

    fn contents() -> InterpreterContents {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        InterpreterContents {
            modules: set(&["os", "json", "signal"]),
            names: [("os".to_owned(), set(&["path", "stat"]))].into(),
            files: [("ansible/module_utils/basic.py".to_owned(), digest(b"1"))].into(),
            ..InterpreterContents::default()
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (source, module, name) in [
            ("import os, json\nos.stat(os.path.sep)\n", None, None),
            ("import signal\nsignal.anything\n", None, None),
            ("from os import *\n", None, None),
            ("import os\nos.fork()\n", None, Some("os.fork")),
            ("def f():\n    from os import fork\n", None, Some("os.fork")),
            ("try:\n    import yaml.nodes\nexcept ImportError:\n    pass\n", Some(("yaml", true)), None),
            ("import yaml\ndef f():\n    import yaml\n", Some(("yaml", false)), None),
            ("try:\n    import ConfigParser\nexcept ImportError:\n    import json\n", None, None),
            ("from ansible.module_utils.basic import AnsibleModule\n", None, None),
        ] {
            let (contents, needs) = (contents(), needs(source.as_bytes()).unwrap());
            assert_eq!(contents.missing_modules(&needs).next(), module, "{source}");
            assert_eq!(contents.missing_names(&needs).next().as_deref(), name, "{source}");
        }
    }

    #[test]
    fn files_are_compared_by_their_contents() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("module_utils/common/__pycache__");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.py"), "").unwrap();
        fs::write(dir.path().join("module_utils/common/text.py"), "2").unwrap();
        fs::write(dir.path().join("module_utils/notes.txt"), "").unwrap();
        let files = InterpreterContents::digests(dir.path(), []).unwrap();
        let text = ("ansible/module_utils/common/text.py".to_owned(), digest(b"2"));
        assert_eq!(files, [text.clone()].into());
        fs::create_dir_all(dir.path().join("c/plugins/module_utils")).unwrap();
        fs::write(dir.path().join("c/plugins/module_utils/u.py"), "3").unwrap();
        let files = InterpreterContents::digests(dir.path(), [("a.b", &*dir.path().join("c"))]).unwrap();
        let utility = ("ansible_collections/a/b/plugins/module_utils/u.py".to_owned(), digest(b"3"));
        assert_eq!(files, [text, utility].into());
        let held = |path: &str, source: &[u8]| contents().held(path, source);
        assert_eq!(held("ansible/module_utils/basic.py", b"1"), Held::Same);
        assert_eq!(held("ansible/module_utils/basic.py", b"2"), Held::Other);
        assert_eq!(held("ansible/module_utils/own.py", b"1"), Held::Missing);
    }
}
