//! The interpreters of modules, with what these load. Who can write one of them decides what the modules do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use modbox_kinds::interpreter_words;
use modbox_run::{Module, usual_python};

use crate::cli::asking::own_files::OwnFiles;
use crate::cli::mcp::examined::Sources;

/// What they are called.
const WHAT: &str = "an interpreter of modules";

/// Interpreters that no tool may write.
pub(super) struct Interpreters<'a> {
    search_path: &'a [PathBuf],
    /// The words of interpreter lines that were seen.
    seen: BTreeSet<Vec<String>>,
}

impl<'a> Interpreters<'a> {
    /// Adds the interpreters that replace others, and the Python that runs where none is named.
    pub(super) fn new(sources: &'a Sources<'_>, own: &mut OwnFiles) -> Self {
        let lookup = sources.lookup;
        let interpreters = Self { search_path: &lookup.python.search_path, seen: BTreeSet::new() };
        let usual = usual_python(&lookup.python, lookup.interpreter(), &sources.context.environment.cwd);
        usual.iter().for_each(|python| add(python, own));
        lookup.interpreters.values().for_each(|line| interpreters.add_programs(line.split_whitespace(), own));
        interpreters
    }

    /// Adds those of a module's interpreter line.
    pub(super) fn add_of(&mut self, module: &Module, own: &mut OwnFiles) {
        // A module that cannot be read again is not a tool, or does not run.
        let words = module.bytes().map(|bytes| interpreter_words(bytes)).unwrap_or_default();
        if !words.is_empty() && !self.seen.contains(&words) {
            self.add_programs(words.iter().map(String::as_str), own);
            self.seen.insert(words);
        }
    }

    /// Adds the program of a line, and that which `env` starts.
    fn add_programs<'w>(&self, words: impl Iterator<Item = &'w str>, own: &mut OwnFiles) {
        let mut words = words;
        let Some(first) = words.next() else { return };
        self.add_program(first, own);
        if Path::new(first).file_name().is_some_and(|name| name == "env") {
            let mut programs = words.filter(|word| !word.starts_with('-') && !word.contains('='));
            programs.next().into_iter().for_each(|program| self.add_program(program, own));
        }
    }

    fn add_program(&self, program: &str, own: &mut OwnFiles) {
        match program.contains('/') {
            true => add(Path::new(program), own),
            false => {
                let found = self.search_path.iter().map(|folder| folder.join(program)).find(|path| path.is_file());
                found.iter().for_each(|path| add(path, own));
            }
        }
    }
}

/// Adds an interpreter, the links that lead to it, and what it imports.
fn add(interpreter: &Path, own: &mut OwnFiles) {
    if !interpreter.is_absolute() {
        return;
    }
    own.add(interpreter, WHAT);
    own.add_links(interpreter, WHAT);
    let real = interpreter.canonicalize();
    let prefixes = [Some(interpreter), real.as_deref().ok()].into_iter().flatten().filter_map(prefix);
    for prefix in prefixes {
        // An environment of Python has all beside its interpreter.
        if prefix.join("pyvenv.cfg").exists() {
            own.add(prefix, WHAT);
        }
        let folders = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
        let of_python = folders.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"python"));
        of_python.for_each(|entry| own.add(&entry.path(), "what an interpreter of modules imports"));
    }
}

/// Returns the folder around the folder of an interpreter.
fn prefix(interpreter: &Path) -> Option<&Path> {
    interpreter.parent()?.parent()
}
