//! Where the passwords of vaults come from: files and questions, as switches and settings of Ansible name them.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use modbox_tasks::run::host::Prompt;
use modbox_vault::{Secret, Vault, Zeroizing};

use crate::cli::args::AnsibleSwitches;
use crate::cli::play::ansible_settings::AnsibleSettings;
use crate::cli::play::terminal;
use crate::cli::process::environment::Environment;

/// Maximum bytes of a password.
const MAX_PASSWORD: u64 = 64 << 10;

/// Reads all passwords of a run, in the order in which Ansible tries them: those of settings first, then those of switches.
///
/// # Errors
///
/// A file cannot be read, is a program or has no password, or there is no terminal for a question.
pub(crate) fn read(
    switches: &AnsibleSwitches,
    settings: &mut AnsibleSettings,
    environment: &Environment,
) -> anyhow::Result<Vault> {
    let usual = settings.text("DEFAULT_VAULT_IDENTITY").unwrap_or("default").to_owned();
    let mut secrets = Vec::new();
    for source in settings.list("DEFAULT_VAULT_IDENTITY_LIST").iter().chain(&switches.vault_id) {
        let (id, place) = match source.split_once('@') {
            Some((id, place)) if !id.is_empty() => (id, place),
            Some((_, place)) => (usual.as_str(), place),
            None => (usual.as_str(), source.as_str()),
        };
        let password = match place {
            "prompt" | "prompt_ask_vault_pass" => asked(id)?,
            place => of_file(Path::new(place), environment)?,
        };
        secrets.push(Secret::new(Some(id), password));
    }
    let of_setting: Option<PathBuf> = settings.file("DEFAULT_VAULT_PASSWORD_FILE", "--vault-password-file");
    for file in switches.vault_password_file.iter().cloned().chain(of_setting) {
        secrets.push(Secret::new(Some(&usual), of_file(&file, environment)?));
    }
    if switches.ask_vault_password || (secrets.is_empty() && settings.flag("DEFAULT_ASK_VAULT_PASS") == Some(true)) {
        secrets.push(Secret::new(Some(&usual), asked(&usual)?));
    }
    Ok(Vault::new(secrets, settings.flag("DEFAULT_VAULT_ID_MATCH") == Some(true)))
}

/// Asks the person at the terminal.
fn asked(id: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let named = if id == "default" { String::new() } else { format!(" ({id})") };
    let prompt = Prompt { text: format!("Vault password{named}: "), private: true, ..Prompt::default() };
    let answer = terminal::ask(&prompt)
        .map_err(|_| anyhow::anyhow!("failed to ask for the vault password: there is no terminal, or the question was interrupted; use `--vault-password-file`"))?;
    let answer = Zeroizing::new(answer);
    not_empty(Zeroizing::new(answer.trim().as_bytes().to_vec()), "the answer")
}

/// Reads a password from a file, or a pipe.
fn of_file(path: &Path, environment: &Environment) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let path: PathBuf = match (path.strip_prefix("~"), environment.home()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => environment.absolute(path),
    };
    let shown = path.display();
    let failed = || format!("failed to read the vault password from `{shown}`");
    let mut file = std::fs::File::open(&path).with_context(failed)?;
    let metadata = file.metadata().with_context(failed)?;
    if metadata.is_dir() {
        bail!("{}: it is a directory", failed());
    }
    if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
        bail!(
            "{}: it is a program, which modbox does not start; give what it prints, by `--vault-password-file <({shown})`",
            failed()
        );
    }
    let mut content = Zeroizing::new(Vec::new());
    file.by_ref().take(MAX_PASSWORD + 1).read_to_end(&mut content).with_context(failed)?;
    if content.len() as u64 > MAX_PASSWORD {
        bail!("{}: it is larger than {MAX_PASSWORD} bytes", failed());
    }
    not_empty(Zeroizing::new(content.trim_ascii().to_vec()), &format!("`{shown}`"))
}

fn not_empty(password: Zeroizing<Vec<u8>>, place: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    if password.is_empty() {
        bail!("failed to read the vault password: {place} is empty");
    }
    Ok(password)
}
