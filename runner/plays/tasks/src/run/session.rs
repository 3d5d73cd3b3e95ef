//! The state of a run: the caller's host, the variables, the play that runs, and what was counted.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;
use modbox_template::{Engine, Layer, Scope};
use modbox_yaml::{Position, Source};

use crate::action_host::{ActionHost, HostErrorKind};
use crate::keywords::Keyword;
use crate::known_hosts::KnownHosts;
use crate::load::context::LoadSettings;
use crate::load::values;
use crate::model::frame::Frame;
use crate::model::play::Play;
use crate::model::role::Role;
use crate::model::task::Task;
use crate::report::counters::{Counters, CustomStats};
use crate::report::events::{Event, Events};
use crate::report::message::{Excerpt, Message};
use crate::run_options::RunOptions;
use crate::vars::host::HostVars;
use crate::vars::layer;
use crate::vars::magic;
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
    /// The hosts that are known, with those that tasks added.
    pub hosts: KnownHosts,
    /// The host that the play runs for.
    pub host_name: String,
    /// Hosts of the play that are not this machine. Only tasks without a connection run for them.
    pub elsewhere: Vec<String>,
    /// Hosts that plays ran for, or will run for again.
    pub parked: IndexMap<String, HostState>,
    /// Variables of the other hosts.
    pub others: Arc<Layer>,
    /// Files of variables of groups and hosts that were read, by what they are for.
    pub variable_files: RefCell<HashMap<String, Vec<Arc<Layer>>>>,
    /// Whether the operator is still asked before each task.
    pub step: bool,
    /// The name of the first task to run, until it was found.
    pub start_at: Option<String>,
    /// Variables of which was said that they make no difference.
    pub told_variables: HashSet<&'static str>,
    /// Tasks of the play that one host runs for all, by their places and how often they were reached.
    pub done_once: HashSet<(String, usize)>,
    /// Handlers that wait for the commit.
    pub late: Vec<LateHandlers>,
    /// Whether a play failed on the host.
    pub failed: bool,
    /// Hosts of plays that are not this machine, and that no further play runs for.
    pub unreachable: HashSet<String>,
    /// What stopped the run first.
    pub first_failure: Cell<Option<HostErrorKind>>,
    next_id: u64,
}

/// The state of a host that no play runs for at the moment.
#[derive(Debug, Default)]
pub struct HostState {
    /// Its variables.
    pub vars: HostVars,
    /// Its counters.
    pub counters: Counters,
    /// Whether a play failed on it, so that no further one runs.
    pub failed: bool,
}

/// Handlers of a play that wait for the commit.
#[derive(Debug)]
pub struct LateHandlers {
    /// The host that the play ran for.
    pub host: String,
    /// The play as it was when the last of them was reached.
    pub play: PlayState,
    /// In the order in which they were reached, each once.
    pub handlers: Vec<Arc<Task>>,
}

/// The state of a play.
#[derive(Debug, Clone)]
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
    /// Its lists of handlers.
    pub handlers: Vec<Vec<Arc<Task>>>,
    /// Names and topics that were notified, in order.
    pub notified: Vec<String>,
    /// Handlers that run when a flush reaches them.
    pub pending: Vec<Arc<Task>>,
    /// Uses of roles that ran.
    pub role_states: HashMap<String, RoleState>,
    /// Whether the whole play ended.
    pub ended: bool,
    /// The hosts that it runs for.
    pub hosts: Vec<String>,
    /// The batch of the host.
    pub batch: BatchState,
    /// How often tasks with `run_once` were reached, by their places.
    pub reached: HashMap<String, usize>,
    /// Variables that the run sets by itself, lowest first.
    pub magic: Vec<Arc<Layer>>,
}

