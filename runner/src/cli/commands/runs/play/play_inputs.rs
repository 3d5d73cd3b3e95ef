//! What a play is told before it opens anything of its own: policy, settings of Ansible, passwords, and where modules, roles and
//! inventories are.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use modbox_policy::{Access, MergedPolicy, PathGrant, normalize};
use modbox_tasks::load::context::{LoadSettings, OnDuplicate};
use modbox_template::PluginKind;

use crate::cli::args::PlayArgs;
use crate::cli::commands::runs::play::play_asking::asks;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::named::find::Lookup;
use crate::cli::new_policy_file;
use crate::cli::play::files::inventory::{self, InventorySource};
use crate::cli::play::run_options::{user, verbosity};
use crate::cli::play::{self, AnsibleSettings, CallerFolders, VaultStore, vault_secrets};
use crate::cli::printing::output;
use crate::cli::settings::Settings;

/// What the modules and plugins of a play may do.
pub(super) struct PlayGrants {
    pub(super) settings: Arc<Settings>,
    /// The grants to every module, which lookups have, too.
    pub(super) merged: MergedPolicy,
    /// Whether a person is asked for what modules lack.
    pub(super) asks: bool,
}

impl PlayGrants {
    /// Reads the policy files and switches.
    ///
    /// # Errors
    ///
    /// A switch or policy file is wrong, switches exclude each other, or the file to learn into cannot be made.
    pub(super) fn read(context: &Context, args: &PlayArgs) -> Result<Self, Failure> {
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
        if merged.policy.allows_everything() {
            output::print_note("--allow-all: the modules can do everything that you can");
        }
        Ok(Self { settings: Arc::new(settings), merged, asks })
    }

    /// Says whether a module of the play may be granted to write anything that its arguments do not name.
    fn writes_freely(&self) -> bool {
        let policy = &self.merged.policy;
        let is_written = |grant: &PathGrant| grant.access == Access::Write;
        policy.allows_everything() || self.settings.has_rules_for_some() || policy.paths().iter().any(is_written)
    }
}

/// What a play is told.
pub(super) struct PlayInputs {
    pub(super) grants: PlayGrants,
    /// Absolute paths of the playbooks.
    pub(super) files: Vec<PathBuf>,
    pub(super) ansible: Arc<AnsibleSettings>,
    pub(super) vault: Arc<VaultStore>,
    pub(super) lookup: Lookup,
    pub(super) load: LoadSettings,
    /// The folders that settings name for plugins of one kind.
    pub(super) plugin_folders: Vec<(PluginKind, PathBuf)>,
    pub(super) inventory: Vec<InventorySource>,
}

impl PlayInputs {
    /// Reads what the switches, the environment and `ansible.cfg` say, and prints notes on settings without effect.
    ///
    /// # Errors
    ///
    /// As [`PlayGrants::read`]; also a playbook, setting, password or interpreter is missing or wrong.
    pub(super) fn read(context: &Context, args: &PlayArgs) -> Result<Self, Failure> {
        let grants = PlayGrants::read(context, args)?;
        let environment = &context.environment;
        let files: Vec<PathBuf> = args.files.iter().map(|file| environment.absolute(file)).collect();
        files.iter().try_for_each(|file| check_playbook(file)).or_usage()?;
        let mut ansible = AnsibleSettings::load(environment, &files).or_usage()?;
        let vault = vault_secrets::read(&args.ansible, &mut ansible, context).or_usage()?;
        let vault = Arc::new(VaultStore::new(vault));
        let lookup = lookup(context, args, &mut ansible, &vault)?;
        args.ansible.check(&user().name).or_usage()?;
        let writes_freely = grants.writes_freely();
        let load = LoadSettings { writes_freely, ..load_settings(context, args, &lookup, &mut ansible) };
        let plugin_folders = play::plugin_folders(&mut ansible, environment.home().as_deref());
        let inventory = inventory::sources(environment, &args.inventory, &mut ansible);
        ansible.notes.iter().for_each(|note| output::print_note(note));
        if verbosity(args, &ansible) > 0 {
            args.ansible.notes().iter().chain(&ansible.details).for_each(|note| output::print_note(note));
        }
        let ansible = Arc::new(ansible);
        Ok(Self { grants, files, ansible, vault, lookup, load, plugin_folders, inventory })
    }

    /// Returns the folders of the playbooks.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        self.files.iter().filter_map(|file| file.parent()).map(Path::to_owned).collect()
    }

    /// Returns the folders in which roles and collections are searched.
    pub(super) fn searched(&self) -> impl Iterator<Item = PathBuf> {
        let collections = self.load.collections_path.iter().map(|root| Path::new(root).join("ansible_collections"));
        self.load.roles_path.iter().map(PathBuf::from).chain(collections)
    }

    /// Returns the folders whose text is the caller's own. Roles and collections in the folder of a play belong to it; those
    /// in folders that are searched for every play do not.
    pub(super) fn caller_folders(&self) -> CallerFolders {
        let own: Vec<PathBuf> = self.files.iter().filter_map(|file| file.parent()).map(normalize).collect();
        let is_of_play =
            |folder: &PathBuf| own.iter().any(|own| *folder == own.join("roles") || *folder == own.join("collections"));
        let searched = self.load.roles_path.iter().chain(&self.load.collections_path);
        let searched = searched.map(|folder| normalize(Path::new(folder)));
        let foreign = searched.filter(|folder| !own.contains(folder) && !is_of_play(folder)).collect();
        CallerFolders { own, foreign }
    }
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
