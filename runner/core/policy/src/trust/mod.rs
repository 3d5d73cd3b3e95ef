//! Trust in modules by who signed them: the section `trust` of a policy file, and the most that it lets a module be
//! granted.
//!
//! ```yaml
//! trust:
//!   signers: /etc/modbox/allowed_signers
//!   revoked: /etc/modbox/revoked
//!   signatures: /etc/modbox/signatures
//!   ansible-core: operator@acme.example
//!   require-signature: true
//!   rules:
//!     - signer: release@acme.example
//!       modules: ["acme/*"]
//!       versions: ">=1.4"
//!       at-most: {write: [/srv/app], net: ["*.acme.example:443"], designated: write}
//!     - signer: "*@vendor.example"
//!       signatures: 2
//!       at-most: {read: [/], designated: read}
//!     - unsigned: true
//!       at-most: {designated: none}
//! ```
//!
//! A rule is a ceiling: it grants nothing. The first rule of a file that fits a module holds. The ceilings of several files
//! hold together, so that no file takes back one of another. This module knows no signatures; it gets the names of
//! the signers.

mod authority;
mod ceiling;
mod read;
mod rules;
mod standing;

pub(crate) use self::authority::Authority;
pub use self::ceiling::Ceiling;
pub use self::rules::{AtMost, Subject, TrustRule, TrustRules};
pub use self::standing::{ModuleSignature, TrustStanding};
