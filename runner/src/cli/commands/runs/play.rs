//! `modbox play`: runs the tasks of playbooks on this host.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Context as _;
use modbox_contract::Release;
use modbox_policy::{Access, PathGrant, normalize};
use modbox_run::batch::{PoolConfig, Sequence};
use modbox_run::{PluginPlace, usual_python};
use modbox_tasks::error::{LoadError, LoadErrors};
use modbox_tasks::load::context::{LoadSettings, Loader, OnDuplicate};
use modbox_tasks::load::findings::BadTemplate;
use modbox_tasks::load::play_metadata::candidates;
use modbox_tasks::load::playbook;
use modbox_tasks::model::play::Playbook;
use modbox_tasks::run::host::HostErrorKind;
use modbox_tasks::run::listing::{self, Listing};
use modbox_tasks::run::options::RunOptions;
use modbox_tasks::run::play::RunError;
use modbox_tasks::run::playbook::{RunEnd, run as run_playbooks};
use modbox_template::Engine;

use crate::cli::ansible::installed_release::installed;
use crate::cli::args::{PlayArgs, PlayFormat};
use crate::cli::asking::session::Session;
use crate::cli::commands::policy::usable;
use crate::cli::commands::runs::load_errors::{spared_text, with_lines};
use crate::cli::commands::runs::play_asking::asks;
use crate::cli::commands::runs::play_learning::write_learned;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::job_resolver::JobResolver;
use crate::cli::layered_play::{LayeredPlay, SharedLayeredPlay, prepare_process};
use crate::cli::named::find::Lookup;
use crate::cli::new_policy_file;
use crate::cli::play::files::inventory;
use crate::cli::play::run_options::{run_options, user, verbosity};
use crate::cli::play::{
    self, AnsibleSettings, ArgumentTrust, CallerFolders, Explainer, ModuleNames, PlayHost, PlayPlugins, PlayTree,
    PluginRules, SharedLearning, Sink, TaskModules, TaskResources, VaultStore, vault_secrets, with_root_powers,
};
use crate::cli::printing::output;
use crate::cli::process::deep_stack;
use crate::cli::runner::runner;
use crate::cli::settings::Settings;

/// How many texts that may never be reached are named before a run.
const MAX_SPARED: usize = 10;

/// Runs the playbooks, on layers if that is asked for.
pub(crate) fn run(context: &Context, args: &PlayArgs) -> Result<ExitStatus, Failure> {
    prepare_process(args)?;
    let play = || {
        let layered = LayeredPlay::enter(context, args)?;
        let status = run_plays(context, args, layered.clone())?;
        layered.map_or(Ok(status), |layered| layered.conclude(status))
    };
    deep_stack::run(play).or_internal()?
}

