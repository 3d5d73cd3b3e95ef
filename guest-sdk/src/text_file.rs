//! Functions for modules that change text files: a read with a limit, as bytes or as text, the difference of the contents, and a
//! write with a backup and through links.
//!
//! The modules themselves edit the text.

use std::io;
use std::path::Path;

use modbox_python_json::{Dict, Value};

use crate::files::{AttributesDiff, Planned};
use crate::fs::{create_folders, follow_links, path_value, read, words, write_atomic};
use crate::module::Module;
use crate::result::{Diff, Failure};
use crate::text_encoding::{TextEncoding, with_plain_newlines};

/// The longest file. A file is held in memory as a whole.
pub const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// Reads a file that a module changes.
///
/// # Errors
///
/// The file system refused, or the file is longer than [`MAX_FILE_BYTES`]; the error names the path.
pub fn contents(path: &Path) -> Result<Vec<u8>, Failure> {
    read(path, MAX_FILE_BYTES).map_err(cannot("read", path))
}

/// How a module reads and writes the file that it edits. Ansible's `lineinfile`, `blockinfile` and `replace` edit bytes up to
/// ansible-core 2.19, and text since 2.20: then bytes that are not of the encoding are an error, and patterns are those of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileForm {
    /// How the bytes of the file become text, and text becomes bytes again.
    pub encoding: TextEncoding,
    /// Whether the file is read as text.
    pub is_text: bool,
}

impl FileForm {
    /// Returns the form that the caller's release has. Another encoding than UTF-8 makes it text.
    ///
    /// # Errors
    ///
    /// The encoding is unknown.
    pub fn of(module: &Module, encoding: &str) -> Result<Self, Failure> {
        let encoding = TextEncoding::named(encoding)?;
        Ok(Self { encoding, is_text: module.is_since(2, 20) || encoding != TextEncoding::Utf8 })
    }

    /// Reads a file that a module changes. `keeps_newlines` says whether ends of lines in text stay as they are; else all become
    /// `\n`, as in Python.
    ///
    /// # Errors
    ///
    /// As [`contents`], and text that is not of the encoding.
    pub fn read(self, path: &Path, keeps_newlines: bool) -> Result<Vec<u8>, Failure> {
        let bytes = contents(path)?;
        if !self.is_text {
            return Ok(bytes);
        }
        let text = self.encoding.decode_strictly(&path.display().to_string(), &bytes)?;
        Ok(if keeps_newlines { text } else { with_plain_newlines(&text) })
    }

    /// Returns edited text as bytes of the file.
    ///
    /// # Errors
    ///
    /// Characters that the encoding does not have.
    pub fn written(self, text: &[u8]) -> Result<Vec<u8>, Failure> {
        if self.is_text { self.encoding.encode(text) } else { Ok(text.to_vec()) }
    }
}

/// Writes a file, unless in check mode. With `keep`, it copies the old file first and returns the copy's path. Links
/// are followed, and a missing folder is created.
///
/// # Errors
///
/// The file system refused; the error names the path. Nothing is changed if no backup can be made; in check mode, that is
/// an error, too.
pub fn store(module: &Module, path: &Path, contents: &[u8], keep: bool) -> Result<Option<String>, Failure> {
    let exists = crate::fs::exists(path);
    if !module.check_mode() {
        module.refuse_attributes(path, Planned::File)?;
    }
    let kept = if keep && exists { module.backup_local(path)? } else { None };
    if module.check_mode() {
        return Ok(None);
    }
    if !exists {
        create_folder_of(path)?;
    }
    let target = follow_links(path).map_err(cannot("write", path))?;
    write_atomic(&target, contents).map_err(cannot("write", path))?;
    Ok(kept.map(|copy| copy.display().to_string()))
}

/// Creates the folder of a file and those above it, where they are missing.
///
/// # Errors
///
/// The file system refused; the error names the folder.
pub fn create_folder_of(path: &Path) -> Result<(), Failure> {
    let missing = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    missing.map_or(Ok(()), |folder| {
        create_folders(folder)
            .map_err(|error| Failure::new(format!("Error creating {} ({})", folder.display(), words(&error))))
    })
}

/// Sets the attributes of the file `path` or `dest` to those in the arguments, and returns whether anything changed. If
/// so, it extends the message in the words of ansible-core's modules.
///
/// # Errors
///
/// As [`Module::set_fs_attributes_if_different`].
pub fn check_attributes(
    module: &Module,
    changed: bool,
    message: &mut String,
    diff: &mut AttributesDiff,
) -> Result<bool, Failure> {
    let wanted = module.load_file_common_arguments(None)?.unwrap_or_default();
    if module.check_mode() && !wanted.path.exists() {
        // The message already says that the file will be created.
        return Ok(changed);
    }
    if !module.set_fs_attributes_if_different(&wanted, false, Some(diff))? {
        return Ok(changed);
    }
    if changed {
        message.push_str(" and ");
    }
    message.push_str("ownership, perms or SE linux context changed");
    Ok(true)
}

/// Returns the difference of a file's contents, under the headers that Ansible's modules give it.
#[must_use]
pub fn content_diff(path: &str, before: &[u8], after: &[u8]) -> Diff {
    let header = format!("{path} (content)");
    Diff::new(text(before), text(after)).headers(header.clone(), header)
}

/// Returns the differences of a file's contents and of its attributes, as ansible-core 2.19's `lineinfile` and
/// `blockinfile` return them: both, also where nothing changed, and without contents unless the caller asked for
/// differences.
#[must_use]
pub fn both_diffs(module: &Module, path: &str, (before, after): (&[u8], &[u8]), attributes: AttributesDiff) -> Value {
    let header = path_value(format!("{path} (file attributes)"));
    let mut of_attributes = Dict::new();
    if attributes != AttributesDiff::default() {
        of_attributes.insert("before".to_owned(), attributes.before.into());
        of_attributes.insert("after".to_owned(), attributes.after.into());
    }
    of_attributes.insert("before_header".to_owned(), header.clone());
    of_attributes.insert("after_header".to_owned(), header);
    Value::List(vec![contents_diff(module, path, (before, after)), of_attributes.into()])
}

/// Returns the difference of a file's contents, as the first one of [`both_diffs`].
#[must_use]
pub fn contents_diff(module: &Module, path: &str, (before, after): (&[u8], &[u8])) -> Value {
    let (before, after) = if module.diff_wanted() { (before, after) } else { (&[][..], &[][..]) };
    content_diff(path, before, after).into_value()
}

/// Returns the text that Python makes of bytes.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    modbox_python_json::str(&Value::from_os_bytes(bytes))
}

/// Returns a function that makes a failure of an error of the file system.
pub fn cannot(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Failure {
    let start = format!("failed to {what} `{}`", path.display());
    move |error| Failure::new(format!("{start}: {}", words(&error)))
}
