//! Reading one task or handler: its action, keywords and loop.

use std::sync::Arc;

use modbox_yaml::{Map, Source};

use crate::error::{LoadError, Problem};
use crate::keywords::{self, Keyword, Kind, Place};
use crate::load::action::{self, ActionCall};
use crate::load::context::Loader;
use crate::load::draft::Draft;
use crate::load::{register, templates, values};
use crate::model::frame::Frame;
use crate::model::keywords::KeywordValues;
use crate::model::task::{Task, TaskKind, name_text, short_name};
use crate::vars::layer;

/// Reads an entry of a list of tasks that is not a block.
///
/// # Errors
///
/// The entry has no action that can be told. Other errors are reported to the loader.
pub fn read(loader: &Loader<'_>, source: &Source, frame: &Arc<Frame>, handler: bool) -> Result<Draft, LoadError> {
    let map = values::map(source, "task")?;
    let collections = collections(map, frame);
    let call = action::find(loader, source, map, &collections)?;
    check_known(loader, &call, &collections);
    let place = place(&call, handler);
    let mut task = Task {
        action: call.action.clone(),
        args: call.args,
        lookup: None,
        loop_control: KeywordValues::default(),
        keywords: KeywordValues::default(),
        vars: values::vars(loader, map.get("vars")),
        frame: Arc::clone(frame),
        position: source.position().clone(),
        kind: if handler { TaskKind::Handler(Vec::new()) } else { TaskKind::Task },
    };
    for (key, entry) in map.iter() {
        let name = values::key_text(key);
        if name == call.key || name == "args" || name == "vars" {
            continue;
        }
        read_keyword(loader, &mut task, place, &name, &entry.key, &entry.value);
    }
    if call.local && task.keywords.get(Keyword::DelegateTo).is_none() {
        task.keywords.set(Keyword::DelegateTo, Source::literal("localhost"));
    }
    if handler {
        task.kind = TaskKind::Handler(listen(&task));
    }
    templates::check_task(loader, &task, map.get("vars"));
    classify(loader, task)
}

/// Reads one key of a task that is not its action.
fn read_keyword(loader: &Loader<'_>, task: &mut Task, place: Place, name: &str, key: &Source, value: &Source) {
    if let Some(lookup) = name.strip_prefix("with_")
        && read_lookup(loader, task, lookup, key, value)
    {
        return;
    }
    // A handler that includes tasks has topics as others have.
    let place = if task.is_handler() && name == "listen" { Place::Handler } else { place };
    let Some(row) = keywords::find(place, name) else {
        let nearest = keywords::nearest(place, name);
        let problem = Problem::UnknownKeyword { key: name.to_owned(), place, nearest };
        return loader.report(LoadError::new(key.position(), problem));
    };
    loader.judge(place, row, key, value);
    if is_not_given(row, value) {
        return;
    }
    match row.keyword {
        Keyword::LoopControl => read_loop_control(loader, task, value),
        Keyword::Register => register::read(loader, task, value),
        keyword => {
            check_shape(loader, row, value);
            task.keywords.set(keyword, value.clone());
        }
    }
}

/// Reads a `with_` keyword. Returns whether it names a lookup: one that modbox knows, a Python plugin, or one of a collection.
fn read_lookup(loader: &Loader<'_>, task: &mut Task, lookup: &str, key: &Source, value: &Source) -> bool {
    let known = modbox_template::known_lookup(lookup);
    let is_python = || loader.engine.has_plugin(modbox_template::PluginKind::Lookup, lookup);
    if known.is_none() && lookup.split('.').count() < 3 && !is_python() {
        return false;
    }
    // `templates` reports an unknown one, when it is known whether a run reaches the task.
    let lookup = known.map_or(lookup, |known| known.name);
    if task.lookup.is_some() || task.keywords.get(Keyword::Loop).is_some() {
        let (keyword, other) = (format!("with_{lookup}"), "loop".to_owned());
        loader.report(LoadError::new(key.position(), Problem::Conflict { keyword, other, remedy: "keep one loop" }));
    } else if value.is_null() {
        loader.report(LoadError::new(key.position(), Problem::Missing { keyword: format!("with_{lookup}") }));
    } else {
        task.lookup = Some((lookup.to_owned(), value.clone()));
    }
    true
}

