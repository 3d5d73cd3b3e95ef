//! `include_vars`: reads variables from files of the play. They are text of the play, so templates in them work; but not in
//! a file that was written since the run began, which a task may have made of what a module returned.

use std::sync::Arc;

use indexmap::IndexMap;
use modbox_python_json::{Dict, Value};
use modbox_python_re::{Flags, Pattern, Subject};
use modbox_yaml::{Source, load_play_file};

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::error::HIDDEN_MISTAKE;
use crate::load::values;
use crate::paths;
use crate::scalars;
use crate::vars::layer;

const FOLDER_OPTIONS: [&str; 6] =
    ["dir", "depth", "files_matching", "ignore_files", "extensions", "ignore_unknown_extensions"];
const FILE_OPTIONS: [&str; 2] = ["file", "_raw_params"];
const OPTIONS: [&str; 2] = ["name", "hash_behaviour"];

/// How deep folders may nest.
const MAX_DEPTH: i64 = 64;

/// What was read.
#[derive(Debug, Default)]
struct Found {
    files: Vec<String>,
    vars: IndexMap<Arc<str>, FoundVariable>,
    /// Number of variables that were read, also of those that later ones have replaced.
    read: u64,
}

/// A variable of a file.
#[derive(Debug)]
struct FoundVariable {
    /// Its place among all that were read.
    place: u64,
    key: Source,
    value: Source,
}

impl Found {
    /// Adds a variable behind all others, in the place of an earlier one of its name.
    fn add(&mut self, name: Arc<str>, key: Source, value: Source) {
        self.vars.insert(name, FoundVariable { place: self.read, key, value });
        self.read += 1;
    }

    /// Puts the variables into the order in which the last ones of each name were read.
    fn sort(&mut self) {
        self.vars.sort_by(|_, one, _, other| one.place.cmp(&other.place));
    }
}

/// Reads variables.
///
/// # Errors
///
/// The task gives unknown or malformed arguments, or those of files together with those of folders.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let folder = check_options(context)?;
    let mut found = Found::default();
    let read = if folder { read_folder(context, &mut found) } else { read_file(context, &mut found) };
    found.sort();
    let mut result = Dict::new();
    let facts = match read {
        Ok(()) => facts(context, &found)?,
        Err(error @ ActionError::Wrong(_)) => return Err(error),
        Err(error) => {
            result.extend(entry("failed", true));
            result.extend(entry("message", error.to_string()));
            Dict::new()
        }
    };
    result.extend(entry("ansible_included_var_files", found.files));
    result.extend(entry("ansible_facts", facts));
    result.extend(entry("_ansible_no_log", false));
    Ok(result)
}

fn check_options(context: &ActionContext<'_>) -> Result<bool, ActionError> {
    let given = |options: &[&str]| options.iter().any(|option| context.args.contains_key(*option));
    for name in context.args.keys() {
        let name = name.as_str();
        if !FOLDER_OPTIONS.contains(&name) && !FILE_OPTIONS.contains(&name) && !OPTIONS.contains(&name) {
            let error = ActionError::wrong(format!("{name} is not a valid option in include_vars"));
            return Err(error.at(context.excerpt_of_name(name)));
        }
    }
    if given(&FOLDER_OPTIONS) && given(&FILE_OPTIONS) {
        return Err(ActionError::wrong("You are mixing file only and dir only arguments, these are incompatible"));
    }
    Ok(context.text("dir").is_some())
}

/// Returns the facts of what was read, and hands the sources to the play where they are used as they are.
fn facts(context: &mut ActionContext<'_>, found: &Found) -> Result<Dict, ActionError> {
    let data = |source: &Source| source.to_data().map_err(|error| ActionError::failed(error.to_string()));
    let mut facts = Dict::new();
    for (name, variable) in &found.vars {
        facts.insert(name.to_string(), data(&variable.value)?);
    }
    let name = context.text("name");
    if context.text("hash_behaviour").as_deref() == Some("merge") {
        for (name, value) in &mut facts {
            if let Some(slot) = context.scope.get(name) {
                if let modbox_template::Content::Value(existing) = slot.content() {
                    let mut merged = layer::to_json(existing);
                    merge(&mut merged, value);
                    *value = merged;
                } else if let modbox_template::Content::Source(existing) = slot.content() {
                    let mut merged = context.evaluate(existing)?;
                    merge(&mut merged, value);
                    *value = merged;
                }
            }
        }
        return Ok(match name {
            None => facts,
            Some(name) => entry(&name, facts),
        });
    }
    match name {
        None => {
            let included = found.vars.iter().map(|(name, variable)| (Arc::clone(name), variable.value.clone()));
            context.findings.included.extend(included);
            Ok(facts)
        }
        Some(name) => {
            let entries = found.vars.values().map(|variable| (variable.key.clone(), variable.value.clone()));
            let whole = Source::map_of(entries, context.task.position.clone());
            let whole = whole.map_err(|error| ActionError::failed(error.to_string()))?;
            context.findings.included.push((name.as_str().into(), whole));
            Ok(entry(&name, facts))
        }
    }
}

/// Merges a dict into another, recursively. Other values replace what is there.
fn merge(old: &mut Value, new: &Value) {
    match (old, new) {
        (Value::Dict(old), Value::Dict(new)) => {
            for (key, value) in new {
                match old.get_mut(key) {
                    Some(existing) => merge(existing, value),
                    None => drop(old.insert(key.clone(), value.clone())),
                }
            }
        }
        (old, new) => old.clone_from(new),
    }
}

fn read_file(context: &ActionContext<'_>, found: &mut Found) -> Result<(), ActionError> {
    let name = context.text("file").or_else(|| context.text("_raw_params"));
    let name = name.ok_or_else(|| ActionError::failed("Could not find file on the Ansible Controller."))?;
    let path = context.find_file("vars", name.trim_end_matches('\n'))?;
    load(context, &path, found)
}

