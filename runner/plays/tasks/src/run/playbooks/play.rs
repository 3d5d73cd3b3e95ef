//! Running a play: from one task to the next.

use std::sync::Arc;

use modbox_python_json::Value;

use crate::error::LoadErrors;
use crate::fields::Fields;
use crate::fields::names;
use crate::keywords::Keyword;
use crate::load::task as load_task;
use crate::model::block::{Block, Item, filtered};
use crate::model::play::Play;
use crate::model::task::{ImplicitTask, Task, TaskKind};
use crate::report::events::{Event, PlayInfo};
use crate::report::message::Message;
use crate::run::errors;
use crate::run::order::handlers;
use crate::run::order::iterator::PlayIterator;
use crate::run::order::late_handlers;
use crate::run::playbooks::batches;
use crate::run::playbooks::hosts;
use crate::run::playbooks::play_spec;
use crate::run::playbooks::prompt;
use crate::run::playbooks::refusals;
use crate::run::playbooks::tags::{self, TagChoice};
use crate::run::session::{BatchState, PlayState, Session};
use crate::run::steps::connection_free;
use crate::run::steps::include::{self, IncludeError};
use crate::run::steps::once;
use crate::run::steps::settle;
use crate::run::steps::task::{self, TaskEnd};
use crate::run::variables::play_files;
use crate::run::variables::refresh;
use crate::scalars::truth;

/// How a play ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayEnd {
    /// Its tasks ran, or it is for other hosts.
    Done,
    /// A task failed.
    Failed,
}

/// Why a run ends at once.
#[derive(Debug)]
pub enum RunError {
    /// Something in the play is wrong.
    Message(Box<Message>),
    /// A file that was included has errors.
    Load(LoadErrors),
}

impl From<Message> for RunError {
    fn from(message: Message) -> Self {
        Self::Message(Box::new(message))
    }
}

/// Runs a play.
///
/// # Errors
///
/// Something in the play is wrong, so that the run ends at once.
pub fn run(session: &mut Session<'_>, play: &Play) -> Result<PlayEnd, RunError> {
    let patterns = enter(session, play, prompt::ask)?;
    let info = PlayInfo {
        name: session.play.name.clone(),
        check_mode: flag(session, Keyword::CheckMode, session.options.check)?,
        position: play.position.clone(),
    };
    let found = hosts::of_play(session, &patterns)?;
    let everywhere = !found.elsewhere.is_empty() && connection_free::is_play(session, &tasks_of(session, play)?);
    let is_unreachable = !everywhere && hosts::tell_elsewhere(session, &found);
    let mut chosen = if everywhere { found.all } else { found.here };
    batches::order(session, &mut chosen)?;
    if chosen.is_empty() {
        session.event(Event::PlayStart(&info));
        if is_unreachable {
            session.event(Event::NoHostsRemaining);
            return Ok(PlayEnd::Failed);
        }
        hosts::tell_unmatched(session, &patterns)?;
        session.event(Event::NoHostsMatched);
        return Ok(PlayEnd::Done);
    }
    session.play.hosts = chosen;
    session.elsewhere = found.elsewhere;
    run_on_hosts(session, play, &info)
}

/// Runs a play on its hosts, one after the other. A batch in which all hosts failed is the last one.
fn run_on_hosts(session: &mut Session<'_>, play: &Play, info: &PlayInfo) -> Result<PlayEnd, RunError> {
    let start = session.play.clone();
    let hosts = start.hosts.clone();
    session.done_once.clear();
    for batch in batches::of(session, &hosts)? {
        let mut failed = 0;
        for host in batch {
            session.play = start.clone();
            session.enter(host);
            // Files that another host's variables named are not those of this one.
            session.play.files_generation = None;
            refresh::magic(session);
            play_files::read_inventory(session)?;
            play_files::refresh(session)?;
            session.event(Event::PlayStart(info));
            session.play.batch = BatchState { hosts: batch.len(), failed };
            if run_on_host(session, play)? == PlayEnd::Failed {
                session.failed = true;
                failed += 1;
                if flag(session, Keyword::AnyErrorsFatal, session.options.any_errors_fatal)?
                    || batches::too_many_failed(session, failed, batch.len())?
                {
                    return Ok(PlayEnd::Failed);
                }
            }
            if session.play.ended {
                return Ok(if failed == batch.len() { PlayEnd::Failed } else { PlayEnd::Done });
            }
        }
        if failed == batch.len() {
            return Ok(PlayEnd::Failed);
        }
    }
    Ok(PlayEnd::Done)
}

fn run_on_host(session: &mut Session<'_>, play: &Play) -> Result<PlayEnd, RunError> {
    let items = items(session, play)?;
    refusals::check(session, &items)?;
    let mut iterator = PlayIterator::new(chosen(session, &items)?);
    start_at(session, &mut iterator);
    run_tasks(session, &mut iterator)?;
    if iterator.is_failed() {
        return Ok(PlayEnd::Failed);
    }
    Ok(PlayEnd::Done)
}

