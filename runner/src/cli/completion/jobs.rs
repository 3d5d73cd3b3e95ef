//! Ids of jobs for completion: those in the default folder of jobs.

use std::ffi::OsStr;

use clap_complete::engine::CompletionCandidate;
use modbox_run::jobs::JobFolder;

use super::line::{MAX_CANDIDATES, begins_with, context};
use crate::cli::context::Context;
use crate::cli::folders::job_folder::job_folder;

/// Returns the ids that begin as the current word.
pub(super) fn candidates(current: &OsStr) -> Vec<CompletionCandidate> {
    let ids = context().and_then(|context| ids(&context)).unwrap_or_default();
    ids.into_iter().filter(|id| begins_with(id, current)).take(MAX_CANDIDATES).map(CompletionCandidate::new).collect()
}

/// Returns the ids of the jobs in the default folder, or `None` if they cannot be read.
fn ids(context: &Context) -> Option<Vec<String>> {
    let path = job_folder(None, &context.environment).ok().filter(|path| path.exists())?;
    let listed = JobFolder::open(&path).ok()?.list().ok()?;
    Some(listed.into_iter().map(|(id, _)| id).collect())
}
