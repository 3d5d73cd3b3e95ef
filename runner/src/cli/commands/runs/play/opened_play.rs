//! A play whose files are open: what reads, names and renders its tasks, and what runs them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use modbox_contract::Release;
use modbox_run::batch::{PoolConfig, Sequence};
use modbox_run::usual_python;
use modbox_tasks::load::context::Loader;
use modbox_tasks::load::play_metadata::candidates;
use modbox_tasks::run::options::RunOptions;

use crate::cli::ansible::installed_release::installed;
use crate::cli::args::PlayArgs;
use crate::cli::asking::session::Session;
use crate::cli::commands::runs::play::play_inputs::PlayInputs;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::job_resolver::JobResolver;
use crate::cli::play::files::inventory;
use crate::cli::play::python_plugins::folders_beside;
use crate::cli::play::run_options::run_options;
use crate::cli::play::{
    self, ArgumentTrust, EngineSources, ModuleNames, PlayEngine, PlayHost, PlayTree, PluginRules, TaskModules,
    TaskResources,
};

/// A play whose files are open.
pub(super) struct OpenedPlay<'a> {
    context: &'a Context,
    args: &'a PlayArgs,
    pub(super) inputs: PlayInputs,
    pub(super) tree: Arc<PlayTree>,
    pub(super) engine: PlayEngine,
    names: ModuleNames<'a>,
    pub(super) options: RunOptions,
    release: Release,
}

impl<'a> OpenedPlay<'a> {
    /// Opens the files of a play, and loads its inventory and its plugins.
    ///
    /// # Errors
    ///
    /// The inventory, an extra variable or a setting is wrong.
    pub(super) fn open(context: &'a Context, args: &'a PlayArgs, inputs: PlayInputs) -> Result<Self, Failure> {
        let environment = &context.environment;
        let tree = open_tree(context, args, &inputs);
        let given = inventory::load(&tree, &inputs.inventory, inputs.load.merges_mappings).or_usage()?;
        let tree = Arc::new(tree);
        let release = args.contract.unwrap_or_else(|| installed(environment, &inputs.lookup).max(Release::V2_21));
        let engine = engine(context, args, &inputs, (&tree, release));
        let first_folder = inputs.files.first().and_then(|file| file.parent()).unwrap_or_else(|| Path::new("/"));
        let beside = folders_beside(&tree, &inputs.folders());
        let names = ModuleNames::new(context, &inputs.lookup, (first_folder, &beside), Arc::clone(&engine.plugins));
        let python = usual_python(&inputs.lookup.python, inputs.lookup.interpreter(), &environment.cwd);
        let python = python.map(|python| python.display().to_string());
        let extra = play::extra_vars(&args.extra_vars, &inputs.vault, inputs.load.merges_mappings).or_usage()?;
        let mut options =
            run_options(args, extra, &inputs.ansible, &inputs.inventory, given, python.as_deref()).or_usage()?;
        if release > Release::V2_21 {
            release.version().clone_into(&mut options.ansible_version);
        }
        Ok(Self { context, args, inputs, tree, engine, names, options, release })
    }

    /// Returns what reads the playbooks.
    pub(super) fn loader(&self) -> Loader<'_> {
        Loader::new(&*self.tree, &self.engine.templates, &self.names, &self.inputs.load)
    }

    /// Returns the host of the tasks.
    ///
    /// # Errors
    ///
    /// The audit file or the process that runs modules cannot be opened.
    pub(super) fn host(&self) -> Result<PlayHost<'_>, Failure> {
        let (context, inputs, runner) = (self.context, &self.inputs, &self.engine.runner);
        let pool = PoolConfig {
            jobs: 1,
            runner: Arc::clone(runner),
            workers: context.workers.clone(),
            cleanup: context.cleanup.clone(),
        };
        let sequence = Sequence::new(pool).or_internal()?;
        let (lookup, settings) = (inputs.lookup.clone(), &inputs.grants.settings);
        let (providers, merged) = (&self.args.providers, inputs.grants.merged.clone());
        let resources = TaskResources::new(context, providers, Arc::clone(runner), merged, lookup.interpreters.clone());
        let resolver = JobResolver::new(context, Arc::clone(runner), lookup, Arc::clone(settings))?;
        let modules = TaskModules::new(context, resolver, sequence, Arc::clone(&self.tree), self.args.prefer);
        let trust = ArgumentTrust::new(Arc::clone(&self.tree), self.args.strict.then(|| inputs.caller_folders()));
        let mut host = PlayHost::new(context, &self.names, &self.tree, modules, resources, trust, self.release);
        if inputs.grants.asks {
            host.set_asking(Session::new(context, settings, "modbox play"));
        }
        Ok(host)
    }
}

/// Opens the folders and files that a play may read.
fn open_tree(context: &Context, args: &PlayArgs, inputs: &PlayInputs) -> PlayTree {
    let home = context.environment.home();
    let mut tree = PlayTree::open(&inputs.folders(), home.as_deref(), &inputs.grants.merged.policy);
    tree.set_vault(Arc::clone(&inputs.vault));
    tree.withhold(&inputs.ansible.password_files);
    if let Some(folder) = inputs.ansible.folder_of_play() {
        tree.set_config_folder(folder, home.as_deref());
    }
    tree.add_sources(inputs.searched());
    tree.add_sources(inputs.plugin_folders.iter().map(|(_, folder)| folder.clone()));
    for file in &inputs.files {
        tree.add_file(file);
        let metadata = candidates(&file.to_string_lossy()).into_iter().map(PathBuf::from);
        metadata.filter(|metadata| metadata.is_file()).for_each(|metadata| tree.add_file(&metadata));
    }
    inventory::open(&mut tree, &inputs.inventory);
    if args.strict {
        tree.refuse_new_sources();
    }
    if args.learn.is_some() {
        tree.learn();
    }
    tree
}

fn engine(
    context: &Context,
    args: &PlayArgs,
    inputs: &PlayInputs,
    (tree, release): (&Arc<PlayTree>, Release),
) -> PlayEngine {
    // What is only read or explained runs plugins, too, but does nothing.
    let runs = !(args.explain || args.syntax_check || args.list_hosts || args.list_tasks || args.list_tags);
    let sources = EngineSources {
        tree: Arc::clone(tree),
        merged: &inputs.grants.merged,
        rules: PluginRules { settings: Arc::clone(&inputs.grants.settings), is_applied: runs },
        lookup: &inputs.lookup,
        ansible: Arc::clone(&inputs.ansible),
        vault: Arc::clone(&inputs.vault),
        folders: &inputs.folders(),
        collections_path: &inputs.load.collections_path,
        plugin_folders: &inputs.plugin_folders,
        release,
        explains: args.explain,
        learns: args.learn.is_some(),
    };
    PlayEngine::new(context, sources)
}
