//! Modules in registries of the Open Container Initiative (OCI).
//!
//! | module | content |
//! |---|---|
//! | [`reference`](mod@reference) | `oci://HOST/NAME:TAG` |
//! | [`digest`] | names of content |
//! | [`manifest`] | what an artifact is made of |
//! | [`layout`] | the folder with what was pulled |
//! | [`module_store`] | the same with signature files |
//! | [`kept_signatures`] | which of them are kept |
//! | [`pull`], [`push`] | the transfer of a module |
//! | [`bundle`] | modules in a file, to carry them |
//! | [`credentials`] | what docker's tools keep about registries |
//! | [`lock_file`] | `modbox.lock`: which module a tag stood for |
//! | [`proxy`](mod@proxy) | which connections go through a proxy |
//! | [`session`] | a session with a registry, and [`serve`], its worker |

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod blob_writer;
pub mod bundle;
pub mod credentials;
pub mod digest;
pub mod kept_signatures;
pub mod layout;
mod leftovers;
pub mod lock_file;
pub mod manifest;
mod messages;
pub mod module_store;
pub mod proxy;
pub mod pull;
pub mod push;
pub mod reference;
mod regular_file;
pub mod session;
mod worker;

pub use self::blob_writer::BlobWriter;
pub use self::messages::{Text, TransferError};
pub use self::worker::serve;
