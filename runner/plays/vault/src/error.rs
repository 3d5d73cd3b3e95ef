//! Why a text cannot be decrypted.

/// A failure to decrypt a text. No variant holds a part of a secret or of what is encrypted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// The text does not begin as encrypted texts do.
    #[error("the text is not encrypted with Ansible Vault")]
    NotEncrypted,
    /// The first line is not a header.
    #[error("the header of the vault is damaged: expected `$ANSIBLE_VAULT;VERSION;CIPHER`")]
    Header,
    /// The header names a version that nothing reads.
    #[error("unknown version of the vault; modbox reads 1.1 and 1.2")]
    Version,
    /// The header names another cipher.
    #[error("unknown cipher of the vault; modbox reads AES256")]
    Cipher,
    /// What follows the header is not what it has to be.
    #[error("the vault is damaged: {0}")]
    Damaged(&'static str),
    /// The vault has no password.
    #[error("Attempting to decrypt but no vault secrets found.")]
    NoSecrets,
    /// No password decrypts the text: each is wrong, or the text is damaged.
    #[error("Decryption failed (no vault secrets were found that could decrypt).")]
    NoMatch,
}
