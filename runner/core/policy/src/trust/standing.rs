//! What the trust rules say of the module of a run.

use serde::Serialize;

use crate::trust::ceiling::Ceiling;

/// What the trust rules of all policy files say of a module. Without such rules it is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustStanding {
    /// The digest of the module that this is said of, with all its parts. A run of another one does not start. `None` if it is not
    /// known.
    pub digest: Option<String>,
    /// The verdict on the module's signature; `None` without trust rules.
    pub signature: Option<ModuleSignature>,
    /// The most that the module may be granted, by the rules that fit it.
    pub ceilings: Vec<Ceiling>,
    /// Why the module may not run at all.
    pub refusals: Vec<String>,
}

/// The verdict on a module's signature.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ModuleSignature {
    /// Whether a signature counts.
    pub verified: bool,
    /// The names that the signers sign for; none if no signature counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signers: Vec<String>,
    /// The fingerprints of their keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// The name of the module in the signed statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its version there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The release of ansible-core whose statement vouches for parts of the module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ansible_core: Option<String>,
    /// Why no signature counts; or why no rule for signed modules fits a module with one that does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rules that fit the module, with their places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}
