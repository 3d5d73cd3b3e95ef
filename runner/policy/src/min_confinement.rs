//! The minimum level of confinement that a policy requires.

use serde::{Deserialize, Serialize};

/// The required minimum level of confinement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinConfinement {
    /// The level, as `modbox-kernel` describes it.
    pub level: u8,
    /// The source that requires it.
    pub source: String,
}
