//! Dynamic includes: `include_tasks` and `include_role`, once their arguments are known.

use std::sync::Arc;

use modbox_jinja::values as convert;
use modbox_python_json::{Dict, Value};
use modbox_template::{Layer, Origin, Slot};

use crate::error::{LoadError, LoadErrors, Problem};
use crate::files::FileError;
use crate::load::context::Loader;
use crate::load::expand::{self, Additions};
use crate::load::include::IncludeSearch;
use crate::load::role::{self, FromFiles, RoleRequest, TaskRequest};
use crate::load::{document, list};
use crate::model::block::Item;
use crate::model::frame::{Frame, FrameKind};
use crate::model::keywords::KeywordValues;
use crate::model::task::{Task, is_builtin};
use crate::paths;
use crate::report::events::{Event, TaskInfo};
use crate::report::message::{Excerpt, Message};
use crate::report::outcome::{INCLUDED_ARGS, INCLUDED_FILE, Outcome};
use crate::run::session::Session;
use crate::run::variables::refresh;
use crate::scalars;
use crate::vars::stack::StaticVars;

/// What an include read.
#[derive(Debug)]
pub struct Included {
    /// The tasks.
    pub items: Vec<Item>,
    /// What is shown: the path of the file, or the name of the role.
    pub name: String,
}

/// Why an include failed.
#[derive(Debug)]
pub enum IncludeError {
    /// The file or role does not exist, or the file is not a list: the include fails, which a block can rescue.
    Missing(Box<Message>),
    /// The file or role has errors: the whole run ends, as if the play had them.
    Wrong(LoadErrors),
}

/// How deep includes may nest.
const MAX_DEPTH: usize = 200;

/// Reads what a task with a result includes.
///
/// # Errors
///
/// The file or role cannot be read.
pub fn read(session: &mut Session<'_>, task: &Task, outcome: &Outcome) -> Result<Included, IncludeError> {
    let depth = task.frame.chain().filter(|frame| matches!(frame.kind, FrameKind::Include(_))).count();
    if depth > MAX_DEPTH {
        let text = format!("includes nest more than {MAX_DEPTH} levels deep; look for one that includes itself");
        return Err(failure(text));
    }
    let args = outcome.data.get(INCLUDED_ARGS).and_then(Value::as_dict).cloned().unwrap_or_default();
    let vars = Arc::new(vars(task, outcome));
    if is_builtin(task.action_text(), "include_role") {
        role(session, task, &args, vars)
    } else {
        tasks(session, task, outcome, vars)
    }
}

/// Returns the variables of an include: those of the task, and those of the loop.
fn vars(task: &Task, outcome: &Outcome) -> Layer {
    let mut layer = Layer::clone(&task.vars);
    let mut put = |name: &str, value: &Value| {
        let value = convert::from_json(value);
        layer.insert(
            name,
            match outcome.provenance_of(name) {
                Some(provenance) => Slot::made(value, Arc::clone(provenance)),
                None => Slot::value(value, Origin::LoopItem),
            },
        );
    };
    for marker in ["ansible_loop_var", "ansible_index_var"] {
        let Some(name) = outcome.data.get(marker).and_then(Value::as_str) else { continue };
        if let Some(value) = outcome.data.get(name) {
            put(name, value);
            put(marker, &Value::from(name));
        }
    }
    if let Some(value) = outcome.data.get("ansible_loop") {
        put("ansible_loop", value);
    }
    layer
}

/// Returns the frame of an include, with that of `apply` in it.
fn frame(loader: &Loader<'_>, task: &Task, kind: FrameKind, vars: Arc<Layer>) -> Arc<Frame> {
    let include = Arc::new(Frame { vars, ..expand::import_frame(kind, task) });
    let Some(apply) = task.args.named.get("apply") else { return include };
    let Some(map) = apply.value.as_map() else { return include };
    Arc::new(list::frame_of(loader, map, &include, &apply.value, &[]))
}

fn loader<'s>(session: &'s Session<'_>) -> Loader<'s> {
    let loader = Loader::new(session.host.files(), session.engine, session.host, session.settings);
    *loader.folder.borrow_mut() = session.play.folder.clone();
    let mut play = session.play.vars.clone();
    play.extend(session.play.files.iter().cloned());
    *loader.vars.borrow_mut() = StaticVars {
        play,
        roles: session.play.roles.clone(),
        extra: Arc::clone(&session.options.extra_vars),
        magic: crate::vars::layer::of_texts([("playbook_dir", session.play.folder.as_str())]),
        merges: session.settings.merges_mappings,
    };
    loader
}

fn tasks(
    session: &mut Session<'_>,
    task: &Task,
    outcome: &Outcome,
    vars: Arc<Layer>,
) -> Result<Included, IncludeError> {
    let name = outcome.data.get(INCLUDED_FILE).map(modbox_python_json::str).unwrap_or_default();
    let loader = loader(session);
    let search = IncludeSearch {
        files: loader.files,
        frame: &task.frame,
        base: &session.play.folder,
        handler: task.is_handler(),
        dynamic: true,
    };
    let path = search.find(&name);
    let kind = FrameKind::Include(paths::parent(&name).into());
    let source = match document::read(&loader, &path) {
        Ok(Some(source)) => source,
        Ok(None) => return Ok(Included { items: Vec::new(), name: path }),
        Err(error) => {
            return Err(match error.problem {
                Problem::File(FileError::NotFound { .. }) => IncludeError::Missing(Box::new(missing(&path))),
                Problem::File(error) => failure(error.to_string()),
                _ => IncludeError::Wrong(error.into()),
            });
        }
    };
    if source.as_list().is_none() {
        return Err(failure("included task files must contain a list of tasks"));
    }
    let frame = frame(&loader, task, kind, vars);
    let drafts = list::read(&loader, &source, &frame, task.is_handler());
    let mut added = Additions::default();
    let items = if task.is_handler() {
        expand::handlers(&loader, drafts, 0, &mut added).into_iter().flatten().map(Item::Task).collect()
    } else {
        expand::items(&loader, drafts, 0, &mut added)
    };
    finish(&loader)?;
    add(session, added);
    Ok(Included { items, name: path })
}

