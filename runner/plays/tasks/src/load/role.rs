//! Reading roles: entries of `roles` and `dependencies`, and the variables and metadata of a role.
//!
//! The tasks of a role are read by `expand`, which knows what is around them.

use std::sync::Arc;

use modbox_template::Layer;
use modbox_yaml::{Map, Position, Source};

use crate::error::{LoadError, Problem};
use crate::files::FileError;
use crate::keywords::{self, Keyword, Place};
use crate::load::context::Loader;
use crate::load::role_files::{self, RoleFile};
use crate::load::{templates, values};
use crate::model::keywords::KeywordValues;
use crate::model::role::Role;
use crate::paths;
use crate::vars::{layer, stack};

/// How deep roles may depend on each other.
const MAX_DEPTH: usize = 64;

/// A use of a role.
#[derive(Debug, Clone)]
pub struct RoleRequest {
    /// The name, evaluated.
    pub name: String,
    /// Where the use is written.
    pub position: Position,
    /// Keywords of the use.
    pub keywords: KeywordValues,
    /// The keyword `vars` of the use.
    pub vars: Arc<Layer>,
    /// Keys that are not keywords.
    pub parameters: Vec<(Arc<str>, Source)>,
    /// Names of files to use instead of `main`.
    pub from: FromFiles,
    /// The folder that has the role which depends on this one.
    pub beside: Option<String>,
    /// Collections to look for the role in.
    pub collections: Vec<String>,
    /// What a task decides that imports or includes the role.
    pub task: Option<TaskRequest>,
}

/// Names of files of a role to use instead of `main`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FromFiles {
    /// The file in the folder `tasks`, by `tasks_from`; `None` for `main`.
    pub tasks: Option<String>,
    /// The file in the folder `vars`, by `vars_from`; `None` for `main`.
    pub vars: Option<String>,
    /// The file in the folder `defaults`, by `defaults_from`; `None` for `main`.
    pub defaults: Option<String>,
    /// The file in the folder `handlers`, by `handlers_from`; `None` for `main`.
    pub handlers: Option<String>,
}

/// What a task decides that imports or includes a role.
#[derive(Debug, Clone, Copy)]
pub struct TaskRequest {
    /// Whether the whole play sees the role's variables.
    pub public: bool,
    /// Whether the role may run twice.
    pub allow_duplicates: bool,
    /// Whether the role's arguments are checked.
    pub validate: bool,
}

/// A role with its dependencies, before its tasks are read.
#[derive(Debug)]
pub struct RoleNode {
    /// What tasks know of the role.
    pub role: Arc<Role>,
    /// Keywords of the use.
    pub keywords: KeywordValues,
    /// Names of files to use instead of `main`.
    pub from: FromFiles,
    /// Dependencies.
    pub dependencies: Vec<RoleNode>,
    /// Where the use is written.
    pub position: Position,
}

/// What the metadata of a role says.
#[derive(Debug, Default)]
struct Metadata {
    allow_duplicates: bool,
    dependencies: Vec<Source>,
    argument_specs: Option<Source>,
    collections: Option<Source>,
}

/// Reads an entry of `roles` or `dependencies`.
///
/// # Errors
///
/// The entry names no role, or its name needs variables that are not known yet.
pub fn request(loader: &Loader<'_>, entry: &Source, beside: Option<String>) -> Result<RoleRequest, LoadError> {
    let mut request = RoleRequest {
        name: String::new(),
        position: entry.position().clone(),
        keywords: KeywordValues::default(),
        vars: layer::empty(),
        parameters: Vec::new(),
        from: FromFiles::default(),
        beside,
        collections: Vec::new(),
        task: None,
    };
    let name = match entry.as_map() {
        None => {
            let name = values::scalar_text(entry).ok_or_else(|| values::wrong_type(entry, "role", "a role's name"))?;
            if name.contains(',') {
                let text = format!("Invalid old style role requirement: {name}; write a mapping with the key `role`");
                return Err(LoadError::new(entry.position(), Problem::Other(text)));
            }
            entry.clone()
        }
        Some(map) => {
            read_use(loader, map, &mut request);
            let name = map.get("role").or_else(|| map.get("name")).or_else(|| map.get("src"));
            let missing = || LoadError::new(entry.position(), Problem::Missing { keyword: "role".to_owned() });
            name.filter(|name| !name.is_null()).ok_or_else(missing)?.clone()
        }
    };
    request.name = loader.text(&name, &stack::before_play(&loader.vars.borrow()))?;
    Ok(request)
}

