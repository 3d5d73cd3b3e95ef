//! Write automation modules in Rust: a struct that declares the options, and a function from it to a result.
//!
//! The same source builds for two targets: for `wasm32-wasip2`, a component that modbox runs in its sandbox; for the
//! host, a *binary module* that Ansible runs. In both cases, the program gets the path of a JSON file and prints one
//! JSON object. This crate does that part.
//!
//! ```no_run
//! # mod module {
//! use modbox_sdk::{Args, Exit, Failure, Module};
//!
//! /// Returns a greeting.
//! #[derive(Args)]
//! struct Greeting {
//!     /// The name in the greeting.
//!     name: String,
//! }
//!
//! fn run(args: Greeting, module: &mut Module) -> Result<Exit, Failure> {
//!     if args.name.is_empty() {
//!         return Err(Failure::new("name must not be empty"));
//!     }
//!     module.warn("this greeting is old-fashioned");
//!     Ok(Exit::unchanged().with("greeting", format!("Hello, {}!", args.name)))
//! }
//!
//! modbox_sdk::module! { args = Greeting, run = run }
//! # }
//! # fn main() {}
//! ```
//!
//! The steps around `run`, in order: read the arguments file; remove Ansible's internal arguments ([`InternalArgs`]);
//! validate the others against the module's spec, with Ansible's messages; in check mode, skip a module that does not
//! support it; call `run` with its `Args`; complete the result with warnings and `invocation`, mask secrets, and print
//! one line of JSON. A panic becomes a failed result too.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

// Code that derives `Args` names this crate.
extern crate self as modbox_sdk;

mod backup;
mod bounded_read;
mod call;
pub mod command;
mod completion;
mod context;
pub mod date;
mod entry;
mod file_error;
pub mod files;
mod fnmatch;
pub mod fs;
#[cfg(feature = "http")]
pub mod http;
mod internal_args;
mod log;
mod module;
mod output_file;
mod panic_secrets;
mod path_argument;
mod platform;
pub mod provider;
mod replacement;
mod result;
pub mod text_encoding;
pub mod text_file;
pub mod typed;
mod whole_read;

pub use call::{Finished, ProcessEnvironment, call, call_typed};
pub use command::{Command, CommandResult};
pub use context::Context;
pub use entry::{MAX_ARGS_BYTES, start, start_typed};
pub use fnmatch::fnmatch;
pub use internal_args::InternalArgs;
pub use modbox_argument_spec as argument_spec;
pub use modbox_argument_spec::{Metadata, Secrets};
pub use modbox_python_json as json;
pub use modbox_python_json::{Dict, Value};
pub use modbox_sdk_derive::{Args, Choice};
pub use module::{Deprecation, Module};
pub use result::{Diff, Exit, Failure};
pub use typed::Args;

