//! Write automation modules in Rust: a function from typed arguments to a result, and a `module.json`
//! that says which options it takes.
//!
//! The same source makes two things: built for `wasm32-wasip2`, a component that modbox runs in its
//! sandbox; built for the host, a *binary module* that Ansible runs as it is. Either way the program gets
//! the path of a JSON file and prints one JSON object; this crate does that part, so that a module's
//! author sees neither.
//!
//! ```no_run
//! # mod module {
//! use modbox_sdk::{Exit, Failure, Module};
//!
//! #[derive(serde::Deserialize)]
//! struct Args {
//!     name: String,
//! }
//!
//! fn run(args: Args, module: &mut Module) -> Result<Exit, Failure> {
//!     if args.name.is_empty() {
//!         return Err(Failure::new("name must not be empty"));
//!     }
//!     module.warn("nobody greets like this any more");
//!     Ok(Exit::unchanged().with("greeting", format!("Hello, {}!", args.name)))
//! }
//!
//! # #[cfg(any())]
//! modbox_sdk::module! { metadata = "module.json", run = run }
//! # }
//! # fn main() {}
//! ```
//!
//! What happens around `run`, in order: the arguments file is read; Ansible's internal arguments are
//! taken out ([`InternalArgs`]); the others are validated against the spec in `module.json`, with
//! Ansible's messages; a module that cannot do check mode is skipped in it; `run` gets its `Args`; what
//! it returns is completed with warnings and `invocation`, secrets are masked, and one line of JSON goes
//! to standard output. A panic becomes a failed result too.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod backup;
mod call;
mod entry;
pub mod fs;
mod internal_args;
mod module;
mod result;

pub use call::{Finished, ProcessEnvironment, call};
pub use entry::{MAX_ARGS_BYTES, start};
pub use internal_args::InternalArgs;
pub use modbox_argument_spec as argument_spec;
pub use modbox_argument_spec::{Metadata, Secrets};
pub use modbox_python_json as json;
pub use modbox_python_json::{Dict, Value};
pub use module::{Deprecation, Module};
pub use result::{Diff, Exit, Failure};

/// Makes a program of a function: `main`, the metadata in the component, and a test that checks it.
///
/// `metadata` is a file beside `Cargo.toml`; `run` is a function
/// `fn(Args, &mut Module) -> Result<Exit, Failure>`, where `Args` is any type that derives `Deserialize`,
/// or [`Dict`].
#[macro_export]
macro_rules! module {
    (metadata = $metadata:literal, run = $run:path $(,)?) => {
        const MODBOX_METADATA: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $metadata));

        // Hosts read this section without running anything. Its name is `SECTION_NAME`.
        #[cfg(target_family = "wasm")]
        #[used]
        #[unsafe(link_section = "modbox:module")]
        static MODBOX_SECTION: [u8; MODBOX_METADATA.len()] = $crate::section(MODBOX_METADATA);

        fn main() -> ::std::process::ExitCode {
            $crate::start(MODBOX_METADATA, $run)
        }

        #[cfg(test)]
        #[test]
        fn metadata_is_valid() {
            if let Err(error) = $crate::Metadata::from_json(MODBOX_METADATA) {
                panic!("{}: {error}", $metadata);
            }
        }
    };
}

/// Returns the bytes of a text as an array, at compile time. For [`module!`].
///
/// # Panics
///
/// When `N` is not the length of the text.
#[doc(hidden)]
#[must_use]
pub const fn section<const N: usize>(text: &str) -> [u8; N] {
    match text.as_bytes().first_chunk() {
        Some(bytes) => *bytes,
        None => panic!("N is the text's length"),
    }
}
