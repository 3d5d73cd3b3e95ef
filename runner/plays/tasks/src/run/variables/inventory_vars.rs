//! Variables of hosts that belong to no play: those of the inventory, and of the files `group_vars` and `host_vars`.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};
use modbox_template::{Content, Layer, Origin, Scope};

use crate::error::LoadError;
use crate::load::context::Loader;
use crate::run::session::Session;
use crate::run::variables::variable_files;
use crate::vars::layer;

/// Returns the variables of a host, lowest first: of all hosts, of its groups, and its own; of each, those of the
/// inventory, then those of files beside the inventory, then those of files beside the play.
///
/// # Errors
///
/// A file cannot be read, is not YAML, or has no mapping.
pub fn layers(session: &Session<'_>, host: &str) -> Result<Vec<Arc<Layer>>, LoadError> {
    let inventory = &session.hosts.inventory;
    let mut groups: Vec<&str> = inventory.groups_of(host).into_iter().filter(|group| *group != "all").collect();
    let mut layers = Vec::new();
    let of_group = |name: &str| inventory.group(name).map(|group| layer::of_sources(sources(&group.vars)));
    layers.extend(of_group("all"));
    layers.extend(groups.iter().filter_map(|group| of_group(group)));
    layers.extend(of_files(session, "group_vars", &["all"])?);
    // Without an inventory, `ungrouped` is not a group that files can be for.
    groups.retain(|group| session.options.inventory.is_some() || *group != "ungrouped");
    layers.extend(of_files(session, "group_vars", &groups)?);
    if let Some(host) = inventory.host(host) {
        layers.push(layer::of_sources(sources(&host.vars)));
        let port = host.port.map(|port| ("ansible_port".to_owned(), Value::from(u32::from(port))));
        layers.push(Arc::new(layer::of_data(&port.into_iter().collect::<Dict>(), &Origin::Magic)));
    }
    if let Some(data) = session.hosts.data.get(host) {
        layers.push(Arc::new(layer::of_data(data, &Origin::Result("add_host".into()))));
    }
    layers.extend(of_files(session, "host_vars", &[host])?);
    layers.retain(|layer| layer.iter().next().is_some());
    Ok(layers)
}

fn sources(vars: &modbox_inventory::Vars) -> impl Iterator<Item = (Arc<str>, modbox_yaml::Source)> {
    vars.iter().map(|(name, value)| (Arc::clone(name), value.clone()))
}

/// Reads the files of variables for names, beside the inventory and beside the play.
fn of_files(session: &Session<'_>, kind: &str, names: &[&str]) -> Result<Vec<Arc<Layer>>, LoadError> {
    let loader = Loader::new(session.host.files(), session.engine, session.host, session.settings);
    let given = session.options.inventory.iter().flat_map(|given| &given.folders);
    let folder_of_play = &session.play.folder;
    let folders = given.filter(|folder| *folder != folder_of_play).chain(std::iter::once(folder_of_play));
    let mut layers = Vec::new();
    for folder in folders {
        for name in names {
            let key = format!("{folder}/{kind}/{name}");
            let known = session.variable_files.borrow().get(&key).cloned();
            let found = match known {
                Some(found) => found,
                None => {
                    let found = variable_files::of_name(&loader, folder, kind, name)?;
                    session.variable_files.borrow_mut().insert(key, found.clone());
                    found
                }
            };
            layers.extend(found);
        }
    }
    Ok(layers)
}

/// Returns the connection that variables give a host, if it can be evaluated.
#[must_use]
pub fn connection(session: &Session<'_>, layers: &[Arc<Layer>]) -> Option<String> {
    let extra = std::iter::once(&session.options.extra_vars);
    let scope: Scope = layers.iter().chain(extra).cloned().collect();
    let value = match scope.get("ansible_connection")?.content() {
        Content::Source(source) => layer::to_json(&session.engine.evaluate(source, &scope).ok()?.value),
        Content::Value(value) => layer::to_json(value),
        Content::Scope(_) | Content::Hosts(_) | Content::Everything => return None,
    };
    Some(modbox_python_json::str(&value))
}
