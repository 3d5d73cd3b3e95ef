//! Hides what tasks with `no_log` lacked: a lookup names what it was asked for, and a task is known to be hidden when it has ended.

use modbox_tasks::report::events::{Event, Events};

use crate::cli::play::needs::Needs;

/// A receiver of events that hides needs of tasks, and hands the events on.
pub(crate) struct NeedsOfEvents<'a> {
    pub(crate) needs: &'a Needs,
    /// Number of needs at the beginning of the task.
    pub(crate) before: usize,
    pub(crate) inner: &'a mut dyn Events,
}

impl Events for NeedsOfEvents<'_> {
    fn event(&mut self, event: Event<'_>) {
        match &event {
            Event::TaskStart(_) => self.before = self.needs.count(),
            Event::Result { outcome, .. } | Event::Item { outcome, .. } if outcome.is_hidden() => {
                self.needs.hide_after(self.before);
            }
            _ => {}
        }
        self.inner.event(event);
    }
}
