//! Settings of Ansible for a play: those that variables of the environment and `ansible.cfg` set, and what is said of those that
//! are not honoured.
//!
//! A switch of the command line comes before a variable, and a variable before the file. The table of `modbox_tasks::settings` says
//! which settings are honoured; doing what they say is the work of the callers.

mod config_file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use modbox_contract::Value;
use modbox_tasks::settings::{ALL, Kind, Setting, Status, parse};

pub(crate) use self::config_file::expanded;
use self::config_file::{ConfigFile, is_within};
use crate::cli::play::extent::Extent;
use crate::cli::play::file_id::FileId;
use crate::cli::process::environment::Environment;

/// How the origin of a value begins that a variable of the environment sets.
const VARIABLE: &str = "the variable";

/// A setting that the operator set.
#[derive(Debug, Clone)]
struct Given {
    value: Value,
    /// The variable or the file, for messages and for `lookup('config', …, show_origin=true)`.
    origin: String,
    /// Whether the file of the play sets it.
    is_of_play: bool,
}

/// Settings whose folders are not opened for the play as they are: of collections only what is in a folder of that name, and of
/// modules nothing.
const UNOPENED: [&str; 2] = ["COLLECTIONS_PATHS", "DEFAULT_MODULE_PATH"];

/// The settings of a run.
#[derive(Debug, Default)]
pub(crate) struct AnsibleSettings {
    given: BTreeMap<&'static str, Given>,
    cwd: PathBuf,
    /// The folder of the file, to which its paths are relative.
    folder: Option<PathBuf>,
    /// Whether that file may have come with the play.
    is_file_of_play: bool,
    home: Option<PathBuf>,
    /// What is said before the play.
    pub(crate) notes: Vec<String>,
    /// What `-v` tells.
    pub(crate) details: Vec<String>,
    /// Files from which passwords of vaults were read.
    pub(crate) password_files: Vec<FileId>,
}

impl AnsibleSettings {
    /// Reads the settings for playbooks.
    ///
    /// # Errors
    ///
    /// The file cannot be read, a value has a wrong type, or a setting would change what the play means and is not supported.
    pub(crate) fn load(environment: &Environment, plays: &[PathBuf]) -> anyhow::Result<Self> {
        let found = config_file::find(environment, plays)?;
        let file = found.file.as_ref();
        let folder = file.and_then(|file| file.path.parent()).map(Path::to_owned);
        let (cwd, home) = (environment.cwd.clone(), environment.home());
        let is_file_of_play = file.is_some_and(|file| file.is_of_play);
        let mut settings = Self { cwd, folder, is_file_of_play, home, notes: found.notes.clone(), ..Self::default() };
        for setting in ALL {
            if let Some(given) = given(setting, environment, file)? {
                settings.judge(setting, &given)?;
                settings.given.insert(setting.name, given);
            }
        }
        settings.name_unknown(environment, file);
        Ok(settings)
    }

    /// Says what is to be said of a setting.
    fn judge(&mut self, setting: &Setting, given: &Given) -> anyhow::Result<()> {
        if given.value == setting.default_value() {
            return Ok(());
        }
        let origin = &given.origin;
        match setting.status {
            Status::Honoured => {}
            Status::NoMeaning => self.details.push(format!("{origin} makes no difference here")),
            Status::Told(instead) => self.notes.push(format!("{origin} makes no difference: {instead}")),
            Status::Only(words, _) if given.value.as_str().is_some_and(|word| words.contains(&word)) => {}
            Status::Refused(instead) | Status::Only(_, instead) => {
                let shown = modbox_contract::encode(&given.value);
                bail!(
                    "failed to run the play as Ansible would: {origin} sets `{}` to {shown}, which is not supported; {instead}",
                    setting.name
                )
            }
        }
        Ok(())
    }

