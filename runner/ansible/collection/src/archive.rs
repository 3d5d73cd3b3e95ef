//! The archive of a collection: its files, and the two lists that `ansible-galaxy` checks them with.

use std::collections::BTreeSet;
use std::io;

use flate2::{Compression, GzBuilder};
use modbox_python_json::{Dict, Value};
use tar::{Builder, EntryType, Header, HeaderMode};

use crate::digest::sha256;
use crate::files::{Collection, CollectionError, Files, line};

/// Format of both lists (ansible-core 2.19, `ansible.galaxy.collection`).
const FORMAT: i64 = 1;

impl Collection {
    /// Returns the name of the archive.
    #[must_use]
    pub fn archive_name(&self) -> String {
        format!("{}-{}-{}.tar.gz", self.name.namespace(), self.name.name(), self.version)
    }

    /// Returns the archive. The same collection gives the same bytes.
    ///
    /// # Errors
    ///
    /// As [`Collection::files`].
    pub fn archive(&self) -> Result<Vec<u8>, CollectionError> {
        let files = self.files()?;
        let list = line(&file_list(&files));
        let manifest = line(&self.manifest(&list));
        let encoder = GzBuilder::new().write(Vec::new(), Compression::default());
        let mut archive = Builder::new(encoder);
        archive.mode(HeaderMode::Deterministic);
        append(&mut archive, "MANIFEST.json", &manifest)?;
        append(&mut archive, "FILES.json", &list)?;
        for folder in folders(&files) {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Directory);
            header.set_mode(0o755);
            header.set_size(0);
            archive.append_data(&mut header, format!("{folder}/"), io::empty())?;
        }
        for (path, bytes) in &files {
            append(&mut archive, path, bytes)?;
        }
        Ok(archive.into_inner()?.finish()?)
    }

    fn manifest(&self, list: &[u8]) -> Value {
        let none = || Value::List(Vec::new());
        let information = [
            ("namespace", Value::from(self.name.namespace())),
            ("name", self.name.name().into()),
            ("version", self.version.to_string().into()),
            ("authors", Value::List(vec![self.name.namespace().into()])),
            ("readme", "README.md".into()),
            ("tags", none()),
            ("description", self.description.as_str().into()),
            ("license", none()),
            ("license_file", Value::Null),
            ("dependencies", Value::Dict(self.dependencies())),
            ("repository", Value::Null),
            ("documentation", Value::Null),
            ("homepage", Value::Null),
            ("issues", Value::Null),
        ];
        [
            ("collection_info", Value::from(information)),
            ("file_manifest_file", entry("FILES.json", Some(list))),
            ("format", FORMAT.into()),
        ]
        .into()
    }
}

/// Returns the list of all files and their folders.
fn file_list(files: &Files) -> Value {
    let root = std::iter::once(entry(".", None));
    let folders = folders(files).into_iter().map(|folder| entry(&folder, None));
    let entries = files.iter().map(|(path, bytes)| entry(path, Some(bytes)));
    let all: Vec<Value> = root.chain(folders).chain(entries).collect();
    [("files", Value::List(all)), ("format", FORMAT.into())].into()
}

/// Returns the entry of a file, or of a folder.
fn entry(path: &str, bytes: Option<&[u8]>) -> Value {
    let digest = bytes.map(sha256);
    let kind = if bytes.is_some() { "file" } else { "dir" };
    let text = |text: Option<String>| text.map_or(Value::Null, Value::from);
    let mut keys = Dict::new();
    keys.insert("name".to_owned(), path.into());
    keys.insert("ftype".to_owned(), kind.into());
    keys.insert("chksum_type".to_owned(), text(digest.as_ref().map(|_| "sha256".to_owned())));
    keys.insert("chksum_sha256".to_owned(), text(digest));
    keys.insert("format".to_owned(), FORMAT.into());
    Value::Dict(keys)
}

/// Returns the folders of files, each before those in it.
fn folders(files: &Files) -> BTreeSet<String> {
    let around = |path: &String| {
        let ends: Vec<usize> = path.match_indices('/').map(|(end, _)| end).collect();
        ends.into_iter().map(|end| path[..end].to_owned()).collect::<Vec<_>>()
    };
    files.keys().flat_map(around).collect()
}

fn append<W: io::Write>(archive: &mut Builder<W>, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(bytes.len() as u64);
    archive.append_data(&mut header, path, bytes)
}
