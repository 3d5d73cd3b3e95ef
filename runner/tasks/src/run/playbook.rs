//! Running a playbook: its plays in order, until one fails, and the recap.

use modbox_template::Engine;

use crate::load::context::LoadSettings;
use crate::model::play::Playbook;
use crate::report::counters::Counters;
use crate::report::events::{Event, Events};
use crate::report::message::Message;
use crate::run::host::{ActionHost, HostErrorKind};
use crate::run::options::RunOptions;
use crate::run::play::{self, PlayEnd, RunError};
use crate::run::session::Session;

/// How a playbook ended.
#[derive(Debug)]
pub struct RunEnd {
    /// The counters of the recap.
    pub counters: Counters,
    /// Whether a task failed that was neither ignored nor rescued.
    pub failed: bool,
    /// What stopped the run first, if it was not an ordinary failure of a task.
    pub first_failure: Option<HostErrorKind>,
    /// Why the run ended at once, without a recap.
    pub error: Option<RunError>,
}

/// Runs a playbook.
pub fn run(
    playbook: &Playbook,
    engine: &Engine,
    host: &mut dyn ActionHost,
    events: &mut dyn Events,
    options: &RunOptions,
    settings: &LoadSettings,
) -> RunEnd {
    events.event(Event::PlaybookStart { file: &playbook.file });
    let Some(first) = playbook.plays.first() else {
        let counters = Counters::default();
        return RunEnd { counters, failed: false, first_failure: None, error: None };
    };
    let mut session = Session::new(engine, host, events, options, settings, first);
    let mut failed = false;
    for play in &playbook.plays {
        match play::run(&mut session, play) {
            Ok(PlayEnd::Done) => {}
            Ok(PlayEnd::Failed) => {
                failed = true;
                break;
            }
            Err(error) => {
                if let RunError::Message(message) = &error {
                    session.event(Event::Error(message));
                }
                return end(session, true, Some(error));
            }
        }
    }
    let (host, counters, custom) = (options.host.as_str(), session.counters, session.custom.clone());
    session.event(Event::Stats { host, counters: &counters, custom: &custom });
    if let Some(name) = &session.start_at {
        let text = format!("No matching task \"{name}\" found. Note: --start-at-task can only follow static includes.");
        session.events.event(Event::Error(&Message::new(text)));
    }
    end(session, failed, None)
}

fn end(session: Session<'_>, failed: bool, error: Option<RunError>) -> RunEnd {
    let first_failure = session.first_failure.filter(|_| failed);
    RunEnd { counters: session.counters, failed, first_failure, error }
}
