//! Modules in collections: their names, and the redirects and removals that a collection declares.
//!
//! The rules follow ansible-core 2.19, `PluginLoader` and `AnsibleCollectionRef`. This is pure; the runner finds
//! collections on the disk.

mod name;
mod routing;

pub use self::name::QualifiedName;
pub use self::routing::{Change, ModuleRoute, ModuleRouting};