/// Reads the mapping of a file.
fn load(context: &ActionContext<'_>, path: &str, found: &mut Found) -> Result<(), ActionError> {
    let text = context.host.files().text(path)?;
    let document = load_play_file(&text, path).map_err(|error| {
        let is_encrypted = context.host.files().is_encrypted(path);
        ActionError::failed(if is_encrypted { format!("{path}: {HIDDEN_MISTAKE}") } else { error.to_string() })
    })?;
    if document.root.is_null() {
        found.files.push(path.to_owned());
        return Ok(());
    }
    let is_new = context.host.files().is_new(path)?;
    let root = if is_new { document.root.as_data() } else { document.root };
    let Some(map) = root.as_map() else {
        return Err(ActionError::failed(format!("'{path}' must be stored as a dictionary/hash")));
    };
    found.files.push(path.to_owned());
    for (key, entry) in map.iter() {
        found.add(values::key_text(key).into(), entry.key.clone(), entry.value.clone());
    }
    Ok(())
}

/// What decides which files of a folder are read.
struct Selection {
    matching: Option<Pattern>,
    ignored: Vec<Pattern>,
    extensions: Vec<String>,
    skip_unknown: bool,
}

fn read_folder(context: &ActionContext<'_>, found: &mut Found) -> Result<(), ActionError> {
    let selection = selection(context)?;
    let depth = match context.args.get("depth") {
        None | Some(Value::Null) => 0,
        Some(value) => scalars::whole(value).ok_or_else(|| ActionError::wrong("depth must be a number"))?,
    };
    let depth = if depth <= 0 { MAX_DEPTH } else { depth };
    let folder = root(context, &context.text("dir").unwrap_or_default());
    let files = context.host.files();
    match files.kind(&folder)? {
        None => return Err(ActionError::failed(format!("{folder} directory does not exist"))),
        Some(crate::files::FileKind::File) => {
            return Err(ActionError::failed(format!("{folder} is not a directory")));
        }
        Some(crate::files::FileKind::Folder) => {}
    }
    let mut open = vec![(folder, 1)];
    while let Some((folder, level)) = open.pop() {
        let mut names = files.list(&folder)?;
        names.sort();
        let (folders, names): (Vec<String>, Vec<String>) =
            names.into_iter().partition(|name| files.is_folder(&paths::join(&folder, name)));
        for name in names {
            if wanted(context, &selection, &folder, &name) {
                check_extension(&selection, &folder, &name)?;
                load(context, &paths::join(&folder, &name), found)?;
            }
        }
        if level < depth {
            open.extend(folders.iter().rev().map(|name| (paths::join(&folder, name), level + 1)));
        }
    }
    Ok(())
}

fn selection(context: &ActionContext<'_>) -> Result<Selection, ActionError> {
    let regex = |text: &str| {
        Pattern::new(text, Subject::Text, Flags::default())
            .map_err(|_| ActionError::wrong(format!("Invalid regular expression: {text}")))
    };
    let texts = |name: &str| -> Option<Vec<String>> {
        match context.args.get(name)? {
            Value::Null => None,
            Value::List(items) => Some(items.iter().map(modbox_python_json::str).collect()),
            other => Some(modbox_python_json::str(other).split_whitespace().map(str::to_owned).collect()),
        }
    };
    let ignored = texts("ignore_files").unwrap_or_default();
    Ok(Selection {
        matching: context.text("files_matching").map(|text| regex(&text)).transpose()?,
        ignored: ignored.iter().map(|text| regex(&format!("{text}$"))).collect::<Result<_, _>>()?,
        extensions: texts("extensions").unwrap_or_else(|| ["yaml", "yml", "json"].map(str::to_owned).to_vec()),
        // Ansible reads no words here: each text is true.
        skip_unknown: context.args.get("ignore_unknown_extensions").is_some_and(Value::is_truthy),
    })
}

/// Says whether a file of a folder is read.
fn wanted(context: &ActionContext<'_>, selection: &Selection, folder: &str, name: &str) -> bool {
    // A role reads its main file itself.
    let main = context.task.frame.role().is_some_and(|role| {
        name == "main.yml" && paths::normalize(folder) == paths::normalize(&paths::join(&role.path, "vars"))
    });
    let matches = |pattern: &Pattern| matches!(pattern.search(name.as_bytes()), Ok(Some(_)));
    !main
        && selection.matching.as_ref().is_none_or(matches)
        && !selection.ignored.iter().any(matches)
        && (!selection.skip_unknown || has_extension(selection, name))
}

fn has_extension(selection: &Selection, name: &str) -> bool {
    let extension = paths::extension(name);
    selection.extensions.iter().any(|known| extension.strip_prefix('.').unwrap_or(extension) == known)
}

fn check_extension(selection: &Selection, folder: &str, name: &str) -> Result<(), ActionError> {
    if has_extension(selection, name) {
        return Ok(());
    }
    let (path, extensions) = (paths::join(folder, name), selection.extensions.join(", "));
    Err(ActionError::failed(format!("{path} does not have a valid extension: {extensions}")))
}

/// Returns the folder that the task names: in the role's folder of variables, or beside the task's file.
fn root(context: &ActionContext<'_>, folder: &str) -> String {
    match context.task.frame.role() {
        Some(role) if folder.split('/').next() == Some("vars") => {
            let path = paths::join(&role.path, folder);
            if context.host.files().exists(&path) { path } else { folder.to_owned() }
        }
        Some(role) => paths::join(&paths::join(&role.path, "vars"), folder),
        None => paths::join(paths::parent(&context.task.position.file), folder),
    }
}
