//! Events of a run, in the order in which they happen.

use modbox_yaml::Position;

use crate::report::counters::{Counters, CustomStats};
use crate::report::message::Message;
use crate::report::outcome::Outcome;

/// Receives events.
pub trait Events {
    /// Takes note of an event.
    fn event(&mut self, event: Event<'_>);
}

/// Something that happened.
#[derive(Debug)]
#[allow(missing_docs, reason = "the fields are the subjects of the events")]
pub enum Event<'a> {
    /// A playbook starts.
    PlaybookStart { file: &'a str },
    /// A play starts.
    PlayStart(&'a PlayInfo),
    /// A play is for other hosts.
    NoHostsMatched,
    /// The last host of a play failed.
    NoHostsRemaining,
    /// A task or a handler starts.
    TaskStart(&'a TaskInfo),
    /// An item of a loop ended.
    Item { task: &'a TaskInfo, outcome: &'a Outcome },
    /// An attempt failed, and another one follows.
    Retry { task: &'a TaskInfo, outcome: &'a Outcome },
    /// A task ended. `ignored` says that its failure does not stop the play.
    Result { task: &'a TaskInfo, outcome: &'a Outcome, ignored: bool },
    /// A task is an include, and its file or role was read.
    Included { task: &'a TaskInfo, name: &'a str, label: Option<String> },
    /// A job of a task with `async` was looked at.
    AsyncPoll { id: String, started: String, finished: String },
    /// A job of a task with `async` ended.
    AsyncEnd { id: String, failed: bool },
    /// A handler was notified.
    Notified { handler: &'a str },
    /// A meta task did something.
    Meta { text: &'a str },
    /// A text for the reader, such as that of a pause.
    Display { text: &'a str },
    /// A text that is shown from a verbosity on.
    Verbose { level: u8, text: &'a str },
    /// A warning that belongs to no task.
    Warning(&'a Message),
    /// An error that belongs to no task.
    Error(&'a Message),
    /// A playbook ended.
    Stats { hosts: &'a [(String, Counters)], custom: &'a CustomStats },
}

/// What events say about a play.
#[derive(Debug, Clone)]
pub struct PlayInfo {
    /// The name, or the pattern of hosts.
    pub name: String,
    /// Whether the play runs in check mode.
    pub check_mode: bool,
    /// Where it is written.
    pub position: Position,
}

/// What events say about a task.
#[derive(Debug, Clone)]
pub struct TaskInfo {
    /// Tells the runs of tasks of a playbook apart.
    pub id: u64,
    /// The name, with that of its role, or the action.
    pub name: String,
    /// The own name, without that of the role.
    pub short_name: String,
    /// The action, as the play writes it.
    pub action: String,
    /// The host, and the host that the task is delegated to.
    pub host_label: String,
    /// The host.
    pub host: String,
    /// Whether it is a handler.
    pub is_handler: bool,
    /// Whether it includes tasks or a role.
    pub is_include: bool,
    /// Whether it repeats for items.
    pub is_loop: bool,
    /// Whether it runs in check mode.
    pub check_mode: bool,
    /// Whether differences are shown.
    pub diff: bool,
    /// Where it is written. `None` for tasks that the engine adds.
    pub position: Position,
}
