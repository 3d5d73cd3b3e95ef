//! The key of an interpreter: a digest of all files that it is made from.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::interpreter::carried;
use crate::interpreter::error::{InterpreterError, file_error};
use crate::interpreter::sources::InterpreterSources;

/// Maximum depth of folders in a package.
const MAX_DEPTH: usize = 32;

impl InterpreterSources {
    /// Returns the key of the interpreter, in hexadecimal digits: a digest of all files that it is made from.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn key(&self) -> Result<String, InterpreterError> {
        let Self { ansible, collections, componentize, packages, .. } = self;
        let mut hash = Sha256::new();
        for (name, text) in carried::files() {
            add(&mut hash, name.as_bytes(), text.as_bytes());
        }
        // Tracebacks name files by the folder.
        add(&mut hash, b"ansible", ansible.as_os_str().as_encoded_bytes());
        add_file(&mut hash, &ansible.join("release.py"))?;
        add_folder(&mut hash, &ansible.join("module_utils"), 0)?;
        for collection in collections {
            add(&mut hash, collection.name.as_bytes(), collection.root.as_os_str().as_encoded_bytes());
            add_folder(&mut hash, &collection.utilities(), 0)?;
        }
        if let Some(packages) = packages {
            // What plugins import is all of ansible-core but its modules.
            add_folder(&mut hash, ansible, 0)?;
            for (name, folder) in packages {
                add(&mut hash, name.as_bytes(), folder.as_os_str().as_encoded_bytes());
                add_folder(&mut hash, folder, 0)?;
            }
        }
        add_file(&mut hash, &componentize.file())?;
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Adds a name and its contents, with their lengths, so that no two lists are the same bytes.
fn add(hash: &mut Sha256, name: &[u8], contents: &[u8]) {
    for part in [name, contents] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
}

fn add_file(hash: &mut Sha256, path: &Path) -> Result<(), InterpreterError> {
    let own = File::open(path).and_then(digest).map_err(file_error("read", path))?;
    add(hash, path.file_name().unwrap_or_default().as_encoded_bytes(), &own);
    Ok(())
}

fn digest(mut file: File) -> io::Result<Vec<u8>> {
    let (mut own, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(own.finalize().to_vec()),
            length => own.update(&buffer[..length]),
        }
    }
}

/// Adds the sources below a folder, in the order of their names.
fn add_folder(hash: &mut Sha256, folder: &Path, depth: usize) -> Result<(), InterpreterError> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let mut entries = entries.map_err(file_error("read", folder))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            if entry.file_name() != "__pycache__" && depth < MAX_DEPTH {
                add(hash, b"/", entry.file_name().as_encoded_bytes());
                add_folder(hash, &path, depth + 1)?;
                add(hash, b"..", b"");
            }
        } else if path.extension().is_some_and(|extension| extension == "py" || extension == "yml") {
            add_file(hash, &path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter::componentize::Componentize;
    use crate::interpreter::sources::CollectionFolder;

    #[test]
    fn every_file_counts_by_name_place_and_contents() {
        let dir = tempfile::tempdir().unwrap();
        let ansible = dir.path().join("ansible");
        let write = |name: &str, text: &str| {
            let path = ansible.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let tool = dir.path().join("componentize-py");
        fs::write(&tool, "1").unwrap();
        write("release.py", "1");
        write("module_utils/basic.py", "1");
        write("module_utils/common/file.py", "1");
        let sources = InterpreterSources {
            python: dir.path().join("python"),
            ansible: ansible.clone(),
            collections: Vec::new(),
            packages: None,
            componentize: Componentize::Program(tool.clone()),
        };
        let made = || sources.key().unwrap();
        let mut seen = vec![made()];
        assert_eq!(made(), seen[0]);
        for change in [
            &|| write("release.py", "2") as _,
            &|| write("module_utils/basic.py", "2"),
            &|| write("module_utils/new.py", ""),
            &|| fs::rename(ansible.join("module_utils/new.py"), ansible.join("module_utils/common/new.py")).unwrap(),
            &|| fs::write(&tool, "2").unwrap(),
        ] as [&dyn Fn(); 5]
        {
            change();
            let now = made();
            assert!(!seen.contains(&now));
            seen.push(now);
        }
        write("module_utils/__pycache__/basic.pyc", "1");
        write("module_utils/readme.txt", "1");
        assert_eq!(seen.last(), Some(&made()), "what is not imported does not count");
        let root = dir.path().join("general");
        let with = InterpreterSources {
            collections: vec![CollectionFolder { name: "community.general".to_owned(), root: root.clone() }],
            ..sources.clone()
        };
        assert!(with.key().is_err());
        fs::create_dir_all(root.join("plugins/module_utils")).unwrap();
        let first = with.key().unwrap();
        fs::write(root.join("plugins/module_utils/a.py"), "").unwrap();
        assert!(first != with.key().unwrap() && first != made());
        let jinja = dir.path().join("jinja2");
        fs::create_dir_all(&jinja).unwrap();
        let packages = Some(vec![("jinja2".to_owned(), jinja.clone())]);
        let with = InterpreterSources { packages, ..sources.clone() };
        let first = with.key().unwrap();
        fs::write(jinja.join("runtime.py"), "").unwrap();
        let second = with.key().unwrap();
        write("config/base.yml", "");
        let third = with.key().unwrap();
        assert!(first != second && second != third && first != made());
        fs::remove_file(ansible.join("release.py")).unwrap();
        assert!(sources.key().is_err());
    }
}
