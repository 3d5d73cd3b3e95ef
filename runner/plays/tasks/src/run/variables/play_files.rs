//! Files of variables of a play that runs: `vars_files`, whose names can need facts.

use std::sync::Arc;

use modbox_python_json::Value;
use modbox_template::Layer;
use modbox_yaml::Source;

use crate::error::LoadError;
use crate::keywords::Keyword;
use crate::load::context::Loader;
use crate::load::{find, values};
use crate::paths;
use crate::report::message::Message;
use crate::run::errors;
use crate::run::session::Session;
use crate::run::variables::inventory_vars;
use crate::run::variables::variable_files;
use crate::vars::layer;

/// Reads the files of variables of the play again, if their names can have changed since.
///
/// # Errors
///
/// A name is not text, or a file cannot be read or is not YAML.
pub fn refresh(session: &mut Session<'_>) -> Result<(), Message> {
    let Some(source) = session.play.keyword(Keyword::VarsFiles).cloned() else { return Ok(()) };
    let entries = values::items(&source);
    // An entry can be a list of names.
    let dynamic = entries.iter().flat_map(values::items).any(|name| modbox_template::is_template(&name));
    let generation = session.vars.generation();
    let current = session.play.files_generation.is_some_and(|read| !dynamic || read == generation);
    if current {
        return Ok(());
    }
    let first = session.play.files_generation.is_none();
    session.play.files_generation = Some(generation);
    session.play.files.clear();
    for entry in &entries {
        if let Some(layer) = one(session, entry, first)? {
            session.play.files.push(layer);
        }
    }
    Ok(())
}

/// Reads an entry of `vars_files`: a file, or the first of a list that exists.
fn one(session: &mut Session<'_>, entry: &Source, first: bool) -> Result<Option<Arc<Layer>>, Message> {
    for candidate in values::items(entry) {
        let scope = session.scope(None);
        let name = match session.engine.evaluate(&candidate, &scope) {
            Ok(evaluated) => layer::to_json(&evaluated.value),
            Err(error) if error.is_undefined() => {
                if first {
                    session.warn("skipping vars_files item due to an undefined variable");
                }
                return Ok(None);
            }
            Err(error) => return Err(errors::of_template(session, &error)),
        };
        let Value::Str(name) = name else {
            let text = format!("Invalid `vars_files` value of type '{}'.", name.type_name());
            let help = "A `vars_files` value should either be a string or list of strings.";
            return Err(Message::new(text).at(session.excerpt(candidate.position())).with_help(help));
        };
        let search = vec![paths::parent(&session.play.frame.position.file).to_owned()];
        let candidates = find::stack(session.host.files(), &search, "vars", &name, &session.play.folder);
        let mut denied = None;
        for path in &candidates {
            match session.host.files().kind(path) {
                Ok(Some(_)) => return read(session, path).map(Some).map_err(|error| load_message(session, &error)),
                Ok(None) => {}
                Err(error) => denied = denied.or(Some(error)),
            }
        }
        // A file that does not exist is left out, as in Ansible; one that may not be looked at is an error.
        if let Some(error) = denied {
            return Err(Message::new(error.to_string()).at(session.excerpt(candidate.position())));
        }
    }
    if first {
        let names: Vec<String> = values::items(entry).iter().filter_map(values::scalar_text).collect();
        session.warn(format!("no file of `vars_files` exists: {}", names.join(", ")));
    }
    Ok(None)
}

fn read(session: &Session<'_>, path: &str) -> Result<Arc<Layer>, LoadError> {
    let loader = Loader::new(session.host.files(), session.engine, session.host, session.settings);
    variable_files::read(&loader, path)
}

/// Reads the variables of the host that belong to no play.
///
/// # Errors
///
/// A file cannot be read or is not YAML.
pub fn read_inventory(session: &mut Session<'_>) -> Result<(), Message> {
    let found = inventory_vars::layers(session, &session.host_name);
    let mut layers = found.map_err(|error| load_message(session, &error))?;
    layers.insert(0, Arc::clone(&session.reached));
    if session.is_for_elsewhere() {
        layers.insert(1, layer::of_texts([("ansible_connection", "ssh")]));
    }
    session.vars.inventory = layers;
    Ok(())
}

/// Returns the message of an error of reading.
#[must_use]
pub fn load_message(session: &Session<'_>, error: &LoadError) -> Message {
    Message::new(error.problem.to_string()).at(session.excerpt(&error.position))
}
