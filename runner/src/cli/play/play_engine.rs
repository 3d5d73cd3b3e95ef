//! The engine of templates of a play or of `modbox template`, with the Python plugins that it may call.

use std::path::PathBuf;
use std::sync::Arc;

use modbox_contract::Release;
use modbox_policy::MergedPolicy;
use modbox_run::{PluginPlace, Runner};
use modbox_tasks::lookups::table::ActingLookups;
use modbox_template::{Config, Engine, PluginKind};

use crate::cli::context::Context;
use crate::cli::named::find::Lookup;
use crate::cli::play::ansible_settings::AnsibleSettings;
use crate::cli::play::files::tree::PlayTree;
use crate::cli::play::lookup_host::PlayLookups;
use crate::cli::play::machine::Machine;
use crate::cli::play::play_secrets::PlaySecrets;
use crate::cli::play::python_plugins::{PlayPlugins, PluginRules, collection_folders};
use crate::cli::play::vault_store::VaultStore;
use crate::cli::runner::runner;

/// What an engine is made of.
pub(crate) struct EngineSources<'a> {
    /// The files that templates and lookups may read.
    pub(crate) tree: Arc<PlayTree>,
    /// What lookups and plugins may do.
    pub(crate) merged: &'a MergedPolicy,
    /// The rules for single plugins.
    pub(crate) rules: PluginRules,
    /// Where ansible-core is, which runs the plugins.
    pub(crate) lookup: &'a Lookup,
    pub(crate) ansible: Arc<AnsibleSettings>,
    pub(crate) vault: Arc<VaultStore>,
    /// The folders of the playbooks or of the template.
    pub(crate) folders: &'a [PathBuf],
    /// Absolute paths of the folders in which collections are searched.
    pub(crate) collections_path: &'a [String],
    /// The folders that a setting names for plugins of one kind.
    pub(crate) plugin_folders: &'a [(PluginKind, PathBuf)],
    /// Decides whether templates and lookups make secrets.
    pub(crate) release: Release,
    /// Whether lookups run and write nothing.
    pub(crate) explains: bool,
    /// Whether the run teaches a policy file.
    pub(crate) learns: bool,
}

/// An engine, with the runner and the plugins that a play uses next to it.
pub(crate) struct PlayEngine {
    pub(crate) templates: Engine,
    pub(crate) runner: Arc<Runner>,
    pub(crate) plugins: Arc<PlayPlugins>,
}

impl PlayEngine {
    /// Makes the engine, and loads the plugins beside the playbooks and in the folders of settings.
    pub(crate) fn new(context: &Context, sources: EngineSources<'_>) -> Self {
        let runner = Arc::new(runner(context, None, sources.lookup.python.clone()));
        let plugins = Arc::new(plugins(context, &sources, &runner));
        let environment = context.environment.clone();
        let secrets = PlaySecrets::of(sources.release);
        let machine = Machine::new(environment.clone(), Arc::clone(&sources.tree), secrets);
        let lookups = PlayLookups {
            environment,
            tree: sources.tree,
            policy: sources.merged.policy.clone(),
            limits: sources.merged.limits,
            runner: Arc::clone(&runner),
            secrets,
            settings: sources.ansible,
            explains: sources.explains,
            learns: sources.learns,
        };
        let templates = Engine::new(Config {
            lookups: Arc::new(ActingLookups::new(Arc::new(lookups))),
            host: Arc::new(machine),
            plugins: Arc::clone(&plugins) as _,
            vault: sources.vault,
        });
        for folder in sources.folders {
            plugins.folder_found(&folder.to_string_lossy());
        }
        for (kind, folder) in sources.plugin_folders {
            plugins.configured_folder(*kind, &folder.to_string_lossy());
        }
        Self { templates, runner, plugins }
    }
}

fn plugins(context: &Context, sources: &EngineSources<'_>, runner: &Arc<Runner>) -> PlayPlugins {
    let EngineSources { tree, merged, rules, lookup, ansible, .. } = sources;
    let collections = collection_folders(tree, sources.folders, sources.collections_path, ansible);
    let place = PluginPlace::find(&lookup.python, lookup.interpreter(), &context.environment.cwd, collections);
    PlayPlugins::new(Arc::clone(tree), Arc::clone(runner), (&merged.policy, rules.clone()), place)
}