/// Makes a program from a function: `main`, the metadata in the component, and a test that checks it.
///
/// The arguments are a struct that derives [`Args`](derive@Args); the metadata is made from it:
///
/// ```no_run
/// # mod module {
/// # use modbox_sdk::{Args, Exit, Failure, Module};
/// # #[derive(Args)]
/// # struct Greeting { name: String }
/// # fn greet(args: Greeting, _module: &mut Module) -> Result<Exit, Failure> { Ok(Exit::unchanged().with("name", args.name)) }
/// modbox_sdk::module! {
///     args = Greeting,
///     run = greet,
///     check_mode = true,
///     returns = [greeting: str = "The greeting.", at: str if "asked for" = "The time."],
///     requests = [env "LANG" = "to greet in the right language"],
///     examples = ["modbox run greet name=world"],
/// }
/// # }
/// # fn main() {}
/// ```
///
/// `file_args = true`, after `check_mode`, adds Ansible's options for the attributes of files,
/// [`FileArgs`](crate::files::FileArgs), for [`Module::set_fs_attributes_if_different`].
///
/// Only `args` and `run` are required, and the order is fixed. `name = "…"` after `run` is for a module with another
/// name than its program. The doc comment of the struct describes the module.
///
/// Instead, the metadata can be a file next to `Cargo.toml`, for features that a struct cannot express: `module! {
/// metadata = "module.json", run = run }`, where `run` is a function `fn(Args, &mut Module) -> Result<Exit, Failure>`,
/// and `Args` any type that implements serde's `Deserialize`, or [`Dict`].
#[macro_export]
macro_rules! module {
    (metadata = $metadata:literal, run = $run:path $(,)?) => {
        const MODBOX_METADATA: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $metadata));

        fn main() -> ::std::process::ExitCode {
            $crate::start(MODBOX_METADATA, $run)
        }

        $crate::module!(@section);
    };
    (
        args = $args:ty,
        run = $run:path
        $(, name = $name:literal)?
        $(, check_mode = $check_mode:literal)?
        $(, file_args = $file_args:literal)?
        $(, returns = [$($key:ident: $type:ident $(if $when:literal)? = $doc:literal),* $(,)?])?
        $(, requests = [$($capability:ident $subject:literal = $reason:literal),* $(,)?])?
        $(, examples = [$($example:literal),* $(,)?])?
        $(,)?
    ) => {
        const MODBOX_PIECES: &[$crate::typed::Piece] = {
            use $crate::typed::Piece as __Piece;
            const PROGRAM: &str = match option_env!("CARGO_BIN_NAME") {
                Some(program) => program,
                None => env!("CARGO_PKG_NAME"),
            };
            &[
                __Piece::Text("{\"name\": "),
                __Piece::Quoted($crate::typed::first(&[$($name,)? PROGRAM])),
                __Piece::Doc(&[
                    __Piece::Text(", \"version\": "),
                    __Piece::Quoted(env!("CARGO_PKG_VERSION")),
                    __Piece::Text(", \"description\": "),
                    __Piece::Text(<$args as $crate::Args>::DESCRIPTION),
                ]),
                $(__Piece::Text(if $check_mode { ", \"supports_check_mode\": true" } else { "" }),)?
                __Piece::Text(", \"argument_spec\": {"),
                __Piece::Of(<$args as $crate::Args>::OPTIONS),
                $(
                    __Piece::Text(if $file_args { ", " } else { "" }),
                    __Piece::Of(if $file_args { <$crate::files::FileArgs as $crate::Args>::OPTIONS } else { &[] }),
                )?
                __Piece::Text("}"),
                __Piece::Text(<$args as $crate::Args>::RULES),
                $(__Piece::Doc(&[
                    __Piece::Text(", \"returns\": {"),
                    __Piece::List(&[$(__Piece::Of(&[
                        __Piece::Quoted(stringify!($key)),
                        __Piece::Text(": {\"type\": "),
                        __Piece::Quoted(stringify!($type)),
                        __Piece::Text(", \"returned\": "),
                        __Piece::Quoted($crate::typed::first(&[$($when,)? "success"])),
                        __Piece::Text(", \"description\": "),
                        __Piece::Quoted($doc),
                        __Piece::Text("}"),
                    ])),*]),
                    __Piece::Text("}"),
                ]),)?
                $(__Piece::Doc(&[
                    __Piece::Text(", \"requests\": ["),
                    __Piece::List(&[$(__Piece::Of(&[
                        __Piece::Text("{\"capability\": "),
                        __Piece::Quoted(stringify!($capability)),
                        __Piece::Text(", \"subject\": "),
                        __Piece::Quoted($subject),
                        __Piece::Text(", \"reason\": "),
                        __Piece::Quoted($reason),
                        __Piece::Text("}"),
                    ])),*]),
                    __Piece::Text("]"),
                ]),)?
                $(__Piece::Doc(&[
                    __Piece::Text(", \"examples\": ["),
                    __Piece::List(&[$(__Piece::Quoted($example)),*]),
                    __Piece::Text("]"),
                ]),)?
                __Piece::Text("}"),
            ]
        };

        const MODBOX_METADATA: &str = $crate::module!(@text $crate::typed::Extent::Everything);

        fn main() -> ::std::process::ExitCode {
            const SPEC: &str = $crate::module!(@text $crate::typed::Extent::Spec);
            $crate::start_typed::<$args>(SPEC, $run)
        }

        $crate::module!(@section);
    };
    (@text $extent:expr) => {{
        const BYTES: &[u8] =
            &$crate::typed::join::<{ $crate::typed::length(MODBOX_PIECES, $extent) }>(MODBOX_PIECES, $extent);
        match ::core::str::from_utf8(BYTES) {
            Ok(text) => text,
            Err(_) => panic!("pieces are text"),
        }
    }};
    (@section) => {
        // Hosts read this section without running the module. Its name is `SECTION_NAME`.
        #[cfg(target_family = "wasm")]
        #[used]
        #[unsafe(link_section = "modbox:module")]
        static MODBOX_SECTION: [u8; MODBOX_METADATA.len()] = $crate::section(MODBOX_METADATA);

        #[cfg(test)]
        #[test]
        fn metadata_is_valid() {
            if let Err(error) = $crate::Metadata::from_json(MODBOX_METADATA) {
                panic!("the metadata is wrong: {error}");
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
