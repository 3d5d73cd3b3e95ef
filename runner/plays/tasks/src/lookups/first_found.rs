//! `first_found`: the path of the first file that exists.

use modbox_jinja::values::{self, View};
use modbox_template::{LookupError, Value};

use super::call::Call;
use super::options::{Options, failed};
use crate::paths;

/// How deep lists of terms may nest.
const MAX_DEPTH: usize = 32;

pub(super) fn run(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let mut search = Search { options: call.options.clone(), names: Vec::new() };
    let named;
    let terms = if call.terms.is_empty() {
        named = call.options.texts("files")?.unwrap_or_default().into_iter().map(Value::from).collect::<Vec<_>>();
        &named[..]
    } else {
        call.terms
    };
    search.add(terms, 0)?;
    let kind = folder_of_action(call);
    for name in &search.names {
        if let Some(path) = call.find(kind, name)? {
            return Ok(vec![Value::from(call.expand(&path)?)]);
        }
    }
    // As in Ansible, the options of the last dict count.
    if search.options.flag("skip", false)? {
        return Ok(Vec::new());
    }
    Err(failed("No file was found when using first_found."))
}

/// Returns the folder for files of the kind that the action of the task takes (ansible-core 2.21.5, `LookupModule` of
/// `first_found`).
fn folder_of_action(call: &Call<'_>) -> &'static str {
    let action = call.scope.action().unwrap_or_default();
    let kinds = [("template", "templates"), ("var", "vars")];
    kinds.into_iter().find(|(part, _)| action.contains(part)).map_or("files", |(_, folder)| folder)
}

/// The names to look for, and the options of the last term that is a dict.
struct Search {
    options: Options,
    names: Vec<String>,
}

impl Search {
    fn add(&mut self, terms: &[Value], depth: usize) -> Result<(), LookupError> {
        if depth > MAX_DEPTH {
            return Err(failed(format!("terms are nested more than {MAX_DEPTH} levels deep")));
        }
        for term in terms {
            let files = match values::view(term) {
                View::Dict => {
                    self.options = of_dict(term);
                    self.options.texts("files")?.unwrap_or_default()
                }
                // Undefined: only loops have such terms, and leave them out.
                View::Undefined => continue,
                View::Str(text) => vec![text.to_owned()],
                View::List | View::Tuple => {
                    let items = values::items(term).map_err(|error| failed(error.to_string()))?;
                    self.add(&items, depth + 1)?;
                    continue;
                }
                _ => {
                    return Err(failed(format!(
                        "Invalid term supplied. A string, dict or list is required, not '{}').",
                        values::type_name(term)
                    )));
                }
            };
            self.combine(&files)?;
        }
        Ok(())
    }

    /// Adds each file in each of the paths.
    fn combine(&mut self, files: &[String]) -> Result<(), LookupError> {
        let paths = self.options.texts("paths")?.unwrap_or_default();
        let files = split(files, &[',', ';']);
        let folders = split(&paths, &[',', ':', ';']);
        if folders.is_empty() {
            self.names.extend(files);
            return Ok(());
        }
        for folder in &folders {
            self.names.extend(files.iter().map(|file| paths::join(folder, file)));
        }
        Ok(())
    }
}

fn split(texts: &[String], at: &[char]) -> Vec<String> {
    texts.iter().flat_map(|text| text.split(at)).map(str::to_owned).collect()
}

/// Returns a value without what is undefined, which only terms of loops may have in them.
fn defined(value: Value) -> Option<Value> {
    match values::view(&value) {
        View::Undefined => None,
        View::List | View::Tuple => {
            let items = values::items(&value).unwrap_or_default();
            Some(Value::from(items.into_iter().filter(|item| !item.is_undefined()).collect::<Vec<_>>()))
        }
        _ => Some(value),
    }
}

fn of_dict(term: &Value) -> Options {
    let entries = values::entries(term).unwrap_or_default();
    let named = |(key, value): (Value, Value)| Some((key.as_str()?.into(), defined(value)?));
    Options::new(&entries.into_iter().filter_map(named).collect::<Vec<_>>())
}