fn read_loop_control(loader: &Loader<'_>, task: &mut Task, value: &Source) {
    let Some(map) = loader.check(values::map(value, "loop_control")) else { return };
    task.loop_control = read_keywords(loader, Place::LoopControl, map, &[]);
}

/// Reads the keywords of an object that is not a task. Keys that `skipped` has are left to the caller.
#[must_use]
pub fn read_keywords(loader: &Loader<'_>, place: Place, map: &Map, skipped: &[&str]) -> KeywordValues {
    let mut found = KeywordValues::default();
    for (key, entry) in map.iter() {
        let name = values::key_text(key);
        if skipped.contains(&&*name) {
            continue;
        }
        let Some(row) = keywords::find(place, &name) else {
            let nearest = keywords::nearest(place, &name);
            let problem = Problem::UnknownKeyword { key: name, place, nearest };
            loader.report(LoadError::new(entry.key.position(), problem));
            continue;
        };
        loader.judge(place, row, &entry.key, &entry.value);
        if !is_not_given(row, &entry.value) {
            check_shape(loader, row, &entry.value);
            found.set(row.keyword, entry.value.clone());
        }
    }
    found
}

/// Says whether a keyword without a value counts as one that is not written. A keyword that is inherited still hides the value
/// around it, so that its default counts.
fn is_not_given(row: &keywords::Row, value: &Source) -> bool {
    let is_absent =
        row.kind == Kind::Conditions || matches!(row.keyword, Keyword::Label | Keyword::Loop | Keyword::Name);
    is_absent && value.is_null()
}

/// Checks that a value is not of a shape that its keyword can never have.
fn check_shape(loader: &Loader<'_>, row: &keywords::Row, value: &Source) {
    let keyword = row.keyword.text();
    let structured = value.as_list().is_some() || value.as_map().is_some();
    match row.kind {
        Kind::Text | Kind::Bool | Kind::Int | Kind::Float | Kind::Percent if structured => {
            loader.report(values::wrong_type(value, keyword, &format!("a {}", row.kind)));
        }
        _ if row.keyword == Keyword::Tags && !is_tags(value) => {
            loader.report(values::wrong_type(value, keyword, "a list of tags, or text"));
        }
        _ => {}
    }
}

fn is_tags(value: &Source) -> bool {
    value.as_list().is_some() || value.is_null() || values::scalar_text(value).is_some()
}

/// Returns where the keywords of a task are looked up: dynamic includes take only some.
fn place(call: &ActionCall, handler: bool) -> Place {
    match short_name(name_text(&call.action).unwrap_or_default()) {
        "include_tasks" | "include_role" => Place::Include,
        _ if handler => Place::Handler,
        _ => Place::Task,
    }
}

/// Reports an action that nothing provides, or that only Ansible can do. An action that is a template is looked up when the task runs.
fn check_known(loader: &Loader<'_>, call: &ActionCall, collections: &[String]) {
    if modbox_template::is_template(&call.action) {
        return;
    }
    let Some(name) = name_text(&call.action) else { return };
    let problem = match loader.names.python_plugin(name, collections, &call.args) {
        Some(file) => Problem::PythonAction { name: name.to_owned(), file },
        None if loader.names.is_known(name, collections) => return,
        None => {
            let (reason, collections) = (loader.names.why_unknown(name), collections.to_vec());
            Problem::UnknownAction { name: name.to_owned(), collections, reason }
        }
    };
    loader.report(LoadError::new(call.action.position(), problem));
}

