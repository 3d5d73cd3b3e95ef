//! Texts of Ansible Vault: recognises and decrypts them.
//!
//! A text has a header, `$ANSIBLE_VAULT;1.1;AES256` or `$ANSIBLE_VAULT;1.2;AES256;ID`, and lines of hexadecimal digits. These give
//! three lines of hexadecimal digits again: a salt, an HMAC, and the data. The key of the data, that of the HMAC and the first counter
//! are made of the password and the salt by PBKDF2 with SHA-256. What a text says of itself, its ID too, is not authenticated: only
//! the data are. The format is that of ansible-core 2.21 (`ansible.parsing.vault`, `VaultAES256`).
//!
//! The crate does no I/O, asks for no password, and encrypts nothing.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod aes256;
mod envelope;
mod error;
mod secret;

pub use envelope::is_encrypted;
pub use error::VaultError;
pub use secret::{Secret, Vault};
pub use zeroize::Zeroizing;
