//! The section `trust` of a policy file: rules for signed and unsigned modules.
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

use modbox_vocabulary::NamePattern;

use crate::designated::Designated;
use crate::written::allow::Allow;
use crate::written::node::Located;

/// The section `trust` of a policy file. Paths and grants are not resolved yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustRules {
    /// The absolute path of a file in OpenSSH's format `allowed_signers`.
    pub signers: Option<Located<String>>,
    /// The absolute path of a file with keys and digests that count no longer.
    pub revoked: Option<Located<String>>,
    /// The absolute path of a folder with signatures of modules that have none beside them, named by their digests.
    pub signatures: Option<Located<String>>,
    /// The name of the signer, or a pattern of names, whose statements about releases of ansible-core count.
    pub ansible_core: Option<Located<NamePattern>>,
    /// Whether a module runs only if a signature of it counts.
    pub require_signature: Option<bool>,
    /// The rules, in order.
    pub rules: Vec<Located<TrustRule>>,
}

/// A rule: which modules it is for, and the most that it lets them be granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRule {
    /// The modules.
    pub subject: Subject,
    /// The most; `None` for no ceiling.
    pub at_most: Option<AtMost>,
}

/// The modules of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Modules without a signature that counts.
    Unsigned,
    /// Signed modules.
    Signed {
        /// The name of the signer, such as `release@acme.example`, or a pattern of names.
        signer: NamePattern,
        /// Patterns of the names in the signed statements; none for all modules.
        modules: Vec<NamePattern>,
        /// The permitted versions.
        versions: Option<semver::VersionReq>,
        /// How many keys of such signers must have signed.
        signatures: u8,
    },
}

/// The most that a module may be granted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AtMost {
    /// The grants.
    pub allow: Allow,
    /// The access that naming a path in an argument grants.
    pub designated: Option<Designated>,
    /// The lowest level of confinement that may be enough. Default: the level that runs require by themselves.
    pub min_confinement: Option<u8>,
}