/// Returns the collections in which an action without a collection is looked up.
fn collections(map: &Map, frame: &Frame) -> Vec<String> {
    let own = map.get("collections").or_else(|| frame.inherited(Keyword::Collections));
    let mut names: Vec<String> =
        own.map(values::items).unwrap_or_default().iter().filter_map(values::scalar_text).collect();
    if let Some(collection) = frame.role().and_then(|role| role.collection.clone()) {
        names.insert(0, collection);
    }
    names
}

/// Returns the topics of a handler, each also with the names of its role before it.
fn listen(task: &Task) -> Vec<String> {
    let Some(source) = task.keywords.get(Keyword::Listen) else { return Vec::new() };
    let mut topics: Vec<String> = values::items(source).iter().filter_map(values::scalar_text).collect();
    if let Some(role) = task.frame.role() {
        let full: Vec<String> = topics.iter().map(|topic| format!("{} : {topic}", role.full_name())).collect();
        let short: Vec<String> = topics.iter().map(|topic| format!("{} : {topic}", role.name)).collect();
        topics.extend(full);
        topics.extend(short);
    }
    topics
}

/// Decides whether a task is an import, and checks the options of imports, includes and `meta`. A task that always fails ends its play.
fn classify(loader: &Loader<'_>, mut task: Task) -> Result<Draft, LoadError> {
    let action = task.action_text().to_owned();
    match short_name(&action) {
        "import_tasks" | "include_tasks" => {
            check_tasks_options(&mut task, &action)?;
            if short_name(&action) == "include_tasks" {
                return Ok(Draft::Task(task));
            }
            check_import(&task, "include_tasks")?;
            Ok(Draft::ImportTasks(task))
        }
        "import_role" | "include_role" => {
            check_role_options(&task, &action)?;
            if task.is_handler() {
                let reason = "a handler cannot use a role; notify a handler of that role".to_owned();
                return Err(LoadError::new(&task.position, Problem::Refused { keyword: action, reason }));
            }
            if short_name(&action) == "include_role" {
                return Ok(Draft::Task(task));
            }
            check_import(&task, "include_role")?;
            Ok(Draft::ImportRole(task))
        }
        "meta" => {
            check_meta(loader, &task);
            Ok(Draft::Task(task))
        }
        "fail" => {
            check_fail(loader, &task);
            Ok(Draft::Task(task))
        }
        _ => Ok(Draft::Task(task)),
    }
}

fn check_import(task: &Task, instead: &'static str) -> Result<(), LoadError> {
    if !task.has_loop() {
        return Ok(());
    }
    let remedy = if instead == "include_tasks" { "use `include_tasks`" } else { "use `include_role`" };
    let problem = Problem::Conflict { keyword: "loop".to_owned(), other: task.action_text().to_owned(), remedy };
    Err(LoadError::new(&task.position, problem))
}

/// Checks the options of `import_tasks` and `include_tasks`, and moves the file's name to the free form.
fn check_tasks_options(task: &mut Task, action: &str) -> Result<(), LoadError> {
    let dynamic = short_name(action) == "include_tasks";
    let allowed: &[&str] = if dynamic { &["file", "apply"] } else { &["file"] };
    check_options(task, action, allowed)?;
    if let Some(file) = task.args.named.shift_remove("file") {
        task.args.raw = task.args.raw.take().or(Some(file.value));
    }
    let given = task.args.raw.as_ref().is_some_and(|raw| raw.as_text().is_none_or(|text| !text.trim().is_empty()));
    if !given && task.args.whole.is_none() {
        return Err(LoadError::new(&task.position, Problem::NoFile { action: action.to_owned() }));
    }
    check_apply(task)
}

