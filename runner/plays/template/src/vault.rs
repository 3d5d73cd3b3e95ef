//! Encrypted text of plays: what the caller of the engine does to decrypt it.

use std::fmt::Debug;

/// Decrypts texts that plays have as `!vault` values. What it returns is data, never a template.
pub trait Decrypter: Debug + Send + Sync {
    /// Returns what a text has in it.
    ///
    /// # Errors
    ///
    /// It cannot be decrypted, for the reason given.
    fn decrypt(&self, text: &str) -> Result<String, String>;
}

/// A decrypter without passwords.
#[derive(Debug, Clone, Copy)]
pub struct NoPasswords;

impl Decrypter for NoPasswords {
    fn decrypt(&self, _: &str) -> Result<String, String> {
        Err("Attempting to decrypt but no vault secrets found.".to_owned())
    }
}
