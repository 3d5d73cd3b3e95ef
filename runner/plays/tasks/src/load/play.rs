//! Reading one play.

use std::sync::Arc;

use modbox_template::Layer;
use modbox_yaml::Source;

use crate::error::{LoadError, Problem};
use crate::keywords::{Keyword, Place};
use crate::load::context::Loader;
use crate::load::expand::{self, Additions};
use crate::load::preflight::{followed, named_files};
use crate::load::{list, play_metadata, role, task, templates, values};
use crate::model::block::Item;
use crate::model::frame::{Frame, FrameKind};
use crate::model::keywords::KeywordValues;
use crate::model::play::Play;
use crate::vars::layer;

/// What the statements that import a playbook add to its plays.
#[derive(Debug, Clone, Default)]
pub struct PlayImport {
    /// Variables, outermost first.
    pub vars: Vec<Arc<Layer>>,
    /// Frames with conditions and tags, innermost first: each has the next one around it.
    pub frame: Option<Arc<Frame>>,
}

/// Reads a play. Errors are reported to the loader.
///
/// # Errors
///
/// The node is not a mapping.
pub fn read(loader: &Loader<'_>, source: &Source, import: &PlayImport) -> Result<Play, LoadError> {
    let map = values::map(source, "play")?;
    let mut keywords = task::read_keywords(loader, Place::Play, map, &["vars"]);
    check_hosts(loader, source, &keywords);
    match (keywords.take(Keyword::User), keywords.get(Keyword::RemoteUser)) {
        (Some(user), None) => keywords.set(Keyword::RemoteUser, user),
        (Some(user), Some(_)) => {
            let text = "both 'user' and 'remote_user' are set for this play. The use of 'user' is deprecated, and should \
                        be removed";
            loader.report(LoadError::new(user.position(), Problem::Other(text.to_owned())));
        }
        _ => {}
    }
    let own = values::vars(loader, map.get("vars"));
    let mut vars = vec![own];
    vars.extend(import.vars.iter().cloned());
    Ok(loader.templates.within_play(|| {
        if !is_for_this_host(&keywords) {
            loader.templates.play_may_end();
        }
        templates::check_keywords(loader, &keywords, |_| false);
        templates::check_vars(loader, map.get("vars"));
        keywords.get(Keyword::VarsFiles).into_iter().for_each(|files| named_files::check_play(loader, files));
        build(loader, source, keywords, vars, import)
    }))
}

/// Says whether a play is for this host whatever its name and groups are, and no import puts a condition on it.
fn is_for_this_host(keywords: &KeywordValues) -> bool {
    let certain =
        |host: &Source| matches!(values::scalar_text(host).as_deref(), Some("localhost" | "127.0.0.1" | "all"));
    keywords.get(Keyword::Hosts).is_some_and(|hosts| values::items(hosts).iter().all(certain))
}

/// Returns the play that runs a plain list of tasks on this host.
#[must_use]
pub fn of_tasks(loader: &Loader<'_>, source: &Source) -> Play {
    let mut keywords = KeywordValues::default();
    keywords.set(Keyword::Hosts, Source::literal("localhost"));
    keywords.set(Keyword::GatherFacts, Source::literal("false"));
    keywords.set(Keyword::Tasks, source.clone());
    loader.templates.within_play(|| build(loader, source, keywords, Vec::new(), &PlayImport::default()))
}

