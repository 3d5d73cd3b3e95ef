//! What the operator decides about a run.

use std::sync::Arc;

use modbox_template::Layer;

use crate::inventory::sources::GivenInventory;

/// The operator's options.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The host's name: what `hosts` patterns are compared with, and what output shows.
    pub host: String,
    /// Whether the operator has said which host this machine is, so that plays leave others out.
    pub is_named: bool,
    /// Groups of the host, besides `all` and `ungrouped`.
    pub groups: Vec<String>,
    /// The operator's inventory; `None` for this host alone.
    pub inventory: Option<Arc<GivenInventory>>,
    /// The connection of plays that do not say one.
    pub connection: Option<String>,
    /// Whether nothing may be changed.
    pub check: bool,
    /// Whether differences are shown.
    pub diff: bool,
    /// The number of `-v`.
    pub verbosity: u8,
    /// The number of forks that variables show; hosts run one after the other all the same.
    pub forks: u32,
    /// Tags of tasks to run; empty for all.
    pub tags: Vec<String>,
    /// Tags of tasks not to run.
    pub skip_tags: Vec<String>,
    /// The name of the first task to run.
    pub start_at_task: Option<String>,
    /// Whether to ask before each task.
    pub step: bool,
    /// Whether notified handlers run although a task failed.
    pub force_handlers: bool,
    /// Whether only plays that ask for it gather facts.
    pub gather_explicitly: bool,
    /// Whether tasks become another user where they do not say.
    pub become_by_default: bool,
    /// The user that tasks become where they do not say.
    pub become_user: Option<String>,
    /// Whether results are hidden where tasks do not say.
    pub no_log: bool,
    /// Whether a failure stops the play for all hosts where tasks do not say.
    pub any_errors_fatal: bool,
    /// Seconds that a task may take where it does not say; 0 for no limit.
    pub task_timeout: i64,
    /// Seconds between looks at a job where its task does not say.
    pub poll_interval: i64,
    /// Whether a notification that means no handler is an error.
    pub needs_handlers: bool,
    /// The user that modbox runs as.
    pub user: UserInfo,
    /// Extra variables.
    pub extra_vars: Arc<Layer>,
    /// The limit of hosts, as the operator gave it.
    pub limit: Option<String>,
    /// The version of ansible-core that variables show.
    pub ansible_version: String,
    /// Whether results of modules repeat the arguments, as `invocation`, where no task says otherwise (`INJECT_INVOCATION` of
    /// ansible-core 2.21).
    pub repeats_arguments: bool,
    /// The interpreter of Python that variables show.
    pub python: String,
    /// Whether facts are variables of their own names, too.
    pub injects_facts: bool,
    /// What a pattern of hosts does that fits none.
    pub on_mismatch: OnMismatch,
    /// The template of `ansible_managed` in template files; `None` for Ansible's text.
    pub managed: Option<String>,
    /// Whether skipped tasks are shown.
    pub shows_skipped: bool,
    /// The soft limit of open files of Python modules, where no variable says it; 0 to leave it.
    pub open_files: u64,
}

/// What a pattern of hosts does that fits none (ansible-core, `HOST_PATTERN_MISMATCH`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnMismatch {
    /// A warning.
    #[default]
    Warn,
    /// The run ends.
    Fail,
    /// Nothing.
    Ignore,
}

/// The user that modbox runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserInfo {
    /// The name.
    pub name: String,
    /// Whether it is root.
    pub is_root: bool,
}

/// Ansible's number of forks where nothing sets it.
pub const FORKS: u32 = 5;

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            host: "localhost".to_owned(),
            is_named: false,
            groups: Vec::new(),
            inventory: None,
            connection: None,
            check: false,
            diff: false,
            verbosity: 0,
            forks: FORKS,
            tags: Vec::new(),
            skip_tags: Vec::new(),
            start_at_task: None,
            step: false,
            force_handlers: false,
            gather_explicitly: false,
            become_by_default: false,
            become_user: None,
            no_log: false,
            any_errors_fatal: false,
            task_timeout: 0,
            poll_interval: 15,
            needs_handlers: true,
            user: UserInfo { name: "root".to_owned(), is_root: true },
            extra_vars: Arc::default(),
            limit: None,
            ansible_version: "2.21.5".to_owned(),
            repeats_arguments: false,
            python: "/usr/bin/python3".to_owned(),
            injects_facts: true,
            on_mismatch: OnMismatch::Warn,
            managed: None,
            shows_skipped: true,
            open_files: 0,
        }
    }
}

impl RunOptions {
    /// Returns the patterns of hosts that plays are limited to; empty for no limit.
    #[must_use]
    pub fn limit_patterns(&self) -> Vec<String> {
        self.limit.iter().filter(|limit| !limit.is_empty()).cloned().collect()
    }
}