/// Runs the playbooks. A play on layers is one of this thread.
fn run_plays<'a>(
    context: &'a Context,
    args: &'a PlayArgs,
    layered: Option<SharedLayeredPlay<'a>>,
) -> Result<ExitStatus, Failure> {
    args.grants.refuse_outside().or_usage()?;
    args.learn.as_deref().map_or(Ok(()), new_policy_file::check_new).or_usage()?;
    let mut settings = Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
    let asks = asks(args, &settings)?;
    if args.layers.preview && !args.layers.preview_net {
        settings.withhold_network();
    }
    if args.strict {
        settings.restrict_results();
    }
    let merged = settings.for_every_module().or_usage()?;
    let policy = &merged.policy;
    if policy.allows_everything() {
        output::print_note("--allow-all: the modules can do everything that you can");
    }
    let environment = &context.environment;
    let files: Vec<PathBuf> = args.files.iter().map(|file| environment.absolute(file)).collect();
    files.iter().try_for_each(|file| check_playbook(file)).or_usage()?;
    let mut ansible = AnsibleSettings::load(environment, &files).or_usage()?;
    let vault = vault_secrets::read(&args.ansible, &mut ansible, context).or_usage()?;
    let vault = Arc::new(VaultStore::new(vault));
    let lookup = lookup(context, args, &mut ansible, &vault)?;
    args.ansible.check(&user().name).or_usage()?;
    let mut load = load_settings(context, args, &lookup, &mut ansible);
    let is_written = |grant: &PathGrant| grant.access == Access::Write;
    load.writes_freely =
        policy.allows_everything() || settings.has_rules_for_some() || policy.paths().iter().any(is_written);
    let runner = Arc::new(runner(context, None, lookup.python.clone()));
    let plugin_folders = play::plugin_folders(&mut ansible, environment.home().as_deref());
    let sources = inventory::sources(environment, &args.inventory, &mut ansible);
    ansible.notes.iter().for_each(|note| output::print_note(note));
    if verbosity(args, &ansible) > 0 {
        args.ansible.notes().iter().chain(&ansible.details).for_each(|note| output::print_note(note));
    }
    let ansible = Arc::new(ansible);
    let mut tree = PlayTree::open(&folders(&files), environment.home().as_deref(), policy);
    tree.set_vault(Arc::clone(&vault));
    tree.withhold(&ansible.password_files);
    if let Some(folder) = ansible.folder_of_play() {
        tree.set_config_folder(folder, environment.home().as_deref());
    }
    tree.add_sources(searched(&load));
    tree.add_sources(plugin_folders.iter().map(|(_, folder)| folder.clone()));
    for file in &files {
        tree.add_file(file);
        let metadata = candidates(&file.to_string_lossy()).into_iter().map(PathBuf::from);
        metadata.filter(|metadata| metadata.is_file()).for_each(|metadata| tree.add_file(&metadata));
    }
    inventory::open(&mut tree, &sources);
    if args.strict {
        tree.refuse_new_sources();
    }
    if args.learn.is_some() {
        tree.learn();
    }
    let given = inventory::load(&tree, &sources, load.merges_mappings).or_usage()?;
    let tree = Arc::new(tree);
    let release = args.contract.unwrap_or_else(|| installed(environment, &lookup).max(Release::V2_21));
    let collections = play::collection_folders(&tree, &folders(&files), &load.collections_path, &ansible);
    let place = PluginPlace::find(&lookup.python, lookup.interpreter(), &environment.cwd, collections);
    let settings = Arc::new(settings);
    // What is only read or explained runs plugins, too, but does nothing.
    let runs = !(args.explain || args.syntax_check || args.list_hosts || args.list_tasks || args.list_tags);
    let rules = PluginRules { settings: Arc::clone(&settings), is_applied: runs };
    let plugins = Arc::new(PlayPlugins::new(Arc::clone(&tree), Arc::clone(&runner), (policy, rules), place));
    let known = (Arc::clone(&ansible), Arc::clone(&vault), Some(Arc::clone(&plugins)));
    let engine = play::engine(
        context,
        &tree,
        &merged,
        Arc::clone(&runner),
        (release, args.explain, args.learn.is_some()),
        known,
    );
    let first_folder = files.first().and_then(|file| file.parent()).unwrap_or_else(|| Path::new("/")).to_owned();
    folders(&files).iter().for_each(|folder| plugins.folder_found(&folder.to_string_lossy()));
    plugin_folders.iter().for_each(|(kind, folder)| plugins.configured_folder(*kind, &folder.to_string_lossy()));
    let names = ModuleNames::new(context, lookup.clone(), &first_folder, Arc::clone(&plugins));
    let python = usual_python(&lookup.python, lookup.interpreter(), &environment.cwd);
    let python = python.map(|python| python.display().to_string());
    let extra_vars = play::extra_vars(&args.extra_vars, &vault, load.merges_mappings).or_usage()?;
    let mut options = run_options(args, extra_vars, &ansible, &sources, given, python.as_deref()).or_usage()?;
    if release > Release::V2_21 {
        release.version().clone_into(&mut options.ansible_version);
    }
    let playbooks = read_all(&files, &Loader::new(&*tree, &engine, &names, &load), &options, args)?;
    if args.syntax_check {
        return syntax_checked(&playbooks);
    }
    if args.list_hosts || args.list_tasks || args.list_tags {
        let listing = Listing {
            hosts: args.list_hosts,
            tasks: args.list_tasks,
            tags: args.list_tags,
            merges_mappings: load.merges_mappings,
        };
        return list(&playbooks, &engine, &options, listing);
    }
    let pool = PoolConfig {
        jobs: 1,
        runner: Arc::clone(&runner),
        workers: context.workers.clone(),
        cleanup: context.cleanup.clone(),
    };
    let sequence = Sequence::new(pool).or_internal()?;
    let resources =
        TaskResources::new(context, &args.providers, Arc::clone(&runner), merged, lookup.interpreters.clone());
    let resolver = JobResolver::new(context, runner, lookup, Arc::clone(&settings))?;
    let modules = TaskModules::new(context, resolver, sequence, Arc::clone(&tree), args.prefer);
    let trust = ArgumentTrust::new(Arc::clone(&tree), args.strict.then(|| caller_folders(&files, &load)));
    let mut host = PlayHost::new(context, &names, &tree, modules, resources, trust, release);
    layered.into_iter().for_each(|layered| host.set_layered(layered));
    if asks {
        host.set_asking(Session::new(context, &settings, "modbox play"));
    }
    let learning = args.learn.as_ref().map(|_| SharedLearning::default());
    learning.iter().for_each(|learning| host.learn(Rc::clone(learning)));
    if args.explain {
        return explain(context, (&playbooks, &plugins), (&engine, &tree, &mut host), (&options, &load), args.output);
    }
    let mut sink = Sink::new(args.output, options.verbosity, options.shows_skipped);
    sink.plugins(&plugins.listings());
    let ended = run_playbooks(&playbooks, &engine, &mut host, &mut sink, &options, &load);
    let needs = tree.needs().take();
    let shown = if learning.is_some() { &[][..] } else { &needs };
    let finished = sink.finish(shown).context("failed to write to standard output").or_internal();
    let status = exit_status(&ended);
    if let (Some(learning), Some(file)) = (learning, &args.learn) {
        write_learned(context, &learning, &needs, (file, args.reasons, status))?;
    }
    finished.map(|()| status)
}

