//! Trust in modules by who signed them: what the trust rules of policy files say of a module, and the most that they let it be
//! granted.
//!
//! A rule is a ceiling: it grants nothing. The first rule of a file that fits a module holds. The ceilings of several files
//! hold together, so that no file takes back one of another. This module knows no signatures; it gets the names of
//! the signers. The form of the rules is in `written`.

mod authority;
mod ceiling;
mod standing;

pub(crate) use self::authority::Authority;
pub use self::ceiling::Ceiling;
pub use self::standing::{ModuleSignature, TrustStanding};
