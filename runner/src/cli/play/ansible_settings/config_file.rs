//! The file `ansible.cfg`: which one counts, as Ansible finds it, and what it has.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use modbox_tasks::settings::{FileSettings, read_file};

use crate::cli::process::environment::Environment;

/// Maximum bytes of the file.
const MAX_FILE: u64 = 1 << 20;

/// The name of the file.
const NAME: &str = "ansible.cfg";

/// A file that was read.
#[derive(Debug)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) settings: FileSettings,
    /// Whether it is the one of the working directory, which may have come with the play. Its paths widen nothing.
    pub(super) is_of_play: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) file: Option<ConfigFile>,
    /// Files that were left out, with the reason.
    pub(super) notes: Vec<String>,
}

/// Finds and reads the file as ansible-core does (`find_ini_config_file`): the one that the variable names, that of the working
/// directory unless all may write there, that of the home folder, that of the machine.
///
/// # Errors
///
/// The file cannot be read, or is not an INI file.
pub(super) fn find(environment: &Environment, plays: &[PathBuf]) -> anyhow::Result<Found> {
    let mut notes = Vec::new();
    let named = environment.variable("ANSIBLE_CONFIG").filter(|path| !path.is_empty()).map(|path| {
        let path = environment.absolute(&expanded(Path::new(path), environment.home().as_deref()));
        if path.is_dir() { path.join(NAME) } else { path }
    });
    let here = environment.cwd.join(NAME);
    let is_open = environment.cwd.metadata().is_ok_and(|found| found.permissions().mode() & 0o002 != 0);
    let refused = match here.is_file() {
        true if is_open => Some("all users may write in its folder"),
        true if !is_within(&here, &environment.cwd) => {
            Some("it is a link that leads out of its folder; set `ANSIBLE_CONFIG` to what it leads to")
        }
        _ => None,
    };
    if let Some(reason) = refused.filter(|_| named.as_ref() != Some(&here)) {
        notes.push(format!("`{}` is not read: {reason}", here.display()));
    }
    let own = refused.is_none().then(|| here.clone());
    let of_user = environment.home().map(|home| home.join(".ansible.cfg"));
    let of_machine = Some(PathBuf::from("/etc/ansible/ansible.cfg"));
    let mut places = [named, own, of_user, of_machine].into_iter().flatten();
    let path = places.find(|path| path.is_file());
    let beside = plays.iter().filter_map(|play| play.parent()).map(|folder| folder.join(NAME));
    for beside in beside.filter(|beside| beside.is_file() && Some(beside) != path.as_ref() && *beside != here) {
        let shown = beside.display();
        notes.push(format!(
            "`{shown}` is not read, as by Ansible, which looks in the current folder; start modbox there, or set `ANSIBLE_CONFIG`"
        ));
    }
    let Some(path) = path else { return Ok(Found { file: None, notes }) };
    let shown = path.display();
    let bytes = modbox_files::read_file(&path, MAX_FILE).with_context(|| format!("failed to read `{shown}`"))?;
    let text = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("failed to read `{shown}`: it is not UTF-8"))?;
    let settings = read_file(&text).map_err(|error| anyhow::anyhow!("failed to read `{shown}`: {error}"))?;
    let is_of_play = path == here;
    Ok(Found { file: Some(ConfigFile { path, settings, is_of_play }), notes })
}

/// Returns whether a path lies in a folder, by its name and after its links are followed. A path that does not exist leads nowhere.
pub(super) fn is_within(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize();
    let stays = match (real(path), real(folder)) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        (Err(error), _) => error.kind() == ErrorKind::NotFound && !path.is_symlink(),
        (_, Err(_)) => false,
    };
    path.starts_with(folder) && stays
}

/// Returns a path with the home folder for `~`.
pub(crate) fn expanded(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_owned(),
    }
}
