//! Inventories as ansible-core reads them: hosts, groups, and the variables that the operator gave them.
//!
//! An [`Inventory`] is filled from texts: INI ([`read_ini`]), YAML ([`read_yaml`]) and lists of hosts ([`read_list`]). It
//! then says which groups a host is in, in the order in which their variables hide each other, and which hosts a pattern
//! means ([`patterns`]). Variables are [`modbox_yaml::Source`]s: the operator wrote them, so they can be templates.
//!
//! The crate does no I/O, runs no program and connects to nothing. It does not know which host this machine is.
//!
//! ```
//! use modbox_inventory::{Inventory, Origin, read_ini};
//!
//! let mut inventory = Inventory::new();
//! read_ini(&mut inventory, "[web]\nweb[1:2] port=80\n", &Origin::file("/etc/hosts.ini"))?;
//! inventory.reconcile();
//! assert_eq!(inventory.hosts_of("web"), ["web1", "web2"]);
//! assert_eq!(inventory.groups_of("web1"), ["all", "web"]);
//! # Ok::<(), modbox_inventory::InventoryError>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod address;
mod error;
mod ini;
mod limits;
mod list;
mod model;
mod origin;
pub mod patterns;
mod range;
mod yaml;

pub use error::{InventoryError, Problem};
pub use ini::read_ini;
pub use limits::{MAX_DEPTH, MAX_HOSTS};
pub use list::read_list;
pub use model::{Group, Host, Inventory, Vars};
pub use origin::Origin;
pub use yaml::read_yaml;
