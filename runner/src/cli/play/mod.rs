//! What `modbox play` and `modbox template` need of this machine: modules by the names of tasks, their runs in warm
//! processes, files, lookups that act, and the terminal.
//!
//! The engine of plays is the crate `modbox-tasks`. It reaches the machine only through what this folder gives it, under
//! the policy of the command line.

pub(crate) mod ansible_settings;
mod clock;
mod explained_call;
mod extent;
mod extra_vars;
mod file_id;
pub(crate) mod files;
mod host;
mod learning;
mod lookup_host;
mod machine;
mod managers;
pub(crate) mod needs;
mod play_secrets;
mod private_keys;
pub(crate) mod python_plugins;
pub(crate) mod run_options;
pub(crate) mod shown;
pub(crate) mod task_modules;
pub(crate) mod vault_secrets;
mod vault_store;

use std::path::Path;
use std::sync::Arc;

use modbox_contract::Release;
use modbox_policy::{MergedPolicy, Policy};
use modbox_run::Runner;
use modbox_tasks::lookups::table::ActingLookups;
use modbox_tasks::template_file::search::{TemplateSearch, with_templates};
use modbox_template::{Config, Engine, NoPythonPlugins, TemplateFiles};

pub(crate) use self::ansible_settings::AnsibleSettings;
pub(crate) use self::extra_vars::{described, named_python, read as extra_vars};
pub(crate) use self::files::tree::PlayTree;
pub(crate) use self::host::PlayHost;
pub(crate) use self::learning::SharedLearning;
use self::lookup_host::PlayLookups;
use self::machine::Machine;
use self::play_secrets::PlaySecrets;
pub(crate) use self::play_secrets::masked as without_secrets;
pub(crate) use self::python_plugins::{PlayPlugins, PluginRules, collection_folders, plugin_folders};
pub(crate) use self::shown::explain::Explainer;
pub(crate) use self::shown::root_powers::with_root_powers;
pub(crate) use self::shown::sink::Sink;
pub(crate) use self::task_modules::argument_trust::{ArgumentTrust, CallerFolders};
pub(crate) use self::task_modules::modules::TaskModules;
pub(crate) use self::task_modules::names::ModuleNames;
pub(crate) use self::task_modules::resources::TaskResources;
pub(crate) use self::task_modules::task_job::{TaskJob, TaskJobEnd};
pub(crate) use self::vault_store::VaultStore;
use crate::cli::context::Context;

/// Returns the engine of templates. Its lookups read the tree, and do what the policy allows; with `explains`, they run
/// and write nothing. The release decides whether templates and lookups make secrets.
pub(crate) fn engine(
    context: &Context,
    tree: &Arc<PlayTree>,
    merged: &MergedPolicy,
    runner: Arc<Runner>,
    (release, explains, learns): (Release, bool, bool),
    (settings, vault, plugins): (Arc<AnsibleSettings>, Arc<VaultStore>, Option<Arc<PlayPlugins>>),
) -> Engine {
    let environment = &context.environment;
    let secrets = PlaySecrets::of(release);
    let lookups = PlayLookups {
        environment: environment.clone(),
        tree: Arc::clone(tree),
        policy: merged.policy.clone(),
        limits: merged.limits,
        runner,
        secrets,
        settings,
        explains,
        learns,
    };
    Engine::new(Config {
        lookups: Arc::new(ActingLookups::new(Arc::new(lookups))),
        host: Arc::new(Machine::new(environment.clone(), Arc::clone(tree), secrets)),
        plugins: match plugins {
            Some(plugins) => plugins,
            None => Arc::new(NoPythonPlugins),
        },
        vault,
    })
}

/// Returns the files that a template file may include: those beside it and in folders `templates`, as for a play in the
/// current folder.
pub(crate) fn template_files(context: &Context, policy: &Policy, template: &Path) -> Arc<dyn TemplateFiles> {
    let path = context.environment.absolute(template);
    let folder = path.parent().unwrap_or_else(|| Path::new("/")).to_owned();
    let folders = [folder, context.environment.cwd.clone()];
    let tree = PlayTree::open(&folders, context.environment.home().as_deref(), policy);
    let named = folders.map(|folder| folder.display().to_string());
    let searched: Vec<String> = std::iter::once(named[0].clone()).chain(with_templates(&named)).collect();
    Arc::new(TemplateSearch::new(Arc::new(tree), searched))
}
