//! Checks of templates, expressions and conditions when files are read: their syntax, and the names of filters, tests and
//! lookups. Nothing is evaluated.
//!
//! Ansible finds such a mistake when a task reaches it. Where that is certain to happen, the play is wrong as a whole, and
//! is refused before anything runs. Where a condition, a loop, a tag, `rescue` or `ignore_errors` may spare the task, a run
//! only says so, and `--syntax-check` lists it.

use modbox_template::{Finding, Kind as TextKind, Problem as TextProblem};
use modbox_yaml::{Map, Source};

use crate::error::{LoadError, Problem};
use crate::keywords::{self, Evaluation, Keyword, Kind, Place};
use crate::load::context::Loader;
use crate::load::findings::BadTemplate;
use crate::load::values;
use crate::model::frame::Frame;
use crate::model::keywords::KeywordValues;
use crate::model::task::{Task, is_builtin};
use crate::python_plugins::PluginKind;

/// Maximum bytes of a template file that is checked before a play runs.
const MAX_TEMPLATE: usize = 1 << 20;

/// Checks a task. An error in its variables is a warning, since variables are evaluated only where they are used.
pub fn check_task(loader: &Loader<'_>, task: &Task, vars: Option<&Source>) {
    let reached = is_reached(loader, task);
    check_keywords(loader, &task.keywords, |keyword| match keyword {
        Keyword::Loop | Keyword::DelegateTo => reached,
        Keyword::When => {
            let outer = task.collected(Keyword::When);
            reached_but_for_conditions(loader, task) && outer.len() == 1 && outer[0].as_list().is_none()
        }
        _ => false,
    });
    check_keywords(loader, &task.loop_control, |_| false);
    for (_, entry) in task.keywords.get(Keyword::Register).and_then(Source::as_map).into_iter().flat_map(Map::iter) {
        let kind = if entry.value.as_text().is_some() { TextKind::Expression } else { TextKind::Template };
        check(loader, &entry.value, kind, reached);
    }
    if let Some((_, terms)) = &task.lookup {
        check(loader, terms, TextKind::Template, reached);
    }
    let action = task.action_text();
    if !is_import(action) {
        check_args(loader, task, reached && !task.has_loop());
    }
    check_lookup(loader, task, reached);
    check_vars(loader, vars);
}

fn is_import(action: &str) -> bool {
    is_builtin(action, "import_tasks") || is_builtin(action, "import_role")
}

/// Says whether a task is reached by every run that selects it: nothing spares it, and nothing takes its errors.
#[must_use]
pub fn is_reached(loader: &Loader<'_>, task: &Task) -> bool {
    task.collected(Keyword::When).is_empty() && reached_but_for_conditions(loader, task)
}

fn reached_but_for_conditions(loader: &Loader<'_>, task: &Task) -> bool {
    !task.is_handler()
        && !loader.templates.is_rescued()
        && task.keyword(Keyword::IgnoreErrors).is_none()
        && task.collected(Keyword::Tags).iter().all(|tags| !names_never(tags))
}

/// Says whether tags have `never` among them, or may have it.
fn names_never(tags: &Source) -> bool {
    let never = |tag: &Source| {
        modbox_template::is_template(tag)
            || values::scalar_text(tag).is_some_and(|text| text.split(',').any(|tag| tag.trim() == "never"))
    };
    values::items(tags).iter().any(never)
}

fn check_args(loader: &Loader<'_>, task: &Task, reached: bool) {
    let action = task.action_text();
    if let Some(raw) = &task.args.raw {
        check(loader, raw, TextKind::Template, reached);
    }
    if let Some(whole) = &task.args.whole {
        check(loader, whole, TextKind::Template, reached);
    }
    for (name, argument) in &task.args.named {
        match &**name {
            "apply" => check_apply(loader, &argument.value),
            "that" if is_builtin(action, "assert") => check(loader, &argument.value, TextKind::Condition, reached),
            // A template gives the expression.
            "var" if is_builtin(action, "debug") && !modbox_template::is_template(&argument.value) => {
                check(loader, &argument.value, TextKind::Expression, reached);
            }
            _ => {
                check(loader, &argument.key, TextKind::Template, reached);
                check(loader, &argument.value, TextKind::Template, reached);
            }
        }
    }
}

