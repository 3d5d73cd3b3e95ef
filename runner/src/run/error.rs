//! Why a module could not be started.

use crate::kinds::{PrepareError, detect};
use crate::sandbox::native::NativeError;
use crate::sandbox::scratch::ScratchError;
use crate::sandbox::wasm::WasmError;

/// Why a module could not be started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The bytes are not what the caller takes them for, or are never run.
    #[error("failed to recognise the module")]
    Detect(#[from] detect::DetectError),
    /// A kind that is not supported, or an interpreter line that is wrong.
    #[error("failed to prepare the module")]
    Prepare(#[from] PrepareError),
    /// No temporary directory.
    #[error("failed to make a temporary directory")]
    Scratch(#[from] ScratchError),
    /// The engine could not load or start it.
    #[error("failed to load the module")]
    Wasm(#[from] WasmError),
    /// No process could be started.
    #[error("failed to start the module")]
    Native(#[from] NativeError),
}

impl RunError {
    /// Returns whether the fault is modbox's or this machine's, and not the module's.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        match self {
            Self::Detect(_) | Self::Prepare(_) => false,
            Self::Scratch(_) | Self::Native(_) => true,
            Self::Wasm(error) => error.is_internal(),
        }
    }
}
