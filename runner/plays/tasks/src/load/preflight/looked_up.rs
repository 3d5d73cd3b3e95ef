//! Files that lookups of a task name literally, and templates that its template files include: whether they exist, and what is in
//! them in turn.

use modbox_template::{Content, FileUse, Kind, NamedFile, is_template};
use modbox_yaml::{Source, template_file};

use crate::error::{LoadError, Problem};
use crate::files::FileError;
use crate::keywords::Keyword;
use crate::load::context::Loader;
use crate::load::findings::BadTemplate;
use crate::load::preflight::named_files;
use crate::load::{templates, values};
use crate::model::task::{Task, is_builtin};
use crate::paths;
use crate::template_file::search::with_templates;
use crate::vars::magic::search_path;

/// How deep templates in templates are followed.
const MAX_DEPTH: usize = 40;

/// Keywords whose lookups are looked at, besides the arguments. A name of a task may fail.
const KEYWORDS: [Keyword; 9] = [
    Keyword::BecomeUser,
    Keyword::ChangedWhen,
    Keyword::DelegateTo,
    Keyword::Environment,
    Keyword::FailedWhen,
    Keyword::Loop,
    Keyword::Timeout,
    Keyword::Until,
    Keyword::When,
];

/// Checks what the texts of a task name. `is_reached` says whether every run comes to its arguments.
pub fn check(loader: &Loader<'_>, task: &Task, is_reached: bool) {
    let search = Search { loader, task };
    for keyword in KEYWORDS {
        let is_condition =
            matches!(keyword, Keyword::ChangedWhen | Keyword::FailedWhen | Keyword::Until | Keyword::When);
        let kind = if is_condition { Kind::Condition } else { Kind::Template };
        let is_certain = keyword == Keyword::Loop && templates::is_reached(loader, task);
        task.keywords.get(keyword).iter().for_each(|source| search.text(source, kind, is_certain));
    }
    search.loop_terms();
    if let Some(path) = named_files::template_of(loader, task) {
        check_template(loader, task, &path, is_reached);
    }
    let action = task.action_text();
    for source in task.args.raw.iter().chain(&task.args.whole) {
        search.text(source, Kind::Template, is_reached);
    }
    for (name, argument) in &task.args.named {
        let kind = match &**name {
            "that" if is_builtin(action, "assert") => Kind::Condition,
            "var" if is_builtin(action, "debug") && !is_template(&argument.value) => Kind::Expression,
            _ => Kind::Template,
        };
        search.text(&argument.value, kind, is_reached);
    }
    // A variable is evaluated only where it is used.
    for (_, slot) in task.vars.iter() {
        if let Content::Source(source) = slot.content() {
            search.text(source, Kind::Template, false);
        }
    }
}

/// Checks the template file of a task: the templates that it includes, and the files that its lookups name.
fn check_template(loader: &Loader<'_>, task: &Task, path: &str, is_certain: bool) {
    let mut folders = search_path(task);
    folders.extend([loader.folder.borrow().clone(), paths::parent(path).to_owned()]);
    Search { loader, task }.template(path, &with_templates(&folders), is_certain, 0);
}

/// What lies where a file is looked for.
enum Found<'p> {
    /// Something lies at a place.
    At(&'p str),
    /// Nothing does.
    Nowhere,
    /// A place may not be looked at, or has a link. What the task comes to there is told when it runs, with the switch that allows
    /// it.
    Unknown,
}

/// The task whose files are looked for.
struct Search<'a> {
    loader: &'a Loader<'a>,
    task: &'a Task,
}