/// Makes a play the one of the session. `ask` sets the variables of prompts. Returns the patterns of its hosts.
///
/// # Errors
///
/// A keyword of the play or a file of variables is wrong.
pub fn enter(
    session: &mut Session<'_>,
    play: &Play,
    ask: impl FnOnce(&mut Session<'_>) -> Result<(), Message>,
) -> Result<Vec<String>, Message> {
    session.play = PlayState::of(play);
    refresh::magic(session);
    play_files::read_inventory(session)?;
    ask(session)?;
    let patterns = patterns(session)?;
    session.play.name = name(session, &patterns);
    refresh::magic(session);
    play_files::refresh(session)?;
    Ok(patterns)
}

/// Returns the patterns of `hosts`.
fn patterns(session: &Session<'_>) -> Result<Vec<String>, Message> {
    let Some(source) = session.play.keyword(Keyword::Hosts) else { return Ok(Vec::new()) };
    let scope = session.scope(None);
    let fields = Fields { engine: session.engine, scope: &scope };
    let value = fields.source(Keyword::Hosts, source).map_err(|error| errors::of_field(session, &error))?;
    Ok(match value {
        Some(Value::List(items)) => items.iter().map(modbox_python_json::str).collect(),
        Some(other) => vec![modbox_python_json::str(&other)],
        None => Vec::new(),
    })
}

fn name(session: &Session<'_>, patterns: &[String]) -> String {
    match session.play.keyword(Keyword::Name) {
        Some(source) => {
            let name = names::text(session.engine, &session.scope(None), source);
            if name.is_empty() { patterns.join(",") } else { name }
        }
        None => patterns.join(","),
    }
}

/// Evaluates a boolean of the play.
fn flag(session: &Session<'_>, keyword: Keyword, default: bool) -> Result<bool, Message> {
    let Some(source) = session.play.keyword(keyword) else { return Ok(default) };
    let scope = session.scope(None);
    let fields = Fields { engine: session.engine, scope: &scope };
    let value = fields.source(keyword, source).map_err(|error| errors::of_field(session, &error))?;
    let Some(value) = value else { return Ok(default) };
    truth(&value).ok_or_else(|| {
        let found = modbox_python_json::repr(&value);
        let text = format!("The value {found} could not be converted to 'bool'.");
        let place = session.excerpt(source.position());
        Message::new(text).at(place.clone()).causing(format!("Error processing keyword '{}'.", keyword.text()), place)
    })
}

/// Returns the tasks of a play that the operator's tags choose, in their order.
///
/// # Errors
///
/// A keyword cannot be evaluated.
pub fn tasks_of(session: &Session<'_>, play: &Play) -> Result<Vec<Item>, Message> {
    chosen(session, &items(session, play)?)
}

/// Returns all tasks of a play in their order, with those that the engine adds.
fn items(session: &Session<'_>, play: &Play) -> Result<Vec<Item>, Message> {
    let implicit = |kind| Item::Task(Arc::new(load_task::implicit(kind, &play.frame)));
    let flush = || implicit(ImplicitTask::FlushHandlers);
    let mut items = Vec::new();
    if flag(session, Keyword::GatherFacts, !session.options.gather_explicitly)? {
        items.push(Item::Task(Arc::new(gather_facts(play))));
    }
    items.extend(play_spec::task(session, play)?.map(|task| Item::Task(Arc::new(task))));
    let tasks: Vec<Item> = play.role_tasks.iter().chain(&play.tasks).cloned().collect();
    let force = flag(session, Keyword::ForceHandlers, session.options.force_handlers)?;
    for section in [&play.pre_tasks, &tasks, &play.post_tasks] {
        if force {
            let block = Block {
                frame: Arc::clone(&play.frame),
                tasks: section.clone(),
                rescue: Vec::new(),
                always: vec![flush()],
            };
            items.push(Item::Block(Arc::new(block)));
        } else {
            items.extend(section.iter().cloned());
            items.push(flush());
        }
    }
    Ok(items)
}

fn gather_facts(play: &Play) -> Task {
    let mut task = load_task::implicit(ImplicitTask::GatherFacts, &play.frame);
    for keyword in [Keyword::GatherSubset, Keyword::GatherTimeout] {
        if let Some(value) = play.frame.keywords.get(keyword) {
            let key = modbox_yaml::Source::literal(keyword.text());
            let argument = crate::model::task::Argument { key, value: value.clone() };
            task.args.named.insert(keyword.text().into(), argument);
        }
    }
    task
}

/// Returns the tasks that the operator's tags choose.
fn chosen(session: &Session<'_>, items: &[Item]) -> Result<Vec<Item>, Message> {
    let choice = TagChoice { only: session.options.tags.clone(), skip: session.options.skip_tags.clone() };
    let scope = session.scope(None);
    filtered(items, &mut |task: &Task| {
        let tags = tags::of_task(session.engine, &scope, task).map_err(|error| errors::of_field(session, &error))?;
        Ok(choice.runs(&tags))
    })
}

/// Goes to the first task to run, if the operator named one.
fn start_at(session: &mut Session<'_>, iterator: &mut PlayIterator) {
    let Some(wanted) = session.start_at.clone() else { return };
    let mut first = Vec::new();
    let mut found = false;
    iterator.skip_while(|task| {
        if let TaskKind::Implicit(ImplicitTask::GatherFacts | ImplicitTask::ValidatePlay) = task.kind {
            first.push(Item::Task(Arc::clone(task)));
        }
        let scope = session.scope(Some(task));
        let short = names::short(session.engine, &scope, task);
        found = matches!(task.kind, TaskKind::Task)
            && [&short, &names::full(task, &short)].into_iter().any(|name| name == &wanted || is_like(name, &wanted));
        !found
    });
    if found {
        session.start_at = None;
        iterator.insert(first);
    }
}

/// Says whether a name matches a pattern with `*` and `?`.
fn is_like(name: &str, pattern: &str) -> bool {
    use modbox_python_re::{Flags, Pattern, Subject, glob_to_regex};
    let Ok(regex) = Pattern::new(&glob_to_regex(pattern), Subject::Text, Flags::default()) else { return false };
    let found = regex.search(name.as_bytes()).ok().flatten();
    found.and_then(|found| found.span(0)) == Some((0, name.len()))
}

/// Runs the tasks of an iterator to its end.
///
/// # Errors
///
/// Something in a task is wrong, so that the run ends at once.
pub fn run_tasks(session: &mut Session<'_>, iterator: &mut PlayIterator) -> Result<(), RunError> {
    while let Some(task) = iterator.next_task() {
        if session.host.is_interrupted() {
            return Err(Message::new("the run was interrupted").into());
        }
        if task.is_handler() && (!handlers::take_mark(session, &task) || late_handlers::postpone(session, &task)) {
            continue;
        }
        let flush = matches!(task.kind, TaskKind::Implicit(ImplicitTask::FlushHandlers));
        if (flush && !handlers::is_needed(session)) || (!task.is_handler() && settle::is_repeated_role(session, &task))
        {
            continue;
        }
        run_task(session, iterator, &task)?;
    }
    Ok(())
}

fn run_task(session: &mut Session<'_>, iterator: &mut PlayIterator, task: &Arc<Task>) -> Result<(), RunError> {
    play_files::refresh(session)?;
    let info = task::info(session, task);
    if task.is_hidden() {
        return Ok(crate::run::steps::meta::run(session, iterator, task, &info)?);
    }
    if task.meta().is_some() {
        session.event(Event::TaskStart(&info));
        return Ok(crate::run::steps::meta::run(session, iterator, task, &info)?);
    }
    if session.step && !ask_step(session, &info.name) {
        return Ok(());
    }
    let once = once::applies(session, task);
    if once && once::is_done(session, task) {
        return Ok(());
    }
    session.event(Event::TaskStart(&info));
    let end = task::run(session, task, &info);
    settle::settle(session, iterator, task, &info, &end)?;
    if once {
        once::share(session, task, &end);
    }
    if task.is_include() {
        run_include(session, iterator, task, &info, &end)?;
    }
    Ok(batches::tell_end(session, &end)?)
}

/// Inserts what an include read.
fn run_include(
    session: &mut Session<'_>,
    iterator: &mut PlayIterator,
    task: &Arc<Task>,
    info: &crate::report::events::TaskInfo,
    end: &TaskEnd,
) -> Result<(), RunError> {
    let mut items = Vec::new();
    for outcome in settle::included_parts(end) {
        match include::read(session, task, outcome) {
            Ok(included) => {
                settle::count_include(session);
                include::announce(session, info, outcome, &included.name);
                let found = if task.is_handler() { included.items } else { chosen(session, &included.items)? };
                if task.is_handler() {
                    mark_all(session, &found);
                }
                items.extend(found);
            }
            Err(IncludeError::Missing(reason)) => {
                settle::fail_include(session, iterator, info, outcome.clone(), &reason);
                return Ok(());
            }
            Err(IncludeError::Wrong(errors)) => return Err(RunError::Load(errors)),
        }
    }
    iterator.insert(items);
    Ok(())
}

fn mark_all(session: &mut Session<'_>, items: &[Item]) {
    for item in items {
        if let Item::Task(task) = item {
            handlers::mark(session, Arc::clone(task));
        }
    }
}

/// Asks whether to run a task.
fn ask_step(session: &mut Session<'_>, name: &str) -> bool {
    let text = format!("Perform task: TASK: {name} (N)o/(y)es/(c)ontinue: ");
    let prompt = crate::action_host::Prompt { text, ..Default::default() };
    match session.host.prompt(&prompt).map(|answer| answer.to_lowercase()).as_deref() {
        Ok("y" | "yes") => true,
        Ok("c" | "continue") => {
            session.step = false;
            true
        }
        _ => false,
    }
}