/// Says why a path cannot be a playbook.
fn check_playbook(file: &Path) -> anyhow::Result<()> {
    let shown = file.display();
    match file.metadata() {
        Ok(found) if found.is_file() => Ok(()),
        Ok(found) if found.is_dir() => anyhow::bail!("failed to read the playbook `{shown}`: it is a directory"),
        Ok(_) => anyhow::bail!("failed to read the playbook `{shown}`: it is not a regular file"),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            anyhow::bail!("failed to read the playbook `{shown}`: the file does not exist")
        }
        Err(error) => Err(error).with_context(|| format!("failed to read the playbook `{shown}`")),
    }
}

/// Explains the playbooks, and runs nothing.
fn explain(
    context: &Context,
    (playbooks, plugins): (&[Playbook], &PlayPlugins),
    (engine, tree, host): (&Engine, &PlayTree, &mut PlayHost<'_>),
    settings: (&RunOptions, &LoadSettings),
    format: PlayFormat,
) -> Result<ExitStatus, Failure> {
    let mut explainer = Explainer::new(format == PlayFormat::Jsonl);
    let mut text = String::new();
    let mut print = |part: &str| text.push_str(part);
    for playbook in playbooks {
        let explained = explainer.playbook(playbook, (engine, tree, &mut *host), settings, &mut print);
        explained.map_err(|message| anyhow::anyhow!("{}", message.brief())).or_usage()?;
    }
    explainer.plugins(&plugins.listings(), &mut print);
    let environment = &context.environment;
    let checked = |policy: &str| usable(environment, policy).map(|policy| with_root_powers(environment, &policy));
    let is_refused = explainer.finish(checked, &mut print).or_internal()?;
    output::print_bytes(play::without_secrets(&text).as_bytes()).or_internal()?;
    Ok(if is_refused { ExitStatus::Usage } else { ExitStatus::Success })
}

/// Returns how modules are looked up.
fn lookup(
    context: &Context,
    args: &PlayArgs,
    ansible: &mut AnsibleSettings,
    vault: &VaultStore,
) -> Result<Lookup, Failure> {
    let mut lookup =
        Lookup::of_run(context, &args.lookup, &args.grants.policy, &args.python.module_utils, args.python.ansiballz)?;
    lookup.add_folders(&args.library);
    let named = ansible.paths("DEFAULT_MODULE_PATH", "--module-path").unwrap_or_default();
    let folders: Vec<PathBuf> = named.into_iter().filter(|folder| folder.is_dir()).collect();
    lookup.add_folders(&folders);
    if lookup.python.collections.variable.is_none() {
        lookup.python.collections.variable = ansible.paths("COLLECTIONS_PATHS", "--collections-path");
    }
    // ansible-core may be installed for the Python that the operator names.
    let named = || play::extra_vars(&args.extra_vars, vault, false).map(|variables| play::named_python(&variables));
    if lookup.interpreter().is_none()
        && let Some(python) = named().or_usage()?
    {
        lookup.interpreters.insert("python".to_owned(), python);
    }
    Ok(lookup)
}

/// Returns where roles and collections are searched.
fn load_settings(context: &Context, args: &PlayArgs, lookup: &Lookup, ansible: &mut AnsibleSettings) -> LoadSettings {
    let environment = &context.environment;
    let of_setting = ansible.paths("DEFAULT_ROLES_PATH", "--roles-path").unwrap_or_default();
    let named = args.roles_path.iter().cloned().chain(of_setting);
    let home = environment.variable("HOME").map(|home| Path::new(home).join(".ansible/roles"));
    let usual = ["/usr/share/ansible/roles", "/etc/ansible/roles"].map(PathBuf::from);
    let shown = |path: PathBuf| environment.absolute(&path).display().to_string();
    LoadSettings {
        roles_path: named.chain(home).chain(usual).map(shown).collect(),
        collections_path: lookup.collection_roots(context).into_iter().map(shown).collect(),
        writes_freely: false,
        private_roles: ansible.flag("DEFAULT_PRIVATE_ROLE_VARS").unwrap_or(false),
        merges_mappings: ansible.merges_mappings(),
        on_duplicate: match ansible.text("DUPLICATE_YAML_DICT_KEY") {
            Some("error") => OnDuplicate::Fail,
            Some("ignore") => OnDuplicate::Ignore,
            _ => OnDuplicate::Warn,
        },
    }
}

/// Returns the folders of the playbooks.
fn folders(files: &[PathBuf]) -> Vec<PathBuf> {
    files.iter().filter_map(|file| file.parent()).map(Path::to_owned).collect()
}

/// Returns the folders in which roles and collections are searched.
fn searched(load: &LoadSettings) -> impl Iterator<Item = PathBuf> {
    let collections = load.collections_path.iter().map(|root| Path::new(root).join("ansible_collections"));
    load.roles_path.iter().map(PathBuf::from).chain(collections)
}

/// Returns the folders whose text is the caller's own. Roles and collections in the folder of a play belong to it; those
/// in folders that are searched for every play do not.
fn caller_folders(files: &[PathBuf], load: &LoadSettings) -> CallerFolders {
    let own: Vec<PathBuf> = files.iter().filter_map(|file| file.parent()).map(normalize).collect();
    let is_of_play =
        |folder: &PathBuf| own.iter().any(|own| *folder == own.join("roles") || *folder == own.join("collections"));
    let searched = load.roles_path.iter().chain(&load.collections_path).map(|folder| normalize(Path::new(folder)));
    let foreign = searched.filter(|folder| !own.contains(folder) && !is_of_play(folder)).collect();
    CallerFolders { own, foreign }
}

fn read_all(
    files: &[PathBuf],
    loader: &Loader<'_>,
    options: &RunOptions,
    args: &PlayArgs,
) -> Result<Vec<Playbook>, Failure> {
    loader.vars.borrow_mut().extra = Arc::clone(&options.extra_vars);
    let (mut playbooks, mut errors) = (Vec::new(), LoadErrors::default());
    for file in files {
        match playbook::read(loader, &file.display().to_string()) {
            Ok(playbook) => playbooks.push(playbook),
            Err(found) => errors.0.extend(found.0),
        }
    }
    loader.take_warnings().iter().for_each(|warning| output::print_note(warning));
    if options.verbosity > 0 {
        loader.take_notes().iter().for_each(|note| output::print_note(note));
    }
    let (refused, spared) = judged(loader.take_bad_templates(), options, args);
    errors.0.extend(refused);
    if !errors.0.is_empty() {
        return Err(with_lines(&errors, loader)).or_usage();
    }
    if !spared.is_empty() {
        output::print_note(&spared_text(&spared, if args.syntax_check { usize::MAX } else { MAX_SPARED }));
    }
    Ok(playbooks)
}

/// Divides what was found into what every run comes to, for which the play is refused, and what a run may never reach. Lists of
/// tasks refuse nothing.
fn judged(bad: Vec<BadTemplate>, options: &RunOptions, args: &PlayArgs) -> (Vec<LoadError>, Vec<LoadError>) {
    if args.list_tasks || args.list_tags {
        return (Vec::new(), Vec::new());
    }
    let selects = !options.tags.is_empty()
        || !options.skip_tags.is_empty()
        || options.start_at_task.is_some()
        || options.limit.is_some()
        || options.step;
    let (refused, spared): (Vec<_>, Vec<_>) =
        bad.into_iter().partition(|bad| bad.is_certain && if args.syntax_check { !bad.is_denied() } else { !selects });
    let errors = |bad: Vec<BadTemplate>| bad.into_iter().map(|bad| bad.error).collect();
    (errors(refused), errors(spared))
}

fn syntax_checked(playbooks: &[Playbook]) -> Result<ExitStatus, Failure> {
    for playbook in playbooks {
        output::print_line("").or_internal()?;
        output::print_name(&format!("playbook: {}", playbook.file)).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

fn list(
    playbooks: &[Playbook],
    engine: &Engine,
    options: &RunOptions,
    listing: Listing,
) -> Result<ExitStatus, Failure> {
    for playbook in playbooks {
        let text = listing::text(playbook, engine, options, listing).or_usage()?;
        output::print_bytes(output::clean(&text).as_bytes()).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

fn exit_status(ended: &RunEnd) -> ExitStatus {
    match (&ended.error, ended.first_failure) {
        (Some(RunError::Load(_)), _) => ExitStatus::Usage,
        (_, Some(HostErrorKind::NotFound)) => ExitStatus::Unavailable,
        (_, Some(HostErrorKind::Denied)) => ExitStatus::Denied,
        (_, Some(HostErrorKind::Limit | HostErrorKind::TimedOut)) => ExitStatus::Limit,
        (_, Some(HostErrorKind::Crash)) => ExitStatus::Crashed,
        (_, Some(HostErrorKind::Internal)) => ExitStatus::Internal,
        (Some(_), None) => ExitStatus::Failed,
        (None, None) if ended.failed => ExitStatus::Failed,
        (None, None) if ended.unreachable => ExitStatus::Denied,
        (None, None) => ExitStatus::Success,
    }
}