impl Search<'_> {
    fn text(&self, source: &Source, kind: Kind, is_certain: bool) {
        for named in self.loader.engine.named_files(source, kind) {
            self.file(&named, &[], named.is_certain && is_certain, 0);
        }
    }

    /// Checks the files that `with_file` and the like name.
    fn loop_terms(&self) {
        let Some((name, terms)) = &self.task.lookup else { return };
        let used_by = FileUse::Lookup(name.rsplit('.').next().unwrap_or(name).to_owned());
        let is_certain = templates::is_reached(self.loader, self.task);
        for term in values::items(terms).iter().filter(|term| !is_template(term)) {
            let Some(name) = term.as_text() else { continue };
            let names = vec![name.to_string()];
            let named = NamedFile { source: term.clone(), line: 1, names, used_by: used_by.clone(), is_certain };
            self.file(&named, &[], is_certain, 0);
        }
    }

    /// Checks a file. `folders` are those where templates are found by the one that names it.
    fn file(&self, named: &NamedFile, folders: &[String], is_certain: bool, depth: usize) {
        match &named.used_by {
            FileUse::Template => self.included(named, folders, is_certain, depth),
            FileUse::Lookup(lookup) => {
                let folder = match lookup.as_str() {
                    "template" => "templates",
                    "csvfile" | "file" | "ini" | "unvault" => "files",
                    _ => return,
                };
                for name in named.names.iter().filter(|name| named_files::is_plain(name)) {
                    let places = named_files::places(self.loader, self.task, folder, name);
                    match self.first(&places) {
                        Found::Unknown => {}
                        Found::At(path) if lookup == "template" => {
                            let mut folders = vec![paths::parent(path).to_owned()];
                            folders.extend(with_templates(&self.search_path()));
                            self.template(path, &folders, is_certain, depth + 1);
                        }
                        Found::At(path) => self.content(named, path, is_certain),
                        Found::Nowhere => self.missing(named, name.clone(), places, is_certain),
                    }
                }
            }
        }
    }

    /// Returns the first place at which something lies. A lookup may never run, so that nothing is noted as lacking here.
    fn first<'p>(&self, places: &'p [String]) -> Found<'p> {
        for place in places {
            match self.loader.files.link(place) {
                Ok(None) => return Found::At(place),
                Err(FileError::NotFound { .. }) => {}
                Ok(Some(_)) | Err(_) => return Found::Unknown,
            }
        }
        Found::Nowhere
    }

    /// Returns the folders where files of the task are looked for, with that of the playbook.
    fn search_path(&self) -> Vec<String> {
        let mut folders = search_path(self.task);
        let base = self.loader.folder.borrow().clone();
        if !folders.contains(&base) {
            folders.push(base);
        }
        folders
    }

    /// Checks that an encrypted file can be read.
    fn content(&self, named: &NamedFile, path: &str, is_certain: bool) {
        if !self.loader.files.is_encrypted(path) {
            return;
        }
        if let Err(error @ (FileError::Denied { .. } | FileError::Other { .. })) = self.loader.files.bytes(path) {
            let error = LoadError::new(named.source.position(), Problem::File(error));
            self.loader.templates.add(BadTemplate { error, is_certain });
        }
    }

    /// Checks a template that another one names: the first of its names that exists.
    fn included(&self, named: &NamedFile, folders: &[String], is_certain: bool, depth: usize) {
        // Only a template file includes others.
        if folders.is_empty() {
            return;
        }
        let mut searched = Vec::new();
        for name in &named.names {
            let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            if parts.is_empty() || parts.contains(&"..") {
                continue;
            }
            for folder in folders {
                let path = paths::join(folder, &parts.join("/"));
                match self.first(std::slice::from_ref(&path)) {
                    Found::At(_) if self.loader.files.is_folder(&path) => searched.push(path),
                    Found::At(_) => return self.template(&path, folders, is_certain, depth + 1),
                    Found::Nowhere => searched.push(path),
                    Found::Unknown => return,
                }
            }
        }
        self.missing(named, named.names.join("`, `"), searched, is_certain);
    }

    /// Checks a template file: its syntax, and what it names in turn.
    fn template(&self, path: &str, folders: &[String], is_certain: bool, depth: usize) {
        if depth > MAX_DEPTH || !self.loader.templates.is_first(&format!("template {is_certain} {path} {folders:?}")) {
            return;
        }
        // That of the action itself is tried where the task names it.
        let is_tried = depth > 0 && self.loader.files.is_encrypted(path);
        if let Some(Err(error)) = is_tried.then(|| self.loader.files.bytes(path)) {
            let error = LoadError::new(&crate::error::beginning(path), Problem::File(error));
            return self.loader.templates.add(BadTemplate { error, is_certain });
        }
        let Some(text) = templates::template_text(self.loader, path) else { return };
        let file = template_file(&text, path);
        templates::check_template_text(self.loader, &file, is_certain);
        for named in self.loader.engine.named_files_of_file(&file) {
            self.file(&named, folders, named.is_certain && is_certain, depth);
        }
    }

    fn missing(&self, named: &NamedFile, name: String, mut searched: Vec<String>, is_certain: bool) {
        let mut position = named.source.position().clone();
        let kind = match named.used_by {
            FileUse::Template => "the template",
            FileUse::Lookup(_) => "the file",
        };
        let is_in_file = named.source.as_text().is_some_and(|text| text.contains('\n')) && named.line > 1;
        if is_in_file {
            position.line = position.line.saturating_add(named.line - 1);
            position.column = 1;
        }
        searched.dedup();
        let error = LoadError::new(&position, Problem::NotFound { kind, name, searched });
        self.loader.templates.add(BadTemplate { error, is_certain });
    }
}
