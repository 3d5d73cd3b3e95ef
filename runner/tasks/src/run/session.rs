//! The state of a run: the caller's host, the variables, the play that runs, and what was counted.

use std::collections::HashMap;
use std::sync::Arc;

use modbox_template::{Engine, Layer, Scope};
use modbox_yaml::{Position, Source};

use crate::keywords::Keyword;
use crate::load::context::LoadSettings;
use crate::load::values;
use crate::model::frame::Frame;
use crate::model::play::Play;
use crate::model::role::Role;
use crate::model::task::Task;
use crate::report::counters::{Counters, CustomStats};
use crate::report::events::{Event, Events};
use crate::report::message::{Excerpt, Message};
use crate::run::host::{ActionHost, HostErrorKind};
use crate::run::options::RunOptions;
use crate::vars::host::HostVars;
use crate::vars::magic::{self, AddedHost};
use crate::vars::stack::Layers;

/// The state of a run.
pub struct Session<'a> {
    /// The template engine.
    pub engine: &'a Engine,
    /// What the caller does for tasks.
    pub host: &'a mut dyn ActionHost,
    /// Where events go.
    pub events: &'a mut dyn Events,
    /// The operator's options.
    pub options: &'a RunOptions,
    /// The operator's settings for reading plays.
    pub settings: &'a LoadSettings,
    /// Variables of the host.
    pub vars: HostVars,
    /// The counters of the recap.
    pub counters: Counters,
    /// Statistics that tasks set.
    pub custom: CustomStats,
    /// How the host is reached, and its interpreter of Python, as variables of the host.
    pub reached: Arc<Layer>,
    /// What tasks see of the connection.
    pub connection: Arc<Layer>,
    /// The play that runs.
    pub play: PlayState,
    /// Groups of the host, with those that tasks added.
    pub groups: Vec<String>,
    /// Hosts that tasks added.
    pub added_hosts: Vec<AddedHost>,
    /// Whether the operator is still asked before each task.
    pub step: bool,
    /// The name of the first task to run, until it was found.
    pub start_at: Option<String>,
    /// What stopped the run first.
    pub first_failure: Option<HostErrorKind>,
    next_id: u64,
}

/// The state of a play.
#[derive(Debug)]
pub struct PlayState {
    /// The name.
    pub name: String,
    /// The folder of its playbook.
    pub folder: String,
    /// Its keywords.
    pub frame: Arc<Frame>,
    /// Its variables, with those of prompts, lowest first.
    pub vars: Vec<Arc<Layer>>,
    /// Its files of variables that were read.
    pub files: Vec<Arc<Layer>>,
    /// The variables of the host when the files were read.
    pub files_generation: Option<u64>,
    /// Its roles.
    pub roles: Vec<Arc<Role>>,
    /// Its handlers.
    pub handlers: Vec<Arc<Task>>,
    /// Names and topics that were notified, in order.
    pub notified: Vec<String>,
    /// Handlers that run when a flush reaches them.
    pub pending: Vec<Arc<Task>>,
    /// Uses of roles that ran.
    pub role_states: HashMap<String, RoleState>,
    /// Whether the whole play ended.
    pub ended: bool,
    magic: Vec<Arc<Layer>>,
}

/// What happened to a use of a role.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoleState {
    /// Whether one of its tasks ran.
    pub had_task: bool,
    /// Whether it ran to its end.
    pub completed: bool,
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("play", &self.play.name)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

impl<'a> Session<'a> {
    /// Returns the state before the first play.
    pub fn new(
        engine: &'a Engine,
        host: &'a mut dyn ActionHost,
        events: &'a mut dyn Events,
        options: &'a RunOptions,
        settings: &'a LoadSettings,
        first: &Play,
    ) -> Self {
        Self {
            engine,
            host,
            events,
            options,
            settings,
            vars: HostVars::default(),
            counters: Counters::default(),
            custom: CustomStats::default(),
            reached: magic::of_host(&options.python),
            connection: magic::of_connection(&options.host, magic::is_implicit(&options.groups)),
            play: PlayState::of(first),
            groups: options.groups.clone(),
            added_hosts: Vec::new(),
            step: options.step,
            start_at: options.start_at_task.clone(),
            first_failure: None,
            next_id: 0,
        }
    }