fn build(
    loader: &Loader<'_>,
    source: &Source,
    mut keywords: KeywordValues,
    vars: Vec<Arc<Layer>>,
    import: &PlayImport,
) -> Play {
    let parts = [Keyword::PreTasks, Keyword::Roles, Keyword::Tasks, Keyword::PostTasks, Keyword::Handlers];
    let [pre_tasks, roles, tasks, post_tasks, handlers] = parts.map(|part| keywords.take(part));
    let frame = Arc::new(Frame {
        kind: FrameKind::Play,
        keywords,
        vars: layer::empty(),
        outer: import.frame.clone(),
        position: source.position().clone(),
    });
    {
        let mut known = loader.vars.borrow_mut();
        known.play.clone_from(&vars);
        known.roles.clear();
    }
    let mut of_roles = Additions::default();
    let role_tasks = roles.map(|roles| read_roles(loader, &roles, &frame, &mut of_roles)).unwrap_or_default();
    let mut added = Additions::default();
    let own_handlers = handlers.filter(|source| is_block(loader, "handlers", source)).map(|source| {
        let drafts = list::read(loader, &source, &frame, true);
        expand::handlers(loader, drafts, 0, &mut added)
    });
    let mut read_part = |name: &str, source: Option<Source>| -> Vec<Item> {
        let Some(source) = source.filter(|source| is_block(loader, name, source)) else { return Vec::new() };
        let drafts = list::read(loader, &source, &frame, false);
        expand::items(loader, drafts, 0, &mut added)
    };
    let (pre_tasks, tasks, post_tasks) =
        (read_part("pre_tasks", pre_tasks), read_part("tasks", tasks), read_part("post_tasks", post_tasks));
    let mut handlers = of_roles.handlers;
    handlers.extend(own_handlers.unwrap_or_default());
    handlers.extend(added.handlers);
    let mut roles = of_roles.roles;
    roles.extend(added.roles);
    [&pre_tasks, &role_tasks, &tasks, &post_tasks].into_iter().for_each(|items| followed::items(loader, items));
    followed::handlers(loader, &handlers);
    let is_validated = frame.keywords.get(Keyword::ValidateArgspec).is_some_and(|value| !value.is_null());
    let specs = is_validated.then(|| loader.check(play_metadata::read(loader, &source.position().file))).flatten();
    Play {
        specs: specs.flatten(),
        position: source.position().clone(),
        vars,
        folder: loader.folder.borrow().clone(),
        pre_tasks,
        role_tasks,
        tasks,
        post_tasks,
        handlers,
        roles,
        imported_when: import.frame.as_ref().map(|frame| imported_when(frame)).unwrap_or_default(),
        frame,
    }
}

/// Reads the entries of `roles`.
fn read_roles(loader: &Loader<'_>, source: &Source, frame: &Arc<Frame>, added: &mut Additions) -> Vec<Item> {
    if source.is_null() {
        return Vec::new();
    }
    let Some(entries) = source.as_list() else {
        let (shown, kind) = (data_repr(source), source.kind());
        let text =
            format!("A malformed role declaration was encountered: ds ({shown}) should be a list but was {kind}");
        loader.report(LoadError::new(source.position(), Problem::Other(text)));
        return Vec::new();
    };
    let mut items = Vec::new();
    for entry in entries {
        let read = role::request(loader, entry, None).and_then(|mut request| {
            request.collections = expand::collections_of(frame);
            let node = role::load(loader, request, 0)?;
            expand::use_role(loader, &node, frame, 0, added)
        });
        items.extend(loader.check(read).unwrap_or_default());
    }
    items
}

/// Says whether a part of a play is a list of tasks, or nothing.
fn is_block(loader: &Loader<'_>, name: &str, source: &Source) -> bool {
    if source.is_null() || source.as_list().is_some() {
        return true;
    }
    let (shown, kind) = (data_repr(source), source.kind());
    let text = format!(
        "A malformed block was encountered while loading {name}: {shown} should be a list or None but is {kind}"
    );
    loader.report(LoadError::new(source.position(), Problem::Other(text)));
    false
}

/// Returns how Python writes a node's data.
fn data_repr(source: &Source) -> String {
    modbox_python_json::repr(&source.to_data().unwrap_or_default())
}

fn check_hosts(loader: &Loader<'_>, source: &Source, keywords: &KeywordValues) {
    let Some(hosts) = keywords.get(Keyword::Hosts) else {
        let problem = Problem::Missing { keyword: "hosts".to_owned() };
        return loader.report(LoadError::new(source.position(), problem));
    };
    let entries = values::items(hosts);
    let named = |entry: &Source| values::scalar_text(entry).is_some_and(|text| !text.is_empty());
    if entries.is_empty() || hosts.is_null() {
        let text = "Hosts list cannot be empty. Please check your playbook".to_owned();
        loader.report(LoadError::new(hosts.position(), Problem::Other(text)));
    } else if !entries.iter().all(named) {
        loader.report(values::wrong_type(hosts, "hosts", "a pattern, or a list of patterns"));
    }
}

fn imported_when(frame: &Frame) -> Vec<Source> {
    let mut conditions = Vec::new();
    for source in frame.collected(Keyword::When) {
        conditions.splice(0..0, values::items(source));
    }
    conditions
}
