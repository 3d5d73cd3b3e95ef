//! Assembles a new-style Python module: the module with every `module_utils` that it imports, in a form that python
//! runs.
//!
//! The rules follow ansible-core's Ansiballz: the same files under the same names, found by the same rules, started in
//! the same way. They are the rules of ansible-core 2.21, which also fit the layouts since 2.9. The Python around a
//! module is modbox's own. This layer is pure: an implementation of [`Lookup`] finds the files.
//!
//! | file | content |
//! |---|---|
//! | `name` | dotted names, and the name that a module runs under |
//! | `imports` | the imports of a source, found by a Python parser |
//! | `scans` | the imports of sources that were looked at before |
//! | `embeds` | the files that a source embeds |
//! | `needs` | what a source needs of its interpreter and of the machine |
//! | `routing` | the redirects of a `runtime.yml` |
//! | `bounds` | bounds of payloads |
//! | `closure`, `closure_error` | all direct and indirect imports, and why they cannot be found |
//! | `payload` | the files of the closure |
//! | `inert` | files that run nothing |
//! | `loader` | what an ansible-core asks for to start a module |
//! | `part` | the files that one file of a payload needs |
//! | `wrapper` | the Python code that starts them, in both forms |
//! | `received`, `received_files` | a payload that ansible-core has made, read and unpacked |

mod bounds;
mod closure;
mod closure_error;
mod embeds;
mod imports;
mod inert;
mod loader;
mod name;
mod needs;
mod part;
mod payload;
mod received;
mod received_files;
mod routing;
mod scans;
mod wrapper;

pub use bounds::{MAX_FILES, MAX_SOURCE};
pub use closure::{EmbeddedFile, Found, Lookup};
pub use closure_error::ClosureError;
pub use embeds::{Embed, EmbedFault, Embeds};
pub(crate) use imports::parse;
pub use imports::{Imports, Scan, SourceError, scan};
pub use inert::is_inert;
pub use loader::NewerCore;
pub use name::{DottedName, module_name};
pub use needs::{CommandUse, Needs, needs};
pub use part::part;
pub use payload::{Core, Payload, assemble};
pub use received::{MAX_PAYLOAD, NotReceived, ReceivedPayload, may_be_payload};
pub use received_files::FilesError;
pub use routing::{Route, Routing, RoutingError};
pub use wrapper::{COMPILE_SCRIPT, PROBE_SCRIPT, START_MODULE, portable, start_script, with_params, zip_text};

#[cfg(test)]
mod tests;
