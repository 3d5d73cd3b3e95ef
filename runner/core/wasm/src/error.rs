//! Why a guest could not be started.

use std::path::PathBuf;

use crate::compile_limit::CompileLimit;
use crate::newer_wasi::NewerWasi;

/// A cause, as the engine describes it.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a guest could not be started. After the start, every result is an [`Outcome`](modbox_vocabulary::Outcome).
#[derive(Debug, thiserror::Error)]
pub enum WasmError {
    /// The engine refused its configuration: this machine lacks something that the engine needs.
    #[error("failed to start the wasm engine")]
    Engine(#[source] Cause),
    /// The bytes are not a valid component or core module.
    #[error("failed to compile the module")]
    Compile(#[source] Cause),
    /// The module is for a newer WASI.
    #[error(transparent)]
    NewerWasi(NewerWasi),
    /// The module passed a limit on compiling.
    #[error(transparent)]
    Limit(CompileLimit),
    /// The compiler process crashed: the module triggered a fault of the engine, or the process was killed.
    #[error("failed to compile the module: the compiler crashed: {0}")]
    Crashed(String),
    /// The module has too many or too large memories and tables for the engine's pool.
    #[error("failed to fit the module into the pool of instances")]
    Unfit(#[source] Cause),
    /// The process that compiles could not do its work.
    #[error("failed to {verb} the compiler")]
    Compiler {
        /// What was tried.
        verb: &'static str,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The component imports an interface that modbox does not offer, or exports no command.
    #[error("failed to link the module: it imports an unknown interface, or does not export `wasi:cli/run`")]
    Link(#[source] Cause),
    /// A granted path cannot be opened.
    #[error("failed to open the granted path `{}`", path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: Cause,
    },
    /// The guest's thread or its runtime could not be created.
    #[error("failed to start the guest's thread")]
    Runtime(#[source] std::io::Error),
    /// The pool of instances has no free place.
    #[error("the pool of instances is full")]
    PoolFull,
    /// The compiled code is for another engine.
    #[error("failed to load the module's compiled code")]
    Code(#[source] Cause),
    /// A native module was to run as a guest.
    #[error("failed to run a native module as a guest")]
    NoGuest,
    /// The worker process could not be started, or broke the protocol.
    #[error("failed to start the module's worker process")]
    Worker(#[source] std::io::Error),
    /// The worker process could not confine itself.
    #[error("failed to confine the module's worker process: {0}")]
    NotConfined(String),
}

impl WasmError {
    /// Returns whether the fault lies in modbox or in this machine, and not in the module.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        !matches!(self, Self::Compile(_) | Self::NewerWasi(_) | Self::Limit(_) | Self::Crashed(_) | Self::Link(_))
    }

    /// Returns the limit that was passed, if this error is one.
    #[must_use]
    pub fn limit(&self) -> Option<CompileLimit> {
        if let Self::Limit(limit) = self { Some(*limit) } else { None }
    }
}