/// Reads the keywords and parameters of an entry.
fn read_use(loader: &Loader<'_>, map: &Map, request: &mut RoleRequest) {
    request.vars = values::vars(loader, map.get("vars"));
    templates::check_vars(loader, map.get("vars"));
    for (key, entry) in map.iter() {
        let name = values::key_text(key);
        match keywords::find(Place::Role, &name) {
            _ if name == "vars" => {}
            Some(row) => {
                loader.judge(Place::Role, row, &entry.key, &entry.value);
                templates::check_value(loader, row, &entry.value, false);
                request.keywords.set(row.keyword, entry.value.clone());
            }
            None => {
                templates::check_vars(loader, Some(&entry.value));
                request.parameters.push((name.into(), entry.value.clone()));
            }
        }
    }
}

/// Reads a role: finds its folder, and reads its variables, metadata and dependencies.
///
/// # Errors
///
/// The role does not exist, a file of it cannot be read, or roles depend on each other without end.
pub fn load(loader: &Loader<'_>, request: RoleRequest, depth: usize) -> Result<RoleNode, LoadError> {
    if depth > MAX_DEPTH {
        return Err(LoadError::new(&request.position, Problem::TooDeep { kind: "roles", limit: MAX_DEPTH }));
    }
    let (name, path, collection) = find(loader, &request)?;
    loader.role_found(&path);
    let metadata = metadata(loader, &path, &request.position)?;
    let beside = Some(paths::parent(&path).to_owned());
    let mut dependencies = Vec::new();
    for entry in &metadata.dependencies {
        let mut needed = self::request(loader, entry, beside.clone())?;
        needed.collections.extend(collection.clone());
        dependencies.push(load(loader, needed, depth + 1)?);
    }
    let vars = layer_of_files(loader, &path, "vars", request.from.vars.as_deref(), &request.position)?;
    let defaults = layer_of_files(loader, &path, "defaults", request.from.defaults.as_deref(), &request.position)?;
    let validate = request.task.is_none_or(|task| task.validate);
    let entry_point = request.from.tasks.clone().unwrap_or_else(|| "main".to_owned());
    let specs =
        if validate { argument_specs(loader, &path, metadata.argument_specs, &request.position)? } else { None };
    let argument_spec = specs.and_then(|specs| specs.as_map()?.get(&entry_point).cloned());
    let mut keywords = request.keywords.clone();
    let collections = metadata.collections.unwrap_or_else(|| Source::list_of(Vec::new(), request.position.clone()));
    keywords.set(Keyword::Collections, collections);
    let role = Role {
        identity: identity(&request, &name, &path),
        name,
        collection,
        path,
        allow_duplicates: request.task.map_or(metadata.allow_duplicates, |task| task.allow_duplicates),
        public: request.task.map_or(!loader.settings.private_roles, |task| task.public),
        from_task: request.task.is_some(),
        defaults,
        vars,
        given: Arc::clone(&request.vars),
        parameters: layer::of_sources(request.parameters.iter().cloned()),
        parameter_sources: request.parameters.clone(),
        dependencies: dependencies.iter().map(|node: &RoleNode| Arc::clone(&node.role)).collect(),
        argument_spec,
        entry_point,
    };
    Ok(RoleNode { role: Arc::new(role), keywords, from: request.from, dependencies, position: request.position })
}

/// Finds the folder of a role. Returns its name, the folder and its collection.
fn find(loader: &Loader<'_>, request: &RoleRequest) -> Result<(String, String, Option<String>), LoadError> {
    let base = loader.folder.borrow().clone();
    let mut searched = Vec::new();
    for (collection, name) in in_collections(request) {
        let folder = format!("ansible_collections/{}/roles/{}", collection.replace('.', "/"), name.replace('.', "/"));
        let adjacent = paths::join(&base, "collections");
        for root in std::iter::once(&adjacent).chain(&loader.settings.collections_path) {
            let path = paths::join(root, &folder);
            if loader.files.is_folder(&path) {
                return Ok((name, path, Some(collection)));
            }
            searched.push(path);
        }
    }
    let mut folders = vec![paths::join(&base, "roles")];
    folders.extend(loader.settings.roles_path.iter().cloned());
    folders.extend(request.beside.clone());
    folders.push(base);
    let mut denied = None;
    for folder in folders {
        let path = paths::normalize(&paths::join(&folder, &request.name));
        if let Err(error @ FileError::Denied { .. }) = loader.files.kind(&path) {
            denied = denied.or(Some(error));
        }
        if loader.files.is_folder(&path) {
            // As in Ansible, a role that is named by a path has the path as its name.
            return Ok((request.name.clone(), path, None));
        }
        searched.push(path);
    }
    let name = request.name.clone();
    // A path in the name that leads out of the play's folders says more than a list of folders.
    let problem = match denied.filter(|_| request.name.contains('/')) {
        Some(error) => Problem::File(error),
        None => Problem::NotFound { kind: "the role", name, searched },
    };
    Err(LoadError::new(&request.position, problem))
}