    /// Names variables and keys that ansible-core does not know. They may belong to plugins.
    fn name_unknown(&mut self, environment: &Environment, file: Option<&ConfigFile>) {
        const PLUGINS: &str = "ansible-core itself has no such settings, and plugins that may have them see variables only by a rule, and no `ansible.cfg`";
        // The first one names the file, modbox reads the others elsewhere.
        const OTHERS: [&str; 3] = ["ANSIBLE_CONFIG", "ANSIBLE_ASYNC_DIR", "ANSIBLE_COLLECTIONS_PATHS"];
        let is_known = |name: &str| OTHERS.contains(&name) || ALL.iter().any(|known| known.environment.contains(&name));
        let names = environment.variables.iter().filter_map(|(name, _)| name.to_str());
        let unknown: Vec<String> = names
            .filter(|name| name.starts_with("ANSIBLE_") && !is_known(name))
            .map(|name| format!("`{name}`"))
            .collect();
        if !unknown.is_empty() {
            self.notes.push(format!("the variables {} make no difference: {PLUGINS}", unknown.join(", ")));
        }
        let Some(file) = file else { return };
        let known = |section: &str, key: &str| ALL.iter().any(|setting| setting.keys.contains(&(section, key)));
        let keys = file.settings.keys().filter(|(section, key)| !known(section, key));
        let unknown: Vec<String> = keys.map(|(section, key)| format!("`[{section}] {key}`")).collect();
        if !unknown.is_empty() {
            let shown = file.path.display();
            self.notes.push(format!("the keys {} of `{shown}` make no difference: {PLUGINS}", unknown.join(", ")));
        }
    }

    /// Returns the value of a setting that is set, and what sets it.
    pub(crate) fn get(&self, name: &str) -> Option<(Value, String)> {
        self.given.get(name).map(|given| (given.value.clone(), given.origin.clone()))
    }

    /// Returns a boolean that is set.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.given.get(name)?.value {
            Value::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    /// Returns a number that is set.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        match self.given.get(name)?.value {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    /// Returns a text that is set.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name)?.value.as_str()
    }

    /// Says whether mappings that several places give to one variable become one.
    pub(crate) fn merges_mappings(&self) -> bool {
        self.text("DEFAULT_HASH_BEHAVIOUR") == Some("merge")
    }

    /// Returns the items of a list that is set, without empty ones.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let items = self.given.get(name).and_then(|given| given.value.as_list()).unwrap_or_default();
        items.iter().filter_map(Value::as_str).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    /// Returns folders or files that are set, as absolute paths. A path of the play's own file that leads out of its folder, also
    /// by a link, and a folder there that does not belong to the play, such as `.git`, are left out, with a note that names the
    /// switch or the variable (`NAME=`) for it: the file may have come with the play.
    pub(crate) fn paths(&mut self, name: &str, switch: &str) -> Option<Vec<PathBuf>> {
        let base = self.base(name)?;
        let texts = self.list(name);
        Some(texts.iter().filter_map(|text| self.place(name, &base, text, switch)).collect())
    }

    /// Returns a file that is set, as an absolute path, by the rules of [`AnsibleSettings::paths`].
    pub(crate) fn file(&mut self, name: &str, switch: &str) -> Option<PathBuf> {
        let (base, text) = (self.base(name)?, self.text(name)?.to_owned());
        self.place(name, &base, &text, switch)
    }

    /// Returns a file that a part of a setting names, relative to the working directory, by the rules of
    /// [`AnsibleSettings::paths`].
    pub(crate) fn named_file(&mut self, name: &str, text: &str, switch: &str) -> Option<PathBuf> {
        let base = self.cwd.clone();
        self.place(name, &base, text, switch)
    }

    /// Returns the folder to which the paths of a setting are relative.
    fn base(&self, name: &str) -> Option<PathBuf> {
        let is_variable = self.given.get(name)?.origin.starts_with(VARIABLE);
        if is_variable { Some(self.cwd.clone()) } else { self.folder.clone() }
    }

    /// Returns the absolute path that a text of a setting stands for; `None`, with a note, if the setting may not name it.
    fn place(&mut self, name: &str, base: &Path, text: &str, switch: &str) -> Option<PathBuf> {
        let given = self.given.get(name)?;
        let text = text.replace("{{CWD}}", &self.cwd.display().to_string());
        let path = modbox_policy::normalize(&base.join(expanded(Path::new(&text), self.home.as_deref())));
        let reason = match path.metadata() {
            _ if !given.is_of_play || self.is_usual(&path) => return Some(path),
            // Reading a pipe could wait for ever.
            Ok(found) if !found.is_file() && !found.is_dir() => "it is neither a file nor a folder",
            _ if !is_within(&path, base) => "it is outside of the folder of the file",
            Ok(found) if found.is_dir() && !UNOPENED.contains(&name) => match self.left_out(base, &path) {
                Some(reason) => reason,
                None => return Some(path),
            },
            _ => return Some(path),
        };
        let (shown, origin) = (path.display(), &given.origin);
        let space = if switch.ends_with('=') { "" } else { " " };
        self.notes.push(format!("`{shown}` of {origin} is left out: {reason}; use `{switch}{space}{shown}`"));
        None
    }

    /// Returns the folder of the file that may have come with the play.
    pub(crate) fn folder_of_play(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| self.is_file_of_play)
    }

    /// Says whether the file that may have come with the play names a path of a setting there, or could have.
    pub(crate) fn is_of_play(&self, name: &str, path: &Path) -> bool {
        let is_given = self.given.get(name).is_some_and(|given| given.is_of_play);
        is_given && self.folder.as_ref().is_some_and(|folder| path.starts_with(folder)) && !self.is_usual(path)
    }

    /// Returns why a folder in the folder of the file does not belong to the play, by its name or where a link leads it.
    fn left_out(&self, base: &Path, path: &Path) -> Option<&'static str> {
        let (real_base, real) = (base.canonicalize().ok()?, path.canonicalize().ok()?);
        let extent = Extent::of_project(&real_base, self.home.as_deref());
        let rests = [path.strip_prefix(base), real.strip_prefix(&real_base)];
        rests.into_iter().filter_map(Result::ok).find_map(|rest| extent.left_out(rest))
    }

    /// Says whether a path is one of the folders that each play may use: those of Ansible in the home folder and of the machine.
    fn is_usual(&self, path: &Path) -> bool {
        let own = self.home.as_ref().map(|home| home.join(".ansible"));
        let machine = ["/usr/share/ansible", "/etc/ansible"].map(PathBuf::from);
        own.into_iter().chain(machine).any(|folder| path.starts_with(folder))
    }
}

