//! Why a module could not be started.

use std::sync::Arc;

use modbox_kernel::KernelError;
use modbox_kinds::{PrepareError, detect};
use modbox_native::NativeError;
use modbox_scratch::ScratchError;
use modbox_wasm::WasmError;

use crate::app::confine::Shortfall;
use crate::app::locate::LocateError;
use crate::app::python::PythonError;

/// Why a module could not be started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The bytes are not what the caller takes them for, or are never run.
    #[error("failed to recognise the module")]
    Detect(#[from] detect::DetectError),
    /// The file is not there any more, or another one.
    #[error("failed to read the module again")]
    Read(#[from] LocateError),
    /// A kind that is not supported, or an interpreter line that is wrong.
    #[error("failed to prepare the module")]
    Prepare(#[from] PrepareError),
    /// A Python module that cannot be put together.
    #[error("failed to put the module together with what it imports")]
    Python(#[from] PythonError),
    /// No temporary directory.
    #[error("failed to make a temporary directory, where `TMPDIR` says")]
    Scratch(#[from] ScratchError),
    /// The engine could not load or start it.
    #[error("failed to load the module")]
    Wasm(#[from] WasmError),
    /// The engine cannot load it, as was found out before.
    #[error("failed to load the module")]
    Unloadable(#[source] Arc<WasmError>),
    /// No process could be started.
    #[error("failed to start the module")]
    Native(#[from] NativeError),
    /// The process could not be confined.
    #[error("failed to confine the module")]
    Kernel(#[from] KernelError),
    /// The threads that are in the way could not be ended, or not be started again.
    #[error("failed to stop and start the threads of modbox")]
    Threads(#[source] std::io::Error),
    /// The process that runs commands for the module does not start.
    #[error("failed to start the process that runs commands")]
    Broker(#[source] std::io::Error),
    /// The kernel gives less than the policy asks for. No error of a report, which says that the run was denied.
    #[error("{}", .0.message)]
    Unconfined(Box<Shortfall>),
}

impl RunError {
    /// Returns whether the fault is modbox's or this machine's, and not the module's.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        match self {
            Self::Detect(_) | Self::Read(_) | Self::Prepare(_) | Self::Unloadable(_) | Self::Unconfined(_) => false,
            Self::Scratch(_) | Self::Native(_) | Self::Kernel(_) | Self::Threads(_) | Self::Broker(_) => true,
            Self::Python(error) => error.is_internal(),
            Self::Wasm(error) => error.is_internal(),
        }
    }
}
