//! Ids of jobs for completion: those in the default folder of jobs.

use std::ffi::OsStr;

use clap_complete::engine::CompletionCandidate;

use super::line::{MAX_CANDIDATES, begins_with, context};
use crate::cli::args::JobFolderArgs;
use crate::cli::commands::runs::job;

/// Returns the ids that begin as the current word.
pub(super) fn candidates(current: &OsStr) -> Vec<CompletionCandidate> {
    let ids = context().and_then(|context| job::ids(&context, &JobFolderArgs::default())).unwrap_or_default();
    ids.into_iter().filter(|id| begins_with(id, current)).take(MAX_CANDIDATES).map(CompletionCandidate::new).collect()
}
