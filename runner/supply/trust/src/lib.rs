//! Signatures of modules: who vouches for the bytes of a module.
//!
//! A signature file is a statement, which names the digest of a module, and SSH signatures of that statement. `ssh-keygen
//! -Y verify` checks them, too. The keys that count are listed in a file in OpenSSH's format `allowed_signers`.
//!
//! | module | content |
//! |---|---|
//! | [`statement`] | the text that is signed |
//! | [`core_statement`] | the text that is signed for a release of ansible-core |
//! | [`signature_file`] | a statement with its signatures |
//! | [`ssh_signature`] | one signature |
//! | [`allowed_signers`] | which keys sign for which names, and when |
//! | [`revocations`] | keys and modules that count no longer |
//! | [`verification`] | the verdict on a signature file |
//!
//! The crate is pure: it gets bytes and a time. It opens no file, holds no private key and decides nothing about grants.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod allowed_signers;
mod certificate;
pub mod core_statement;
mod namespace;
mod pattern_list;
pub mod revocations;
pub mod signature_file;
pub mod ssh_signature;
pub mod statement;
mod validity;
pub mod verification;
mod vouched;
mod wire;
mod words;

pub use self::namespace::NAMESPACE;
