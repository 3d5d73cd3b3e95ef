//! Finding the action of a task: the one key that is not a keyword, or `action` and `local_action`.

use modbox_yaml::{Map, Source};

use crate::error::{LoadError, Problem};
use crate::keywords::{self, Place};
use crate::load::arguments;
use crate::load::context::Loader;
use crate::load::values;
use crate::model::task::{Args, name_text};

/// The action of a task and its arguments.
#[derive(Debug)]
pub struct ActionCall {
    /// The name, which can be a template if `action` gave it.
    pub action: Source,
    /// The key that named the action.
    pub key: String,
    /// The arguments.
    pub args: Args,
    /// Whether `local_action` gave it.
    pub local: bool,
}

/// Finds the action of a task.
///
/// # Errors
///
/// The task has no action, has several, or the arguments have a form that actions do not take.
pub fn find(loader: &Loader<'_>, task: &Source, map: &Map, collections: &[String]) -> Result<ActionCall, LoadError> {
    let additional = map.get("args");
    let mut found = None;
    for (word, local) in [("action", false), ("local_action", true)] {
        let Some(value) = map.get(word) else { continue };
        if found.is_some() {
            let (keyword, other) = ("action".to_owned(), "local_action".to_owned());
            let problem = Problem::Conflict { keyword, other, remedy: "write one of them" };
            return Err(LoadError::new(value.position(), problem));
        }
        let (action, args) = arguments::old_style(value, additional)?;
        found = Some(ActionCall { action, key: word.to_owned(), args, local });
    }
    let candidates = candidates(map);
    let known: Vec<&(String, Source, Source)> =
        candidates.iter().filter(|(name, ..)| loader.names.is_known(name, collections)).collect();
    // With one candidate there is no doubt which key names the action. With several, those count that can be run.
    let chosen = match (known.as_slice(), candidates.as_slice()) {
        ([], [only]) => vec![only],
        ([], several) => several.iter().collect(),
        (known, _) => known.to_vec(),
    };
    let mut chosen = chosen.into_iter();
    if found.is_none() {
        let Some((name, key, value)) = chosen.next() else {
            return Err(LoadError::new(task.position(), Problem::NoAction));
        };
        let args = arguments::new_style(name, value, additional)?;
        found = Some(ActionCall { action: key.clone(), key: name.clone(), args, local: false });
    }
    let Some(call) = found else { return Err(LoadError::new(task.position(), Problem::NoAction)) };
    if let Some((name, key, _)) = chosen.next().or_else(|| candidates.iter().find(|(name, ..)| *name != call.key)) {
        let action = name_text(&call.action).unwrap_or_default().to_owned();
        let nearest = keywords::nearest(Place::Task, name);
        return Err(LoadError::new(key.position(), Problem::TwoActions { action, key: name.clone(), nearest }));
    }
    Ok(call)
}

/// Returns the keys that can name an action, with the nodes of key and value.
fn candidates(map: &Map) -> Vec<(String, Source, Source)> {
    let mut candidates = Vec::new();
    for (key, entry) in map.iter() {
        let name = values::key_text(key);
        let keyword = keywords::find(Place::Handler, &name).is_some() || name == "static";
        if !keyword && !name.starts_with("with_") {
            candidates.push((name, entry.key.clone(), entry.value.clone()));
        }
    }
    candidates
}