fn role(session: &mut Session<'_>, task: &Task, args: &Dict, vars: Arc<Layer>) -> Result<Included, IncludeError> {
    let text = |name: &str| args.get(name).filter(|value| **value != Value::Null).map(modbox_python_json::str);
    let flag = |name: &str, default| args.get(name).and_then(scalars::truth).unwrap_or(default);
    let name = text("name").or_else(|| text("role")).unwrap_or_default();
    let is_rescuable = rescuable(args)?;
    let loader = loader(session);
    let request = RoleRequest {
        name: name.clone(),
        position: task.position.clone(),
        keywords: KeywordValues::default(),
        vars: Arc::clone(&vars),
        parameters: Vec::new(),
        from: FromFiles {
            tasks: text("tasks_from"),
            vars: text("vars_from"),
            defaults: text("defaults_from"),
            handlers: text("handlers_from"),
        },
        beside: task.frame.role().map(|role| paths::parent(&role.path).to_owned()),
        collections: expand::collections_of(&task.frame),
        task: Some(TaskRequest {
            public: flag("public", false),
            allow_duplicates: flag("allow_duplicates", true),
            validate: flag("rolespec_validate", true),
        }),
    };
    // A dependency that is missing is a failure of the task in any case.
    let failed = |error: LoadError| match is_absent(&error) && (is_rescuable || error.position != task.position) {
        true => IncludeError::Missing(Box::new(absence(session, &error))),
        false => IncludeError::Wrong(error.into()),
    };
    let node = role::load(&loader, request, 0).map_err(failed)?;
    let frame = frame(&loader, task, FrameKind::Include(node.role.path.as_str().into()), vars);
    let mut added = Additions::default();
    let used = expand::use_role(&loader, &node, &frame, 0, &mut added);
    let items = used.map_err(failed)?;
    finish(&loader)?;
    add(session, added);
    Ok(Included { items, name })
}

/// Says whether the task fails if its role or a file of it is missing, so that a block can rescue it (ansible-core 2.21,
/// `IncludeRole.rescuable`). Else the run ends.
fn rescuable(args: &Dict) -> Result<bool, IncludeError> {
    let Some(given) = args.get("rescuable").filter(|given| **given != Value::Null) else { return Ok(true) };
    scalars::truth(given).ok_or_else(|| {
        let shown = modbox_python_json::repr(given);
        let text = format!("The value {shown} could not be converted to 'bool'.");
        failure(format!("Task failed: Error processing keyword 'rescuable': {text}"))
    })
}

/// Returns the failure of an include with a reason.
fn failure(text: impl Into<String>) -> IncludeError {
    IncludeError::Missing(Box::new(Message::new(text)))
}

/// Says whether an error is about a role, or a file of one, that does not exist.
fn is_absent(error: &LoadError) -> bool {
    matches!(error.problem, Problem::NotFound { .. })
}

/// Returns the message about something that does not exist, with its place in the play.
fn absence(session: &Session<'_>, error: &LoadError) -> Message {
    Message::new(error.problem.to_string()).at(session.excerpt(&error.position))
}

/// Returns the message of an include whose file does not exist, in Ansible's words.
fn missing(path: &str) -> Message {
    let text = format!(
        "Unable to retrieve file contents. Could not find or access '{path}' on the Ansible Controller: [Errno 2] No such file \
         or directory: '{path}'"
    );
    Message::new(text).about_missing_file()
}

/// Fails if the loader found errors. If the first is about a file or role that does not exist, and all are, the include
/// fails, as in Ansible.
fn finish(loader: &Loader<'_>) -> Result<(), IncludeError> {
    let Err(errors) = loader.finish() else { return Ok(()) };
    let absent = |error: &LoadError| match &error.problem {
        Problem::File(FileError::NotFound { path }) => Some(missing(path)),
        Problem::NotFound { kind: "the role" | "the file of the role", .. } => {
            Some(Message::new(error.problem.to_string()).at(Excerpt::in_file(&error.position, loader.files)))
        }
        _ => None,
    };
    let reasons: Option<Vec<Message>> = errors.0.iter().map(absent).collect();
    let first = reasons.and_then(|reasons| reasons.into_iter().next());
    Err(first.map_or(IncludeError::Wrong(errors), |reason| IncludeError::Missing(Box::new(reason))))
}

/// Adds the handlers and roles of an include to the play.
fn add(session: &mut Session<'_>, added: Additions) {
    session.play.handlers.extend(added.handlers);
    if !added.roles.is_empty() {
        session.play.roles.extend(added.roles);
        refresh::magic(session);
    }
}

/// Tells that an include was read.
pub fn announce(session: &mut Session<'_>, info: &TaskInfo, outcome: &Outcome, name: &str) {
    let shown = outcome.data.get("_ansible_item_label").filter(|label| label.is_truthy());
    let label = match shown {
        Some(_) if outcome.is_hidden() => Some("(censored due to no_log)".to_owned()),
        label => label.map(modbox_python_json::str),
    };
    session.event(Event::Included { task: info, name, label });
}