/// Returns the collections that a role's name can mean, each with the name in it.
fn in_collections(request: &RoleRequest) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let parts: Vec<&str> = request.name.splitn(3, '.').collect();
    if let [namespace, collection, role] = parts.as_slice() {
        if [namespace, collection, role].iter().all(|part| part.split('.').all(values::is_variable_name)) {
            found.push((format!("{namespace}.{collection}"), (*role).to_owned()));
        }
    } else if values::is_variable_name(&request.name) {
        found.extend(request.collections.iter().map(|collection| (collection.clone(), request.name.clone())));
    }
    found
}

/// Reads `meta/main.yml`.
fn metadata(loader: &Loader<'_>, role: &str, position: &Position) -> Result<Metadata, LoadError> {
    let wanted = RoleFile { role, kind: "meta", name: None, position };
    let Some(source) = role_files::read(loader, &wanted)? else { return Ok(Metadata::default()) };
    let map = values::map(&source, "meta/main.yml")?;
    let mut metadata = Metadata::default();
    for (key, entry) in map.iter() {
        match values::key_text(key).as_str() {
            "allow_duplicates" => {
                metadata.allow_duplicates = values::boolean(&entry.value)
                    .ok_or_else(|| values::wrong_type(&entry.value, "allow_duplicates", "a boolean"))?;
            }
            "dependencies" => {
                if entry.value.as_list().is_none() && !entry.value.is_null() {
                    return Err(values::wrong_type(&entry.value, "dependencies", "a list"));
                }
                metadata.dependencies = values::items(&entry.value);
            }
            "argument_specs" => metadata.argument_specs = Some(entry.value.clone()),
            "collections" => metadata.collections = Some(entry.value.clone()),
            "galaxy_info" => {}
            name if keywords::find(Place::Role, name).is_some() => {}
            name => {
                let nearest = keywords::nearest(Place::Role, name);
                let problem = Problem::UnknownKeyword { key: name.to_owned(), place: Place::Role, nearest };
                loader.report(LoadError::new(entry.key.position(), problem));
            }
        }
    }
    Ok(metadata)
}

/// Reads the specifications of a role's arguments: those of their own file, else those of the metadata.
fn argument_specs(
    loader: &Loader<'_>,
    role: &str,
    of_metadata: Option<Source>,
    position: &Position,
) -> Result<Option<Source>, LoadError> {
    let own = ["argument_specs.yml", "argument_specs.yaml"].iter();
    if !own.map(|name| format!("{role}/meta/{name}")).any(|path| loader.files.exists(&path)) {
        return Ok(of_metadata);
    }
    let wanted = RoleFile { role, kind: "meta", name: Some("argument_specs"), position };
    let source = role_files::read(loader, &wanted)?;
    Ok(source.and_then(|source| source.as_map()?.get("argument_specs").cloned()))
}

fn layer_of_files(
    loader: &Loader<'_>,
    role: &str,
    kind: &str,
    name: Option<&str>,
    position: &Position,
) -> Result<Arc<Layer>, LoadError> {
    let sources = role_files::read_vars(loader, &RoleFile { role, kind, name, position })?;
    sources.iter().for_each(|source| templates::check_vars(loader, Some(source)));
    Ok(layer::of_maps(sources.iter().filter_map(Source::as_map), loader.settings.merges_mappings))
}

/// Returns a text that is the same for uses of a role that Ansible takes for the same (ansible-core 2.21, `Role.__eq__`): by name,
/// path, files, parameters and variables in any order, conditions and tags.
fn identity(request: &RoleRequest, name: &str, path: &str) -> String {
    let mut parts = vec![name.to_owned(), path.to_owned(), format!("{:?}", request.from)];
    let keyword = |keyword| request.keywords.get(keyword);
    parts.push(keyword(Keyword::When).map_or_else(String::new, |when| list_text(values::items(when))));
    parts.push(keyword(Keyword::Tags).map_or_else(String::new, |tags| list_text(tags.split_list(','))));
    let mut parameters: Vec<String> =
        request.parameters.iter().map(|(name, source)| format!("{name}={}", data_text(source))).collect();
    parameters.sort();
    parts.extend(parameters);
    parts.push(layer::describe(&request.vars));
    parts.push(request.task.is_some().to_string());
    parts.join("\u{1f}")
}

/// Returns the text of the data of items.
fn list_text(items: Vec<Source>) -> String {
    items.iter().map(data_text).collect::<Vec<_>>().join("\u{1e}")
}

/// Returns the text of a source's data.
fn data_text(source: &Source) -> String {
    source.to_data().map_or_else(|_| source.position().to_string(), layer::unordered_text)
}
