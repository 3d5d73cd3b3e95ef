//! The passwords of a run, and what was decrypted with them: each text once, and remembered as a secret before anything uses it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use modbox_run::remember_plain;
use modbox_template::Decrypter;
use modbox_vault::{Vault, VaultError, Zeroizing};
use modbox_yaml::{Node, Source, load_play_file};

/// Bytes of the shortest text that is kept secret: shorter ones are in much that a play shows.
const SHORTEST: usize = 6;

/// The passwords of a run, with the values that they decrypted.
#[derive(Default)]
pub(crate) struct VaultStore {
    vault: Vault,
    values: Mutex<HashMap<String, Result<Zeroizing<String>, String>>>,
}

impl fmt::Debug for VaultStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VaultStore").finish_non_exhaustive()
    }
}

impl VaultStore {
    /// Creates a store with passwords.
    pub(crate) fn new(vault: Vault) -> Self {
        Self { vault, ..Self::default() }
    }

    /// Decrypts the content of a file, and remembers what it has in it as secrets: the values if it is YAML, and the text.
    ///
    /// # Errors
    ///
    /// No password decrypts it, or it is damaged.
    pub(crate) fn file(&self, content: &[u8]) -> Result<Vec<u8>, String> {
        let plain = self.vault.decrypt(content).map_err(|error| explained(&error))?;
        if let Ok(text) = str::from_utf8(&plain) {
            let mut secrets = vec![text.to_owned()];
            if let Ok(document) = load_play_file(text, "<vault>") {
                collect(&document.root, &mut secrets);
            }
            remember(secrets.iter().map(String::as_str));
        }
        Ok(plain.to_vec())
    }
}

impl Decrypter for VaultStore {
    fn decrypt(&self, text: &str) -> Result<String, String> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let known = values.entry(text.to_owned()).or_insert_with(|| {
            let plain = self.vault.decrypt(text.as_bytes()).map_err(|error| explained(&error))?;
            let plain = str::from_utf8(&plain).map_err(|_| "the decrypted value is not UTF-8".to_owned())?;
            remember(std::iter::once(plain));
            Ok(Zeroizing::new(plain.to_owned()))
        });
        known.as_ref().map(|plain| plain.to_string()).map_err(Clone::clone)
    }
}

/// Returns the reason for people, with what to do about a password that is lacking.
fn explained(error: &VaultError) -> String {
    match error {
        VaultError::NoSecrets => {
            format!("{error} Give the password by `--vault-password-file` or `--ask-vault-password`.")
        }
        error => error.to_string(),
    }
}

/// Remembers texts as secrets, but for short ones, numbers, and words for true and false.
fn remember<'a>(texts: impl Iterator<Item = &'a str>) {
    let is_word = |text: &str| matches!(text.to_lowercase().as_str(), "true" | "false" | "yes" | "no" | "on" | "off");
    let is_secret = |text: &&str| text.len() >= SHORTEST && text.parse::<f64>().is_err() && !is_word(text);
    remember_plain(texts.map(str::trim).filter(is_secret));
}

/// Collects the texts in a node, but for templates, which are source.
fn collect(source: &Source, found: &mut Vec<String>) {
    match source.node() {
        Node::Text(text) | Node::Unsafe(text) if !modbox_template::is_template(source) => found.push(text.to_string()),
        Node::List(items) => items.iter().for_each(|item| collect(item, found)),
        Node::Map(map) => map.iter().for_each(|(_, entry)| collect(&entry.value, found)),
        _ => {}
    }
}
