//! A run of a module for a task: what the task says of it.

use std::path::PathBuf;
use std::time::Duration;

use modbox_contract::{Dict, Release, RunModes, Value};
use modbox_policy::{EnvGrant, Rules, TaskNames};
use modbox_run::ArgumentOrigin;
use modbox_run::batch::{Job, JobOptions};
use modbox_vocabulary::GrantSource;

use crate::cli::play::task_modules::private_files;

/// Programs to start instead of interpreters, by the names of these.
pub(crate) type NamedInterpreters = Vec<(String, String)>;

/// A run of a module for a task.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestedRun<'a> {
    pub(crate) name: &'a str,
    pub(crate) args: Dict,
    pub(crate) modes: RunModes,
    /// The release whose contract applies.
    pub(crate) release: Release,
    pub(crate) environment: &'a [(String, String)],
    /// Files of the run's own, which are gone when it ends.
    pub(crate) own_files: Vec<PathBuf>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) collections: &'a [String],
    /// User that the module runs as, if not the one that runs modbox.
    pub(crate) become_user: Option<&'a str>,
    /// Programs to start instead of interpreters, as the task's variables name them.
    pub(crate) interpreters: NamedInterpreters,
    /// Names of the task.
    pub(crate) names: TaskNames,
    /// Where its arguments come from.
    pub(crate) origins: Vec<ArgumentOrigin>,
    /// The limit of the run as a job.
    pub(crate) job_limit: Option<Duration>,
    /// Whether a person is asked for what it lacks. Then it is a transaction, unless it runs as a job.
    pub(crate) is_asked: bool,
    /// Whether the module is observed, where it is native.
    pub(crate) is_observed: bool,
    /// Grants of this run alone.
    pub(crate) more: Rules,
}

impl RequestedRun<'_> {
    /// Returns the job that runs the module for the task.
    pub(crate) fn job(&self) -> Job {
        let options = JobOptions {
            become_user: self.become_user.map(str::to_owned),
            is_asked: self.is_asked && self.job_limit.is_none(),
            is_observed: self.is_observed,
            ..JobOptions::of_modes(self.modes, self.release)
        };
        Job { id: Value::Null, module: PathBuf::from(self.name), args: self.args.clone(), options }
    }

    /// Returns the grants that the task brings: its environment, and files of the run's own.
    pub(crate) fn rules(&self) -> Rules {
        let env = self.environment.iter().map(|(name, value)| EnvGrant {
            name: name.clone(),
            value: value.clone(),
            source: GrantSource::named("`environment` of the task"),
        });
        let paths = private_files::grants(&self.own_files);
        let more = self.more.clone();
        Rules {
            source: Some(GrantSource::named("task")),
            env: env.chain(more.env).collect(),
            paths: paths.chain(more.paths).collect(),
            ..more
        }
    }
}
