//! From a new-style Python module to something that python runs: the module with every `module_utils` that it imports.
//!
//! After ansible-core's Ansiballz: the same files under the same names, found by the same rules, started in the same
//! way. The rules are those of ansible-core 2.19, which hold for the layouts from 2.9 on; the Python around a module is our
//! own. This layer is pure: where files lie is a question for whoever implements [`Lookup`].
//!
//! | file | what |
//! |---|---|
//! | `name` | dotted names, and the one that a module has |
//! | `imports` | which imports a source makes, by a parser of Python |
//! | `routing` | redirects, as a `runtime.yml` has them |
//! | `closure` | all that is imported, directly or not |
//! | `payload` | the files of it, and the digest by which caches know them |
//! | `wrapper` | the Python that starts them, in both forms |

mod closure;
mod imports;
mod name;
mod payload;
mod routing;
mod wrapper;

pub use closure::{ClosureError, Found, Lookup, MAX_FILES, MAX_SOURCE};
pub use imports::{Imports, SourceError, scan};
pub use name::{DottedName, module_name};
pub use payload::{Core, Payload, assemble};
pub use routing::{Route, Routing, RoutingError};
pub use wrapper::{
    COMPILE_SCRIPT, PORTABLE_END, PROBE_SCRIPT, START_MODULE, portable, start_script, with_params, zip_text,
};

#[cfg(test)]
mod tests;
