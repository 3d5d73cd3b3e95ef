//! Replacing imports by what they import, until only tasks and blocks are left.
//!
//! A dynamic include is expanded in the same way, when it runs.

use std::sync::Arc;

use modbox_yaml::Source;

use crate::error::{LoadError, Problem};
use crate::keywords::Keyword;
use crate::load::context::Loader;
use crate::load::draft::{Draft, DraftBlock};
use crate::load::include::IncludeSearch;
use crate::load::role::{self, FromFiles, RoleNode, RoleRequest, TaskRequest};
use crate::load::role_files::{self, RoleFile};
use crate::load::{document, list, task, values};
use crate::model::block::{Block, Item};
use crate::model::frame::{Frame, FrameKind};
use crate::model::keywords::KeywordValues;
use crate::model::role::Role;
use crate::model::task::{ImplicitTask, Task};
use crate::paths;
use crate::vars::{layer, stack};

/// How deep imports may nest.
const MAX_DEPTH: usize = 64;

/// What imports add to the play besides tasks.
#[derive(Debug, Default)]
pub struct Additions {
    /// Handlers of roles, a list for each.
    pub handlers: Vec<Vec<Arc<Task>>>,
    /// Roles, in the order in which their tasks come.
    pub roles: Vec<Arc<Role>>,
}

/// Replaces the imports of drafts. Errors are reported to the loader.
#[must_use]
pub fn items(loader: &Loader<'_>, drafts: Vec<Draft>, depth: usize, added: &mut Additions) -> Vec<Item> {
    let mut items = Vec::with_capacity(drafts.len());
    for draft in drafts {
        match draft {
            Draft::Task(task) => items.push(Item::Task(Arc::new(task))),
            Draft::Block(block) => items.push(Item::Block(Arc::new(expand_block(loader, block, depth, added)))),
            Draft::ImportTasks(task) => {
                let imported = import_tasks(loader, &task, false, depth, added);
                items.extend(loader.check(imported).unwrap_or_default());
            }
            Draft::ImportRole(task) => {
                let imported = import_role(loader, &task, depth, added);
                items.extend(loader.check(imported).unwrap_or_default());
            }
        }
    }
    items
}

/// Expands handlers. Returns a list for each block, and one for each row of handlers outside of blocks: a notification looks
/// at the last list first.
pub fn handlers(loader: &Loader<'_>, drafts: Vec<Draft>, depth: usize, added: &mut Additions) -> Vec<Vec<Arc<Task>>> {
    let mut lists = Vec::new();
    let mut row = Vec::new();
    for draft in drafts {
        match draft {
            Draft::Block(block) => {
                lists.push(std::mem::take(&mut row));
                lists.push(handlers_of_list(loader, block.tasks, depth, added));
            }
            other => row.extend(handlers_of_list(loader, vec![other], depth, added)),
        }
    }
    lists.push(row);
    lists.retain(|list| !list.is_empty());
    lists
}

/// Expands handlers to one list. Those of blocks in it are among them.
fn handlers_of_list(loader: &Loader<'_>, drafts: Vec<Draft>, depth: usize, added: &mut Additions) -> Vec<Arc<Task>> {
    let mut found = Vec::new();
    for draft in drafts {
        match draft {
            Draft::Task(task) => found.push(Arc::new(task)),
            Draft::ImportTasks(task) => {
                let imported = import_tasks(loader, &task, true, depth, added);
                let imported = loader.check(imported).unwrap_or_default();
                found.extend(imported.into_iter().filter_map(|item| match item {
                    Item::Task(task) => Some(task),
                    Item::Block(_) => None,
                }));
            }
            Draft::Block(block) => found.extend(handlers_of_list(loader, block.tasks, depth, added)),
            // The reader refuses it before.
            Draft::ImportRole(_) => {}
        }
    }
    found
}

fn expand_block(loader: &Loader<'_>, block: DraftBlock, depth: usize, added: &mut Additions) -> Block {
    let takes_errors = !block.rescue.is_empty();
    let mut expand = |drafts| items(loader, drafts, depth, added);
    let findings = &loader.templates;
    Block {
        tasks: if takes_errors { findings.within_rescue(|| expand(block.tasks)) } else { expand(block.tasks) },
        rescue: findings.within_rescue(|| expand(block.rescue)),
        always: items(loader, block.always, depth, added),
        frame: block.frame,
    }
}

fn import_tasks(
    loader: &Loader<'_>,
    task: &Task,
    handler: bool,
    depth: usize,
    added: &mut Additions,
) -> Result<Vec<Item>, LoadError> {
    check_depth(task, depth)?;
    let Some(raw) = &task.args.raw else {
        return Err(LoadError::new(&task.position, Problem::NoFile { action: task.action_text().to_owned() }));
    };
    let name = loader.text(raw, &stack::before_task(&loader.vars.borrow(), task))?;
    let base = loader.folder.borrow().clone();
    let search = IncludeSearch { files: loader.files, frame: &task.frame, base: &base, handler, dynamic: false };
    let path = search.find(&name);
    let kind = FrameKind::Import(paths::parent(&name).into());
    let Some(source) = at(&task.position, document::read(loader, &path))? else {
        loader.warn(format!("file {path} is empty and had no tasks to include"));
        return Ok(Vec::new());
    };
    let frame = Arc::new(import_frame(kind, task));
    let drafts = list::read(loader, &source, &frame, handler);
    if handler {
        return Ok(handlers(loader, drafts, depth + 1, added).into_iter().flatten().map(Item::Task).collect());
    }
    Ok(items(loader, drafts, depth + 1, added))
}

