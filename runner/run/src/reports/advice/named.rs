//! The paths that the arguments of a run name: as the value of an option, or as a word within one.

use std::path::{Path, PathBuf};

use modbox_contract::args::RESERVED_PREFIX;
use modbox_contract::{Dict, Value};
use modbox_policy::normalize;

/// Maximum number of paths that are looked at, of each sort.
const MAX_NAMED: usize = 256;

/// Depth of nested values that are searched for words.
const MAX_DEPTH: usize = 8;

/// Characters that end a word of a command line or of a text.
const ENDS: &str = "'\"`;,()[]{}<>|&=";

/// Paths that the arguments name.
#[derive(Debug, Default)]
pub(super) struct NamedPaths {
    /// Options of the module, with the absolute paths that are their values.
    options: Vec<(String, PathBuf)>,
    /// Absolute paths among the words of all values.
    words: Vec<PathBuf>,
}

impl NamedPaths {
    pub(super) fn of(arguments: &Dict) -> Self {
        let mut named = Self::default();
        for (option, value) in arguments.iter().filter(|(option, _)| !option.starts_with(RESERVED_PREFIX)) {
            let one = std::slice::from_ref(value);
            for path in value.as_list().unwrap_or(one).iter().filter_map(Value::as_str).filter_map(absolute) {
                if named.options.len() < MAX_NAMED {
                    named.options.push((option.clone(), path));
                }
            }
            named.add_words(value, 0);
        }
        named
    }

    fn add_words(&mut self, value: &Value, depth: usize) {
        match value {
            _ if depth >= MAX_DEPTH => {}
            Value::List(items) => items.iter().for_each(|item| self.add_words(item, depth + 1)),
            Value::Dict(dict) => dict.values().for_each(|value| self.add_words(value, depth + 1)),
            Value::Str(text) => {
                let words = text.split(|c: char| c.is_whitespace() || ENDS.contains(c));
                let words = words.map(without_pattern).filter_map(absolute);
                let room = MAX_NAMED.saturating_sub(self.words.len());
                self.words.extend(words.take(room));
            }
            _ => {}
        }
    }

    /// Returns the option whose value is a path, or leads to it by a link.
    pub(super) fn option_of(&self, path: &Path) -> Option<&str> {
        let is_named = |named: &Path| named == path || named.canonicalize().is_ok_and(|real| real == path);
        self.options.iter().find(|(_, named)| is_named(named)).map(|(option, _)| option.as_str())
    }

    /// Returns the option whose value is the innermost directory around a path.
    pub(super) fn option_around(&self, path: &Path) -> Option<&str> {
        let around =
            self.options.iter().filter(|(_, named)| path != named && path.starts_with(named) && named.is_dir());
        around.max_by_key(|(_, named)| named.as_os_str().len()).map(|(option, _)| option.as_str())
    }

    /// Returns a named path in the directory of a temporary file that the file most likely replaces: one whose name is
    /// a part of the temporary's, or else the last one.
    pub(super) fn replaced_by(&self, temporary: &Path) -> Option<&Path> {
        let name = temporary.file_name()?.to_str()?;
        let beside = || {
            let all = self.options.iter().map(|(_, path)| path).chain(&self.words);
            all.filter(|path| path.parent() == temporary.parent() && path.as_path() != temporary && !path.is_dir())
        };
        let is_part =
            |path: &&PathBuf| path.file_name().and_then(|own| own.to_str()).is_some_and(|own| name.contains(own));
        beside().find(is_part).or_else(|| beside().next_back()).map(PathBuf::as_path)
    }

    /// Returns a named path below a directory.
    pub(super) fn below(&self, directory: &Path) -> Option<&Path> {
        let all = self.options.iter().map(|(_, path)| path).chain(&self.words);
        all.map(PathBuf::as_path).find(|path| path.starts_with(directory) && *path != directory)
    }

    /// Returns the option whose value is a path in a directory that does not exist, and the path.
    pub(super) fn new_in(&self, directory: &Path) -> Option<(&str, &Path)> {
        let is_new = |path: &Path| path.parent() == Some(directory) && path.symlink_metadata().is_err();
        self.options.iter().find(|(_, path)| is_new(path)).map(|(option, path)| (option.as_str(), path.as_path()))
    }

    /// Returns all named paths that may be files of this machine.
    pub(super) fn words(&self) -> impl Iterator<Item = &Path> {
        self.words.iter().map(PathBuf::as_path)
    }
}

/// Returns the folder whose names a shell's pattern is compared with; a text without a pattern as it is.
fn without_pattern(text: &str) -> &str {
    let start = text.find(['*', '?']).and_then(|at| text[..at].rfind('/'));
    start.map_or(text, |end| &text[..end])
}

/// Returns an absolute path without `.` and `..`; `None` for another text, and for `/` alone.
fn absolute(text: &str) -> Option<PathBuf> {
    (text.len() > 1 && text.starts_with('/')).then(|| normalize(Path::new(text))).filter(|path| path.parent().is_some())
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    fn named(json: &str) -> NamedPaths {
        let Ok(Value::Dict(arguments)) = decode(json) else { panic!("a dict") };
        NamedPaths::of(&arguments)
    }

    #[test]
    fn options_and_words_are_found() {
        let named = named(
            r#"{"dest": "/srv/x", "paths": ["/a/b", 1], "_raw_params": "cp '/a/c' >/a/d; x=/e/f; cat /g/*/h /i*",
                "_ansible_tmpdir": "/t/x", "items": [{"log": "/l"}], "root": "/"}"#,
        );
        assert_eq!(named.option_of(Path::new("/srv/x")), Some("dest"));
        assert_eq!(named.option_of(Path::new("/a/b")), Some("paths"));
        assert_eq!(named.option_of(Path::new("/l")), None, "no option of the module itself");
        assert_eq!(named.option_of(Path::new("/t/x")), None);
        let words: Vec<_> = named.words().map(|path| path.display().to_string()).collect();
        assert_eq!(words, ["/srv/x", "/a/b", "/a/c", "/a/d", "/e/f", "/g", "/l"]);
        assert_eq!(named.option_around(Path::new("/usr/bin/x")), None);
    }

    #[test]
    fn a_temporary_replaces_the_path_whose_name_it_has() {
        let named = named(r#"{"src": "/srv/app", "dest": "/srv/conf", "other": "/etc/x"}"#);
        let replaced =
            |name: &str| named.replaced_by(&Path::new("/srv").join(name)).map(|path| path.display().to_string());
        assert_eq!(replaced(".ansible_tmpabcapp"), Some("/srv/app".to_owned()));
        assert_eq!(replaced("tmp12345678"), Some("/srv/conf".to_owned()));
        assert_eq!(named.replaced_by(Path::new("/usr/tmp12345678")), None);
    }
}
