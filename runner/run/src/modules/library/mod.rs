//! Finds a module by its path or by its name.
//!
//! Names are looked up as ansible-core 2.19 does (`PluginLoader`): a plain name in the folders of the library, then
//! among ansible-core's own modules; a full name such as `community.general.ini_file` in the installed collections. The
//! redirects and removals that collections declare are followed. Only files are read; no program is started.
//!
//! | file | content |
//! |---|---|
//! | `place` | the places of a search, for messages |
//! | `directory` | directories: projects, and what another directory holds |
//! | `folder` | one folder of modules |
//! | `found` | a module that was found: its file and names |
//! | `installed` | the installed collections and ansible-core |
//! | `inventory` | all names, for a listing |
//! | `search` | the search for a path or a name |
//! | `error` | the errors |

mod directory;
mod error;
mod folder;
mod found;
mod installed;
mod inventory;
mod place;
mod search;

pub use self::directory::PROJECT_FILES;
pub use self::error::{LookupError, NO_CORE};
pub use self::folder::names_in;
pub use self::found::{FoundModule, is_path};
pub use self::inventory::{Inventory, ListedModule};
pub use self::place::Place;
pub use self::search::{Library, Located, ManyNames};

#[cfg(test)]
mod tests;
