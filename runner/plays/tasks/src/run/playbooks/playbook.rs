//! Running playbooks: their plays in order, until one fails, and the recap of each.

use modbox_template::Engine;

use crate::action_host::{ActionHost, HostErrorKind};
use crate::load::context::LoadSettings;
use crate::model::play::Playbook;
use crate::report::counters::Counters;
use crate::report::events::{Event, Events};
use crate::report::message::Message;
use crate::run::playbooks::after_commit;
use crate::run::playbooks::play::{self, PlayEnd, RunError};
use crate::run::session::Session;
use crate::run::variables::play_files::load_message;
use crate::run_options::RunOptions;

/// How playbooks ended.
#[derive(Debug)]
pub struct RunEnd {
    /// The counters of the recap, by host.
    pub counters: Vec<(String, Counters)>,
    /// Whether a task failed that was neither ignored nor rescued.
    pub failed: bool,
    /// Whether hosts of the plays are not this machine.
    pub unreachable: bool,
    /// What stopped the run first, if it was not an ordinary failure of a task.
    pub first_failure: Option<HostErrorKind>,
    /// Why the run ended at once.
    pub error: Option<RunError>,
}

/// Runs playbooks, one after the other, until a play fails. They share hosts, variables and counters, as those of one
/// `ansible-playbook` do.
pub fn run(
    playbooks: &[Playbook],
    engine: &Engine,
    host: &mut dyn ActionHost,
    events: &mut dyn Events,
    options: &RunOptions,
    settings: &LoadSettings,
) -> RunEnd {
    let Some(first) = playbooks.iter().find_map(|playbook| playbook.plays.first()) else {
        playbooks.iter().for_each(|playbook| announce(events, playbook));
        return RunEnd { counters: Vec::new(), failed: false, unreachable: false, first_failure: None, error: None };
    };
    let mut session = Session::new(engine, host, events, options, settings, first);
    for (index, playbook) in playbooks.iter().enumerate() {
        announce(session.events, playbook);
        if let Err(error) = run_plays(&mut session, playbook, index + 1 == playbooks.len()) {
            tell(&mut session, &error);
            if !session.all_counters().is_empty() {
                recap(&mut session);
            }
            return end(session, true, Some(error));
        }
        if session.any_failed() || !session.unreachable.is_empty() {
            break;
        }
    }
    let failed = session.any_failed();
    end(session, failed, None)
}

/// Tells that a playbook starts.
fn announce(events: &mut dyn Events, playbook: &Playbook) {
    events.event(Event::PlaybookStart { file: &playbook.file });
    let text = format!("{} plays in {}", playbook.plays.len(), playbook.file);
    events.event(Event::Verbose { level: 2, text: &text });
}

/// Runs the plays of a playbook, until one fails. After the last playbook, commits what plays have changed, if that is held
/// back.
fn run_plays(session: &mut Session<'_>, playbook: &Playbook, is_last: bool) -> Result<(), RunError> {
    let has_plays = !playbook.plays.is_empty();
    let limits = session.options.limit_patterns();
    if has_plays && !limits.is_empty() && session.hosts.matching(&limits).is_empty() {
        let text = "Specified inventory, host pattern and/or --limit leaves us with no hosts to target.";
        return Err(Message::new(text).into());
    }
    for play in &playbook.plays {
        if play::run(session, play)? == PlayEnd::Failed {
            break;
        }
    }
    if is_last {
        after_commit::run(session)?;
    }
    if !has_plays {
        return Ok(());
    }
    recap(session);
    if let Some(name) = &session.start_at {
        let text = format!("No matching task \"{name}\" found. Note: --start-at-task can only follow static includes.");
        session.events.event(Event::Error(&Message::new(text)));
    }
    Ok(())
}

/// Tells what has run. Ansible does not, where a run ends at once; but then nothing else says what was done.
fn recap(session: &mut Session<'_>) {
    let (counters, custom) = (session.all_counters(), session.custom.clone());
    session.event(Event::Stats { hosts: &counters, custom: &custom });
}

/// Tells why the run ends at once. An error of a file that was included comes with the lines that it is about.
fn tell(session: &mut Session<'_>, error: &RunError) {
    match error {
        RunError::Message(message) => session.event(Event::Error(message)),
        RunError::Load(errors) => {
            for error in &errors.0 {
                let message = load_message(session, error);
                session.event(Event::Error(&message));
            }
        }
    }
}

fn end(session: Session<'_>, failed: bool, error: Option<RunError>) -> RunEnd {
    let first_failure = session.first_failure.get().filter(|_| failed);
    RunEnd {
        counters: session.all_counters(),
        failed,
        unreachable: !session.unreachable.is_empty(),
        first_failure,
        error,
    }
}

#[cfg(test)]
#[path = "playbook_tests.rs"]
mod tests;
