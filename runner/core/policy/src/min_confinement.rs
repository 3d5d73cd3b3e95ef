//! The minimum level of confinement that a policy requires.

use modbox_vocabulary::GrantSource;
use serde::{Deserialize, Serialize};

/// The level that a run requires if no source says otherwise. All common kernels since Linux 6.2 reach it.
pub const DEFAULT_LEAST: u8 = 2;

/// The required minimum level of confinement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinConfinement {
    /// The level, as `modbox-kernel` describes it.
    pub level: u8,
    /// The source that requires it.
    pub source: GrantSource,
}
