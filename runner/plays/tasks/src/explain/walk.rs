//! Walks the plays of a playbook in the order of their tasks, and follows what they include.

use std::collections::HashSet;
use std::sync::Arc;

use modbox_template::{Engine, Origin, Slot, Value};

use crate::action_host::ActionHost;
use crate::explain::explanation::TaskExplanation;
use crate::explain::task;
use crate::keywords::Keyword;
use crate::load::context::LoadSettings;
use crate::load::values;
use crate::model::block::Item;
use crate::model::play::{Play, Playbook};
use crate::model::task::Task;
use crate::report::events::{Event, Events};
use crate::report::message::Message;
use crate::report::outcome::Outcome;
use crate::run::playbooks::hosts;
use crate::run::playbooks::play;
use crate::run::playbooks::refusals;
use crate::run::session::Session;
use crate::run::steps::connection_free;
use crate::run::steps::include::{self, IncludeError};
use crate::run::variables::play_files;
use crate::run::variables::refresh;
use crate::run_options::RunOptions;

/// How deep includes are followed.
const MAX_DEPTH: usize = 40;

/// Explains the tasks of a playbook, in their order. After each, `explained` gets what is known of it; the host has seen
/// the calls of its modules by then.
///
/// # Errors
///
/// Something in a play is wrong, so that it could not start.
pub fn playbook(
    playbook: &Playbook,
    engine: &Engine,
    host: &mut dyn ActionHost,
    options: &RunOptions,
    settings: &LoadSettings,
    explained: &mut dyn FnMut(TaskExplanation),
) -> Result<(), Message> {
    let Some(first) = playbook.plays.first() else { return Ok(()) };
    let mut silent = Silent;
    let mut session = Session::new(engine, host, &mut silent, options, settings, first);
    for play in &playbook.plays {
        Walk { session: &mut session, explained, followed: HashSet::new() }.play(play)?;
    }
    Ok(())
}

/// A receiver of events that ignores them: nothing happens.
struct Silent;

impl Events for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

struct Walk<'w, 's> {
    session: &'w mut Session<'s>,
    explained: &'w mut dyn FnMut(TaskExplanation),
    /// Includes that were followed: where they are written, and what they include.
    followed: HashSet<String>,
}

impl Walk<'_, '_> {
    fn play(&mut self, play: &Play) -> Result<(), Message> {
        let session = &mut *self.session;
        let patterns = play::enter(session, play, |session| {
            answers(session);
            Ok(())
        })?;
        let found = hosts::of_play(session, &patterns)?;
        let everywhere =
            !found.elsewhere.is_empty() && connection_free::is_play(session, &play::tasks_of(session, play)?);
        let hosts = if everywhere { found.all } else { found.here };
        session.elsewhere = found.elsewhere;
        let Some(host) = hosts.first().cloned() else {
            let name = format!("play {}", session.play.name);
            let refused = vec!["it is for other hosts".to_owned()];
            let position = play.position.to_string();
            (self.explained)(TaskExplanation { name, position, refused, ..TaskExplanation::default() });
            return Ok(());
        };
        session.play.hosts = hosts;
        session.enter(&host);
        refresh::magic(session);
        play_files::read_inventory(session)?;
        play_files::refresh(session)?;
        let items = play::tasks_of(session, play)?;
        if let Err(refusal) = refusals::check(session, &items) {
            let name = format!("play {}", session.play.name);
            let position = play.position.to_string();
            let refused = vec![refusal.brief()];
            (self.explained)(TaskExplanation { name, position, refused, ..TaskExplanation::default() });
        }
        self.items(&items, 0);
        let handlers = self.session.play.handlers.clone();
        handlers.iter().flatten().for_each(|handler| self.task(handler, 0));
        Ok(())
    }

    fn items(&mut self, items: &[Item], depth: usize) {
        for item in items {
            match item {
                Item::Task(task) => self.task(task, depth),
                Item::Block(block) => {
                    [&block.tasks, &block.rescue, &block.always].into_iter().for_each(|part| self.items(part, depth));
                }
            }
        }
    }

    fn task(&mut self, task: &Arc<Task>, depth: usize) {
        if task.is_hidden() || task.meta().is_some() {
            return;
        }
        let (explanation, outcomes) = task::explain(self.session, task);
        let index = outcomes.iter().map(|outcome| self.include(task, outcome, depth)).collect::<Vec<_>>();
        let notes = index.iter().filter_map(|included| included.as_ref().err().cloned());
        let explanation =
            TaskExplanation { notes: explanation.notes.iter().cloned().chain(notes).collect(), ..explanation };
        (self.explained)(explanation);
        for items in index.into_iter().flatten() {
            self.items(&items, depth + 1);
        }
    }

    /// Returns the tasks that an include reads, unless they were explained already.
    fn include(&mut self, task: &Task, outcome: &Outcome, depth: usize) -> Result<Vec<Item>, String> {
        if depth >= MAX_DEPTH {
            return Err(format!("includes are followed {MAX_DEPTH} levels deep"));
        }
        match include::read(self.session, task, outcome) {
            Ok(included) => {
                let is_new = self.followed.insert(format!("{} {}", task.position, included.name));
                Ok(if is_new { included.items } else { Vec::new() })
            }
            Err(IncludeError::Missing(message)) => Err(message.brief().lines().next().unwrap_or_default().to_owned()),
            Err(IncludeError::Wrong(errors)) => Err(errors.to_string()),
        }
    }
}

/// Sets the variables of prompts, whose answers are not known.
fn answers(session: &mut Session<'_>) {
    let Some(prompts) = session.play.keyword(Keyword::VarsPrompt).cloned() else { return };
    let names = values::items(&prompts)
        .into_iter()
        .filter_map(|prompt| prompt.as_map().and_then(|prompt| prompt.get("name")).and_then(values::scalar_text));
    let answer = |name: String| (name.into(), Slot::value(Value::from(()), Origin::Result("a prompt".into())));
    session.play.vars.push(Arc::new(names.map(answer).collect()));
}
