//! Walks the tasks of a play before it runs: checks the files that they name, and follows includes whose names are written, which
//! reads the tasks that they would read.
//!
//! The play keeps none of it. When the include runs, its file is read again, with the variables that there are then.

use std::sync::Arc;

use modbox_template::is_template;
use modbox_yaml::Source;

use crate::error::{LoadError, Problem};
use crate::files::FileError;
use crate::load::context::Loader;
use crate::load::expand::{self, Additions};
use crate::load::include::IncludeSearch;
use crate::load::preflight::{looked_up, named_files};
use crate::load::role::{self, FromFiles, RoleRequest, TaskRequest};
use crate::load::{document, list, templates};
use crate::model::block::Item;
use crate::model::frame::{Frame, FrameKind};
use crate::model::keywords::KeywordValues;
use crate::model::task::{Task, is_builtin};
use crate::paths;

/// How deep includes are followed.
const MAX_DEPTH: usize = 40;

/// Checks a list of tasks, and follows its includes.
pub fn items(loader: &Loader<'_>, items: &[Item]) {
    follow_items(loader, items, 0);
}

/// Checks handlers, and follows their includes.
pub fn handlers(loader: &Loader<'_>, handlers: &[Vec<Arc<Task>>]) {
    handlers.iter().flatten().for_each(|handler| follow(loader, handler, 0));
}

fn follow_items(loader: &Loader<'_>, items: &[Item], depth: usize) {
    for item in items {
        match item {
            Item::Task(task) => follow(loader, task, depth),
            Item::Block(block) => {
                let inner = || follow_items(loader, &block.tasks, depth);
                if block.rescue.is_empty() {
                    inner()
                } else {
                    loader.templates.within_rescue(inner)
                }
                loader.templates.within_rescue(|| follow_items(loader, &block.rescue, depth));
                follow_items(loader, &block.always, depth);
            }
        }
    }
}

fn follow(loader: &Loader<'_>, task: &Task, depth: usize) {
    let is_certain = templates::is_reached(loader, task) && !task.has_loop();
    loader.templates.makers.add(task, loader.settings.writes_freely);
    named_files::check(loader, task, is_certain);
    looked_up::check(loader, task, is_certain);
    if depth >= MAX_DEPTH || !task.is_include() || task.args.whole.is_some() {
        return;
    }
    let is_role = is_builtin(task.action_text(), "include_role");
    let name = if is_role { argument(task, "name").or_else(|| argument(task, "role")) } else { task.args.raw.as_ref() };
    let Some(name) = name.and_then(written).map(str::to_owned) else { return };
    let read = || -> Result<(), LoadError> {
        let read =
            if is_role { role(loader, task, name, is_certain)? } else { tasks(loader, task, &name, is_certain)? };
        follow_items(loader, &read, depth + 1);
        Ok(())
    };
    loader.tentatively(is_certain, read);
}

fn argument<'a>(task: &'a Task, name: &str) -> Option<&'a Source> {
    task.args.named.get(name).map(|argument| &argument.value)
}

/// Returns a text without templates.
fn written(source: &Source) -> Option<&str> {
    source.as_text().filter(|text| !is_template(source) && !text.trim().is_empty()).map(|text| &**text)
}

fn tasks(loader: &Loader<'_>, task: &Task, name: &str, is_certain: bool) -> Result<Vec<Item>, LoadError> {
    let base = loader.folder.borrow().clone();
    let handler = task.is_handler();
    let search = IncludeSearch { files: loader.files, frame: &task.frame, base: &base, handler, dynamic: true };
    let path = search.find(name);
    if !loader.templates.is_first(&format!("{is_certain} {handler} {path}")) {
        return Ok(Vec::new());
    }
    let source = document::read(loader, &path).map_err(|error| match error.problem {
        Problem::File(FileError::NotFound { .. }) => {
            let problem = Problem::NotFound { kind: "the file", name: name.to_owned(), searched: vec![path.clone()] };
            LoadError::new(&task.position, problem)
        }
        problem @ Problem::File(_) => LoadError::new(&task.position, problem),
        problem => LoadError { position: error.position, problem },
    })?;
    let Some(source) = source else { return Ok(Vec::new()) };
    let frame = frame(loader, task, FrameKind::Include(paths::parent(name).into()));
    let drafts = list::read(loader, &source, &frame, handler);
    let mut added = Additions::default();
    if handler {
        return Ok(expand::handlers(loader, drafts, 0, &mut added).into_iter().flatten().map(Item::Task).collect());
    }
    Ok(expand::items(loader, drafts, 0, &mut added))
}

fn role(loader: &Loader<'_>, task: &Task, name: String, is_certain: bool) -> Result<Vec<Item>, LoadError> {
    let options = ["tasks_from", "vars_from", "defaults_from", "handlers_from"].map(|option| argument(task, option));
    if options.iter().flatten().any(|option| written(option).is_none()) {
        return Ok(Vec::new());
    }
    let [tasks, vars, defaults, handlers] = options.map(|option| option.and_then(written).map(str::to_owned));
    let beside = task.frame.role().map(|role| paths::parent(&role.path).to_owned());
    let key = format!("{is_certain} {beside:?} {name} {tasks:?} {vars:?} {defaults:?} {handlers:?}");
    if !loader.templates.is_first(&key) {
        return Ok(Vec::new());
    }
    let request = RoleRequest {
        name,
        position: task.position.clone(),
        keywords: KeywordValues::default(),
        vars: Arc::clone(&task.vars),
        parameters: Vec::new(),
        from: FromFiles { tasks, vars, defaults, handlers },
        beside,
        collections: expand::collections_of(&task.frame),
        task: Some(TaskRequest { public: false, allow_duplicates: true, validate: true }),
    };
    let node = role::load(loader, request, 0)?;
    let frame = frame(loader, task, FrameKind::Include(node.role.path.as_str().into()));
    let mut added = Additions::default();
    expand::use_role(loader, &node, &frame, 0, &mut added)
}

/// Returns the frame of an include, with that of `apply` in it.
fn frame(loader: &Loader<'_>, task: &Task, kind: FrameKind) -> Arc<Frame> {
    let include = Arc::new(expand::import_frame(kind, task));
    match argument(task, "apply").and_then(|apply| Some((apply, apply.as_map()?))) {
        Some((apply, map)) => Arc::new(list::frame_of(loader, map, &include, apply, &[])),
        None => include,
    }
}