/// Names the import as the place of an error that belongs to a file as a whole.
fn at<T>(position: &modbox_yaml::Position, result: Result<T, LoadError>) -> Result<T, LoadError> {
    result.map_err(|error| match error.problem {
        Problem::File(_) => LoadError::new(position, error.problem),
        _ => error,
    })
}

/// Returns the frame of an import or include: its keywords and variables for what it imports.
#[must_use]
pub fn import_frame(kind: FrameKind, task: &Task) -> Frame {
    Frame {
        kind,
        keywords: task.keywords.clone(),
        vars: Arc::clone(&task.vars),
        outer: Some(Arc::clone(&task.frame)),
        position: task.position.clone(),
    }
}

fn import_role(loader: &Loader<'_>, task: &Task, depth: usize, added: &mut Additions) -> Result<Vec<Item>, LoadError> {
    check_depth(task, depth)?;
    let scope = stack::before_task(&loader.vars.borrow(), task);
    let argument = |name: &str| task.args.named.get(name).map(|argument| &argument.value);
    let name = argument("name").or_else(|| argument("role"));
    let Some(name) = name else {
        return Err(LoadError::new(&task.position, Problem::Missing { keyword: "import_role: name".to_owned() }));
    };
    let text = |name: &str| argument(name).map(|source| loader.text(source, &scope)).transpose();
    let flag = |name: &str, default: bool| match argument(name) {
        None => Ok(default),
        Some(source) if modbox_template::is_template(source) => {
            let text = loader.text(source, &scope)?;
            values::boolean_of(&text).ok_or_else(|| values::wrong_type(source, name, "a boolean"))
        }
        Some(source) => values::boolean(source).ok_or_else(|| values::wrong_type(source, name, "a boolean")),
    };
    let request = RoleRequest {
        name: loader.text(name, &scope)?,
        position: task.position.clone(),
        keywords: KeywordValues::default(),
        vars: Arc::clone(&task.vars),
        parameters: Vec::new(),
        from: FromFiles {
            tasks: text("tasks_from")?,
            vars: text("vars_from")?,
            defaults: text("defaults_from")?,
            handlers: text("handlers_from")?,
        },
        beside: task.frame.role().map(|role| paths::parent(&role.path).to_owned()),
        collections: collections_of(&task.frame),
        task: Some(TaskRequest {
            public: flag("public", !loader.settings.private_roles)?,
            allow_duplicates: flag("allow_duplicates", true)?,
            validate: flag("rolespec_validate", true)?,
        }),
    };
    let node = role::load(loader, request, 0)?;
    let kind = FrameKind::Import(node.role.path.as_str().into());
    let frame = Arc::new(import_frame(kind, task));
    use_role(loader, &node, &frame, depth + 1, added)
}

/// Returns the collections in which a role without a collection is looked up.
#[must_use]
pub fn collections_of(frame: &Frame) -> Vec<String> {
    let named = frame.inherited(Keyword::Collections).map(values::items).unwrap_or_default();
    let own = frame.role().and_then(|role| role.collection.clone());
    own.into_iter().chain(named.iter().filter_map(values::scalar_text)).collect()
}

/// Reads the tasks and handlers of a role and of its dependencies, as they are used inside of a frame.
///
/// # Errors
///
/// A file of the role cannot be read. Other errors are reported to the loader.
pub fn use_role(
    loader: &Loader<'_>,
    node: &RoleNode,
    outer: &Arc<Frame>,
    depth: usize,
    added: &mut Additions,
) -> Result<Vec<Item>, LoadError> {
    added.roles.push(Arc::clone(&node.role));
    loader.vars.borrow_mut().roles.push(Arc::clone(&node.role));
    role_items(loader, node, outer, depth, added)
}

fn role_items(
    loader: &Loader<'_>,
    node: &RoleNode,
    outer: &Arc<Frame>,
    depth: usize,
    added: &mut Additions,
) -> Result<Vec<Item>, LoadError> {
    let frame = Arc::new(Frame {
        kind: FrameKind::Role(Arc::clone(&node.role)),
        keywords: node.keywords.clone(),
        vars: layer::empty(),
        outer: Some(Arc::clone(outer)),
        position: node.position.clone(),
    });
    let mut found = Vec::new();
    for dependency in &node.dependencies {
        found.extend(role_items(loader, dependency, &frame, depth, added)?);
    }
    let file = |kind, name: &Option<String>| -> Result<Option<Source>, LoadError> {
        let name = name.as_deref();
        role_files::read(loader, &RoleFile { role: &node.role.path, kind, name, position: &node.position })
    };
    if let Some(source) = file("handlers", &node.from.handlers)? {
        let drafts = list::read(loader, &source, &frame, true);
        let own = handlers(loader, drafts, depth, added);
        added.handlers.extend(own);
    }
    if node.role.argument_spec.as_ref().is_some_and(|spec| !spec.is_null()) {
        found.push(Item::Task(Arc::new(task::implicit(ImplicitTask::ValidateArguments, &frame))));
    }
    if let Some(source) = file("tasks", &node.from.tasks)? {
        let drafts = list::read(loader, &source, &frame, false);
        found.extend(items(loader, drafts, depth, added));
    }
    found.push(Item::Task(Arc::new(task::implicit(ImplicitTask::RoleComplete, &frame))));
    Ok(found)
}

fn check_depth(task: &Task, depth: usize) -> Result<(), LoadError> {
    if depth < MAX_DEPTH {
        return Ok(());
    }
    Err(LoadError::new(&task.position, Problem::TooDeep { kind: "imports", limit: MAX_DEPTH }))
}