    /// Returns a number that no other task of the run has.
    pub fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Computes the engine's variables anew, for a play whose name, roles or groups changed.
    pub fn refresh_magic(&mut self) {
        let play = &self.play;
        self.play.magic = vec![
            Arc::new(magic::of_run(self.options, &play.folder, &self.groups, &self.added_hosts)),
            Arc::new(magic::of_play(&play.name, &self.options.host, &play.roles)),
        ];
    }

    /// Returns the variables of a task, or those of the play.
    #[must_use]
    pub fn scope(&self, task: Option<&Task>) -> Scope {
        let mut play = self.play.vars.clone();
        play.extend(self.play.files.iter().cloned());
        let layers = Layers {
            connection: Some(&self.connection),
            host: Some(&self.vars),
            play: &play,
            roles: &self.play.roles,
            extra: &self.options.extra_vars,
            magic: &self.play.magic,
        };
        let mut scope = layers.scope(task);
        if let Some(task) = task {
            scope.push(Arc::new(magic::of_task(task, &self.play.folder)));
        }
        let of_run = self.play.magic.get(..1).unwrap_or_default();
        let hostvars = self.vars.hostvars(&self.options.extra_vars, of_run);
        scope.push(Arc::new(magic::views(&self.options.host, hostvars, &self.added_hosts)));
        scope
    }

    /// Returns the variables of a task that do not belong to the host.
    #[must_use]
    pub fn play_scope(&self, task: &Task) -> Scope {
        let mut play = self.play.vars.clone();
        play.extend(self.play.files.iter().cloned());
        let layers = Layers {
            connection: None,
            host: None,
            play: &play,
            roles: &self.play.roles,
            extra: &self.options.extra_vars,
            magic: &self.play.magic,
        };
        layers.scope(Some(task))
    }

    /// Sends an event.
    pub fn event(&mut self, event: Event<'_>) {
        self.events.event(event);
    }

    /// Sends a warning that belongs to no task.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.events.event(Event::Warning(&Message::new(text)));
    }

    /// Returns the lines around a position, for a message.
    #[must_use]
    pub fn excerpt(&self, position: &Position) -> Option<Excerpt> {
        Excerpt::in_file(position, self.host.files())
    }

    /// Records a failure, of which the first decides the exit status.
    pub fn note_failure(&mut self, kind: HostErrorKind) {
        self.first_failure.get_or_insert(kind);
    }

    /// Returns the collections in which actions of a task are looked up.
    #[must_use]
    pub fn collections(&self, task: &Task) -> Vec<String> {
        let mut names: Vec<String> = task.frame.role().and_then(|role| role.collection.clone()).into_iter().collect();
        let named = task.keyword(Keyword::Collections).map(values::items).unwrap_or_default();
        names.extend(named.iter().filter_map(values::scalar_text));
        names
    }
}

impl PlayState {
    /// Returns the state of a play that starts.
    #[must_use]
    pub fn of(play: &Play) -> Self {
        Self {
            name: String::new(),
            folder: play.folder.clone(),
            frame: Arc::clone(&play.frame),
            vars: play.vars.clone(),
            files: Vec::new(),
            files_generation: None,
            roles: play.roles.clone(),
            handlers: play.handlers.clone(),
            notified: Vec::new(),
            pending: Vec::new(),
            role_states: HashMap::new(),
            ended: false,
            magic: Vec::new(),
        }
    }

    /// Returns the sources of a keyword of the play.
    #[must_use]
    pub fn keyword(&self, keyword: Keyword) -> Option<&Source> {
        self.frame.keywords.get(keyword)
    }
}