fn check_role_options(task: &Task, action: &str) -> Result<(), LoadError> {
    const OPTIONS: [&str; 10] = [
        "name",
        "role",
        "tasks_from",
        "vars_from",
        "defaults_from",
        "handlers_from",
        "public",
        "allow_duplicates",
        "rolespec_validate",
        "rescuable",
    ];
    let mut allowed = OPTIONS.to_vec();
    let is_false = |option: &Source| option.to_data().is_ok_and(|data| !data.is_truthy());
    if short_name(action) == "include_role" {
        allowed.push("apply");
    } else if task.args.named.get("rescuable").is_some_and(|argument| !is_false(&argument.value)) {
        // As in Ansible, which takes what does nothing for an import.
        allowed.retain(|option| *option != "rescuable");
    }
    check_options(task, action, &allowed)?;
    let named = ["name", "role"].iter().any(|option| task.args.named.contains_key(*option));
    if !named && task.args.whole.is_none() {
        return Err(LoadError::new(&task.position, Problem::Missing { keyword: format!("{action}: name") }));
    }
    for option in ["tasks_from", "vars_from", "defaults_from", "handlers_from"] {
        if let Some(argument) = task.args.named.get(option).filter(|argument| argument.value.as_text().is_none()) {
            let problem = Problem::NotAFile { option, found: argument.value.kind() };
            return Err(LoadError::new(argument.value.position(), problem));
        }
    }
    check_apply(task)
}

fn check_apply(task: &Task) -> Result<(), LoadError> {
    match task.args.named.get("apply") {
        Some(apply) if apply.value.as_map().is_none() => Err(values::wrong_type(&apply.value, "apply", "a mapping")),
        _ => Ok(()),
    }
}

fn check_options(task: &Task, action: &str, allowed: &[&str]) -> Result<(), LoadError> {
    match task.args.named.iter().find(|(name, _)| !allowed.contains(&&***name)) {
        None => Ok(()),
        Some((name, argument)) => {
            let (action, option) = (action.to_owned(), name.to_string());
            let problem = Problem::UnknownOption { action, option, expected: allowed.join(", ") };
            Err(LoadError::new(argument.key.position(), problem))
        }
    }
}

/// Records that a play ends at a task that always fails.
fn check_fail(loader: &Loader<'_>, task: &Task) {
    if task.collected(Keyword::When).is_empty() {
        loader.templates.play_may_end();
    }
}

/// Checks what a `meta` task does.
fn check_meta(loader: &Loader<'_>, task: &Task) {
    const ALL: [&str; 11] = [
        "noop",
        "flush_handlers",
        "refresh_inventory",
        "clear_facts",
        "clear_host_errors",
        "end_play",
        "end_host",
        "end_batch",
        "end_role",
        "reset_connection",
        "role_complete",
    ];
    let problem = match task.meta() {
        Some("end_role") if task.is_handler() => Problem::Other("a handler cannot end a role".to_owned()),
        Some("end_role") if task.frame.role().is_none() => {
            Problem::Other("`meta: end_role` ends a role; there is no role around the task".to_owned())
        }
        Some(meta) if ALL.contains(&meta) => {
            if meta.starts_with("end_") {
                loader.templates.play_may_end();
            }
            return;
        }
        found => Problem::UnknownOption {
            action: "meta".to_owned(),
            option: found.unwrap_or_default().to_owned(),
            expected: ALL[..10].join(", "),
        },
    };
    loader.report(LoadError::new(&task.position, problem));
}

/// Returns a task that the engine adds.
#[must_use]
pub fn implicit(kind: crate::model::task::ImplicitTask, frame: &Arc<Frame>) -> Task {
    use crate::model::task::{Args, ImplicitTask};
    let (action, raw) = match kind {
        ImplicitTask::GatherFacts => ("ansible.builtin.gather_facts", None),
        ImplicitTask::FlushHandlers => ("meta", Some(Source::literal("flush_handlers"))),
        ImplicitTask::RoleComplete => ("meta", Some(Source::literal("role_complete"))),
        ImplicitTask::ValidateArguments | ImplicitTask::ValidatePlay => {
            ("ansible.builtin.validate_argument_spec", None)
        }
    };
    Task {
        action: Source::literal(action),
        args: Args { raw, ..Args::default() },
        lookup: None,
        loop_control: KeywordValues::default(),
        keywords: KeywordValues::default(),
        vars: layer::empty(),
        frame: Arc::clone(frame),
        position: frame.position.clone(),
        kind: TaskKind::Implicit(kind),
    }
}