/// How far a batch of hosts is.
#[derive(Debug, Clone, Copy, Default)]
pub struct BatchState {
    /// Number of its hosts.
    pub hosts: usize,
    /// Number of those that have failed.
    pub failed: usize,
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
        let mut vars = HostVars::default();
        vars.set_rules(options.injects_facts, settings.merges_mappings);
        Self {
            engine,
            host,
            events,
            options,
            settings,
            vars,
            counters: Counters::default(),
            custom: CustomStats::default(),
            reached: magic::of_host(&options.python),
            connection: magic::of_connection(&options.host, &KnownHosts::new(options), options.managed.as_deref()),
            play: PlayState::of(first),
            hosts: KnownHosts::new(options),
            host_name: options.host.clone(),
            elsewhere: Vec::new(),
            parked: IndexMap::new(),
            others: layer::empty(),
            variable_files: RefCell::default(),
            step: options.step,
            start_at: options.start_at_task.clone(),
            told_variables: HashSet::new(),
            done_once: HashSet::new(),
            late: Vec::new(),
            failed: false,
            unreachable: HashSet::new(),
            first_failure: Cell::default(),
            next_id: 0,
        }
    }

    /// Returns a number that no other task of the run has.
    pub fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Makes a host the one that the play runs for.
    pub fn enter(&mut self, name: &str) {
        if name == self.host_name {
            return;
        }
        let state = self.parked.shift_remove(name).unwrap_or_default();
        let vars = std::mem::replace(&mut self.vars, state.vars);
        let counters = std::mem::replace(&mut self.counters, state.counters);
        let failed = std::mem::replace(&mut self.failed, state.failed);
        self.vars.set_rules(self.options.injects_facts, self.settings.merges_mappings);
        self.connection = magic::of_connection(name, &self.hosts, self.options.managed.as_deref());
        let left = std::mem::replace(&mut self.host_name, name.to_owned());
        self.parked.insert(left, HostState { vars, counters, failed });
    }

    /// Counts hosts as unreachable.
    pub fn lose(&mut self, hosts: &[String]) {
        for host in hosts {
            let counters = &mut self.parked.entry(host.clone()).or_default().counters;
            counters.unreachable += 1;
            counters.touched = true;
            self.unreachable.insert(host.clone());
        }
    }

    /// Says whether a play failed on a host, or cannot reach it.
    #[must_use]
    pub fn has_failed(&self, host: &str) -> bool {
        if self.unreachable.contains(host) {
            return true;
        }
        if host == self.host_name { self.failed } else { self.parked.get(host).is_some_and(|state| state.failed) }
    }

    /// Says whether a play failed on any host.
    #[must_use]
    pub fn any_failed(&self) -> bool {
        self.failed || self.parked.values().any(|state| state.failed)
    }

    /// Returns the counters of all hosts that tasks ran for, sorted by their names.
    #[must_use]
    pub fn all_counters(&self) -> Vec<(String, Counters)> {
        let parked = self.parked.iter().map(|(name, state)| (name.clone(), state.counters));
        let mut all: Vec<_> = parked.chain([(self.host_name.clone(), self.counters)]).collect();
        all.retain(|(_, counters)| counters.touched);
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// Says whether a name is that of the host that the play runs for.
    #[must_use]
    pub fn is_this_host(&self, name: &str) -> bool {
        name == self.host_name || (self.options.inventory.is_none() && self.hosts.is_own_name(name))
    }

    /// Says whether a host is this machine.
    #[must_use]
    pub fn is_here(&self, name: &str) -> bool {
        (name == self.host_name && !self.is_for_elsewhere()) || self.hosts.is_here(name)
    }

    /// Says whether the play runs for a host that is not this machine at the moment.
    #[must_use]
    pub fn is_for_elsewhere(&self) -> bool {
        self.elsewhere.contains(&self.host_name)
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
            merges: self.settings.merges_mappings,
        };
        let mut scope = layers.scope(task);
        if let Some(task) = task {
            scope.push(Arc::new(magic::of_task(task, &self.play.folder)));
            scope.set_action(task.action_text());
        }
        let of_host = self.play.magic.get(..2).unwrap_or_default();
        let hostvars = self.vars.hostvars(&self.options.extra_vars, of_host);
        scope.push(Arc::new(magic::views(&self.host_name, hostvars, &self.others)));
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
            merges: self.settings.merges_mappings,
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
    pub fn note_failure(&self, kind: HostErrorKind) {
        self.first_failure.set(self.first_failure.get().or(Some(kind)));
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
            hosts: Vec::new(),
            batch: BatchState::default(),
            reached: HashMap::new(),
            magic: Vec::new(),
        }
    }

    /// Returns the sources of a keyword of the play.
    #[must_use]
    pub fn keyword(&self, keyword: Keyword) -> Option<&Source> {
        self.frame.keywords.get(keyword)
    }
}
