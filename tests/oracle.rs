//! The integration tests that compare modbox with the real ansible-core.
//!
//! They install ansible-core, and older releases of it, from PyPI below the target directory.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read files of their own making")]

pub(crate) use modbox_test_support as support;

#[path = "agents/oracle.rs"]
mod agents;
#[path = "ansible/oracle.rs"]
mod ansible;
#[path = "core/native/attempts_of_root.rs"]
mod attempts_of_root;
#[path = "core/oracle.rs"]
mod core;
#[path = "house/oracle.rs"]
mod house;
#[path = "layers/oracle.rs"]
mod layers;
#[path = "modules/oracle.rs"]
mod modules;
#[path = "plays/oracle.rs"]
mod plays;
#[path = "python/oracle.rs"]
mod python;
#[path = "run/oracle.rs"]
mod run;
#[path = "run/secret_hunt.rs"]
mod secret_hunt;
#[path = "supply/oracle.rs"]
mod supply;
#[path = "twin/oracle.rs"]
mod twin;
