//! The sources of the SDK and of modbox's own modules, which are part of this program. They are unpacked into a folder
//! of the user, once per version, so that cargo can build projects with them on any machine.
//!
//! ```text
//! CACHE/sdk/0.1.0-DIGEST/         a workspace: Cargo.toml, Cargo.lock
//!     guest-sdk/  modules/NAME/
//! PROJECT/.modbox-sdk -> CACHE/sdk/0.1.0-DIGEST
//! ```
//!
//! A project names the SDK by the link, so that its manifest is the same on every machine.

mod carried;
mod error;
mod project_link;
mod requirement;
mod unpack;

pub(crate) use self::carried::{DIGEST, LEAST_RUST, VERSION, has_module, lock_file, module_description, module_names};
pub use self::error::SdkError;
pub(crate) use self::project_link::{LINK, provide};
pub(crate) use self::requirement::check as check_requirement;
pub(crate) use self::unpack::{contains, ensure as ensure_unpacked, find as find_unpacked, is_own_folder};
