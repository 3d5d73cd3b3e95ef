//! Where the passwords of vaults come from: files and questions, as switches and settings of Ansible name them.

use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use modbox_cleanup::Cleanup;
use modbox_tasks::run::host::Prompt;
use modbox_vault::{Secret, Vault, Zeroizing};

use crate::cli::args::AnsibleSwitches;
use crate::cli::context::Context;
use crate::cli::play::ansible_settings::{AnsibleSettings, expanded};
use crate::cli::play::file_id::FileId;
use crate::cli::process::environment::Environment;
use crate::cli::terminal;

/// The setting with sources of passwords, each `ID@PLACE` or a place.
const IDENTITIES: &str = "DEFAULT_VAULT_IDENTITY_LIST";

/// Maximum bytes of a password.
const MAX_PASSWORD: u64 = 64 << 10;

/// Reads all passwords of a run. Their order decides only how soon the one that fits is found.
///
/// # Errors
///
/// A file is a program, is empty or cannot be read, or a question cannot be asked since there is no terminal.
pub(crate) fn read(
    switches: &AnsibleSwitches,
    settings: &mut AnsibleSettings,
    context: &Context,
) -> anyhow::Result<Vault> {
    let (environment, cleanup) = (&context.environment, &context.cleanup);
    let usual = settings.text("DEFAULT_VAULT_IDENTITY").unwrap_or("default").to_owned();
    let mut secrets = Vec::new();
    let mut files = Vec::new();
    for source in settings.list(IDENTITIES) {
        let (id, place) = identity(&source, &usual);
        let password = match place {
            PlaceOfPassword::Question => Some(asked(cleanup, id)?),
            PlaceOfPassword::File(file) => {
                let file = settings.named_file(IDENTITIES, file, "--vault-password-file");
                file.map(|file| of_file(&file, environment, &mut files)).transpose()?
            }
        };
        secrets.extend(password.map(|password| Secret::new(Some(id), password)));
    }
    for source in &switches.vault_id {
        let (id, place) = identity(source, &usual);
        let password = match place {
            PlaceOfPassword::Question => asked(cleanup, id)?,
            PlaceOfPassword::File(file) => of_file(Path::new(file), environment, &mut files)?,
        };
        secrets.push(Secret::new(Some(id), password));
    }
    let of_setting: Option<PathBuf> = settings.file("DEFAULT_VAULT_PASSWORD_FILE", "--vault-password-file");
    for file in switches.vault_password_file.iter().cloned().chain(of_setting) {
        secrets.push(Secret::new(Some(&usual), of_file(&file, environment, &mut files)?));
    }
    if switches.ask_vault_password || (secrets.is_empty() && settings.flag("DEFAULT_ASK_VAULT_PASS") == Some(true)) {
        secrets.push(Secret::new(Some(&usual), asked(cleanup, &usual)?));
    }
    settings.password_files = files;
    Ok(Vault::new(secrets, settings.flag("DEFAULT_VAULT_ID_MATCH") == Some(true)))
}

/// Where a password is.
enum PlaceOfPassword<'a> {
    /// The person at the terminal knows it.
    Question,
    File(&'a str),
}

/// Returns the ID and the place of a source.
fn identity<'a>(source: &'a str, usual: &'a str) -> (&'a str, PlaceOfPassword<'a>) {
    let (id, place) = source.split_once('@').unwrap_or(("", source));
    let place = match place {
        "prompt" | "prompt_ask_vault_pass" => PlaceOfPassword::Question,
        file => PlaceOfPassword::File(file),
    };
    (if id.is_empty() { usual } else { id }, place)
}

/// Asks the person at the terminal.
fn asked(cleanup: &Cleanup, id: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let named = if id == "default" { String::new() } else { format!(" ({id})") };
    let prompt = Prompt { text: format!("Vault password{named}: "), private: true, ..Prompt::default() };
    let answer = terminal::ask(cleanup, &prompt)
        .map_err(|_| anyhow::anyhow!("failed to ask for the vault password: there is no terminal, or the question was interrupted; use `--vault-password-file`"))?;
    let answer = Zeroizing::new(answer);
    not_empty(Zeroizing::new(answer.trim().as_bytes().to_vec()), "the answer")
}

/// Reads a password from a file, or a pipe, and adds the file to those that were read.
fn of_file(path: &Path, environment: &Environment, read: &mut Vec<FileId>) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let path = environment.absolute(&expanded(path, environment.home().as_deref()));
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
    read.push((metadata.dev(), metadata.ino()));
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