/// Checks the keywords that an include gives to its tasks.
fn check_apply(loader: &Loader<'_>, source: &Source) {
    for (key, entry) in source.as_map().into_iter().flat_map(Map::iter) {
        if let Some(row) = keywords::find(Place::Block, &values::key_text(key)) {
            check_value(loader, row, &entry.value, false);
        }
    }
}

/// Checks keywords. `reached` says of each whether every run evaluates it.
pub fn check_keywords(loader: &Loader<'_>, keywords: &KeywordValues, reached: impl Fn(Keyword) -> bool) {
    for (keyword, value) in keywords.iter() {
        check_value(loader, keyword.row(), value, reached(keyword));
    }
}

/// Checks the keywords and variables of what is around tasks.
pub fn check_frame(loader: &Loader<'_>, frame: &Frame, vars: Option<&Source>) {
    check_keywords(loader, &frame.keywords, |_| false);
    check_vars(loader, vars);
}

/// Checks the value of a keyword.
pub fn check_value(loader: &Loader<'_>, row: &keywords::Row, value: &Source, reached: bool) {
    match (row.kind, row.evaluation) {
        (Kind::Tasks | Kind::Roles, _) => {}
        (Kind::Conditions, _) => check(loader, value, TextKind::Condition, reached),
        (_, Evaluation::Templated) => check(loader, value, TextKind::Template, reached),
        // The variables are checked by who reads them.
        (_, Evaluation::Static) => {}
    }
}

/// Checks the templates in variables.
pub fn check_vars(loader: &Loader<'_>, vars: Option<&Source>) {
    if let Some(vars) = vars {
        check(loader, vars, TextKind::Template, false);
    }
}

fn check(loader: &Loader<'_>, source: &Source, kind: TextKind, reached: bool) {
    for finding in loader.engine.check_syntax(source, kind) {
        let is_certain = reached && finding.is_certain;
        let error = error_of(loader, finding);
        loader.templates.add(BadTemplate { error, is_certain });
    }
}

/// Checks that there is a lookup of the name in a `with_` keyword.
fn check_lookup(loader: &Loader<'_>, task: &Task, is_certain: bool) {
    let Some((name, terms)) = &task.lookup else { return };
    if loader.engine.has_plugin(modbox_template::PluginKind::Lookup, name) {
        return;
    }
    let problem = TextProblem::Lookup { name: name.clone() };
    let finding = Finding { position: terms.position().clone(), line: 1, problem, is_certain };
    loader.templates.add(BadTemplate { error: error_of(loader, finding), is_certain });
}

/// Returns the text of a template file, unless it is too large to be checked before the play runs, or cannot be read.
pub fn template_text(loader: &Loader<'_>, path: &str) -> Option<String> {
    loader.files.text(path).ok().filter(|text| text.len() <= MAX_TEMPLATE)
}

/// Checks the syntax of a template file, and the names of its filters, tests and lookups.
pub fn check_template_text(loader: &Loader<'_>, file: &Source, reached: bool) {
    for finding in loader.engine.check_file(file) {
        let is_certain = reached && finding.is_certain;
        let error = error_of(loader, finding);
        loader.templates.add(BadTemplate { error, is_certain });
    }
}

fn error_of(loader: &Loader<'_>, finding: Finding) -> LoadError {
    let asked = match &finding.problem {
        TextProblem::Syntax { .. } => None,
        TextProblem::Filter { name, .. } => Some((PluginKind::Filter, name)),
        TextProblem::Test { name, .. } => Some((PluginKind::Test, name)),
        TextProblem::Lookup { name } => Some((PluginKind::Lookup, name)),
    };
    // A name that modbox refuses with a reason of its own has no better one.
    let refused = |kind: PluginKind, name: &str| {
        let meaning = || modbox_jinja::lookup(kind, name);
        kind != PluginKind::Lookup && matches!(meaning(), modbox_jinja::Meaning::Refused(_))
    };
    let asked = asked.filter(|(kind, name)| !refused(*kind, name));
    let plugin = asked.and_then(|(kind, name)| loader.python_plugin(kind, name));
    LoadError::new(
        &finding.position.clone(),
        Problem::Text { finding: Box::new(finding), plugin: plugin.map(Box::new) },
    )
}
