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
mod play_engine;
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

use modbox_policy::Policy;
use modbox_tasks::template_file::search::{TemplateSearch, with_templates};
use modbox_template::TemplateFiles;

pub(crate) use self::ansible_settings::AnsibleSettings;
pub(crate) use self::extra_vars::{described, named_python, read as extra_vars};
pub(crate) use self::files::tree::PlayTree;
pub(crate) use self::host::PlayHost;
pub(crate) use self::learning::SharedLearning;
pub(crate) use self::play_engine::{EngineSources, PlayEngine};
pub(crate) use self::play_secrets::masked as without_secrets;
pub(crate) use self::python_plugins::{PluginRules, plugin_folders};
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
