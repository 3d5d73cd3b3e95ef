//! How far a batch is, how it ended, and what ends it early.

use std::io;

/// Progress of a batch.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Jobs read.
    pub read: u64,
    /// Jobs answered.
    pub answered: u64,
    /// Answered jobs whose status is not ok, changed or skipped.
    pub failed: u64,
    /// Bytes of input read.
    pub bytes: u64,
}

/// Final state of a batch.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Progress at the end.
    pub progress: Progress,
    /// Jobs that were read but not started, because the batch was told to stop.
    pub cancelled: u64,
    /// Whether the batch was told to stop.
    pub stopped: bool,
    /// Jobs that ran but are missing in an audit file.
    pub unaudited: u64,
}

/// Error that ends a batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// Jobs cannot be read.
    #[error("failed to read the jobs")]
    Read(#[source] io::Error),
    /// Reports cannot be written.
    #[error("failed to write a report")]
    Write(#[source] io::Error),
    /// Waiting for workers or starting one failed.
    #[error("failed to wait for workers")]
    Wait(#[source] io::Error),
}
