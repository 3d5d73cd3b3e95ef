//! Where the events of a play go: text, JSON lines, or a page. None of them gets the secrets of the play, nor those that results have
//! told it.

use std::io;

use modbox_run::play_redactor;
use modbox_tasks::report::events::{Event, Events};

use crate::cli::args::PlayFormat;
use crate::cli::play::needs::Need;
use crate::cli::play::play_secrets::masked;
use crate::cli::play::python_plugins::PluginListing;
use crate::cli::play::shown::human::Human;
use crate::cli::play::shown::jsonl::JsonLines;
use crate::cli::play::shown::masked_event;
use crate::cli::play::shown::page::PlayPage;

/// A receiver of events that is finished at the end of the run.
pub(crate) enum Sink {
    Human(Box<Human>),
    Jsonl(JsonLines<io::Stdout>),
    Html(Box<PlayPage>),
}

impl Sink {
    /// Creates the receiver of a format.
    pub(crate) fn new(format: PlayFormat, verbosity: u8, shows_skipped: bool) -> Self {
        match format {
            PlayFormat::Human => Self::Human(Box::new(Human::new(verbosity, shows_skipped))),
            PlayFormat::Jsonl => Self::Jsonl(JsonLines::new(io::stdout())),
            PlayFormat::Html => Self::Html(Box::new(PlayPage::new())),
        }
    }

    /// Tells of the Python plugins of the play before its first task, where the output is for programs.
    pub(crate) fn plugins(&mut self, plugins: &[PluginListing]) {
        if let Self::Jsonl(lines) = self {
            lines.plugins(plugins);
        }
    }

    /// Writes what is left. `needs` are grants that lookups and the play's files lacked.
    ///
    /// # Errors
    ///
    /// Standard output cannot be written.
    pub(crate) fn finish(self, needs: &[Need]) -> io::Result<()> {
        let shown = |need: &Need| Need { action: masked(&need.action), switch: masked(&need.switch) };
        match self {
            Self::Human(human) => {
                human.finish(&needs.iter().map(shown).collect::<Vec<_>>());
                Ok(())
            }
            Self::Jsonl(lines) => lines.finish(),
            Self::Html(page) => page.write(io::stdout().lock()),
        }
    }
}

impl Events for Sink {
    fn event(&mut self, event: Event<'_>) {
        match play_redactor() {
            Some(redactor) => masked_event::send(&redactor, &event, |event| self.write(event)),
            None => self.write(event),
        }
    }
}

impl Sink {
    fn write(&mut self, event: Event<'_>) {
        match self {
            Self::Human(events) => events.event(event),
            Self::Jsonl(lines) => lines.event(event),
            Self::Html(page) => page.event(event),
        }
    }
}