/// Returns the value that a variable or the file gives to a setting.
fn given(setting: &Setting, environment: &Environment, file: Option<&ConfigFile>) -> anyhow::Result<Option<Given>> {
    let variable = |name: &&&str| environment.variable(name).is_some();
    let (text, origin, is_of_play) = if let Some(name) = setting.environment.iter().rev().find(variable) {
        let text = environment.variable(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
        (text, format!("{VARIABLE} `{name}`"), false)
    } else {
        let Some(file) = file else { return Ok(None) };
        let found = setting.keys.iter().rev().find_map(|(section, key)| Some((key, file.settings.get(section, key)?)));
        let Some((key, text)) = found else { return Ok(None) };
        (text.to_owned(), format!("`{key}` in `{}`", file.path.display()), file.is_of_play)
    };
    let value = parse(setting.kind, &text).map_err(|expected| {
        anyhow::anyhow!("failed to read the setting `{}`: {origin} is `{text}`; {expected}", setting.name)
    })?;
    let value = match (setting.kind, value) {
        (Kind::Path, Value::Str(path)) => {
            Value::from(expanded(Path::new(&path), environment.home().as_deref()).display().to_string())
        }
        (_, value) => value,
    };
    Ok(Some(Given { value, origin, is_of_play }))
}

/// Says whether facts are gathered only by plays that ask for it.
///
/// # Errors
///
/// The value is unknown.
pub(crate) fn gathers_explicitly(settings: &AnsibleSettings) -> anyhow::Result<bool> {
    match settings.text("DEFAULT_GATHERING").unwrap_or("implicit") {
        "explicit" => Ok(true),
        // `smart` keeps the facts of earlier plays; to gather them again gives the same.
        "implicit" | "smart" => Ok(false),
        other => {
            let origin = settings.get("DEFAULT_GATHERING").map(|(_, origin)| origin).unwrap_or_default();
            bail!(
                "failed to read the setting `DEFAULT_GATHERING`: {origin} is `{other}`; use `implicit`, `explicit` or `smart`"
            )
        }
    }
}
