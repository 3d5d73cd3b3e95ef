//! What is known of one action of a provider besides the report of its run.

use std::sync::Arc;

use modbox_providers::{
    ActionEnd, ActionOutput, ActionResult, LogLine, Metadata, ProviderFailure, RawCall, describe, interpret, log_lines,
};

/// One action of a provider.
#[derive(Debug)]
pub struct ProviderRun {
    /// What the provider says about itself; `None` while it is asked for that.
    pub metadata: Option<Arc<Metadata>>,
    /// The call, with the arguments of the run.
    pub call: RawCall,
    /// Name of the file without its extension.
    pub stem: String,
    /// The answer with types; `None` if the run was denied.
    pub outcome: Option<Result<ActionResult, ProviderFailure>>,
    /// Lines that the provider wrote to standard error.
    pub log: Vec<LogLine>,
}

impl ProviderRun {
    /// Reads the output of the action. Returns whether all of standard error is in the log now.
    pub(crate) fn conclude(&mut self, end: ActionEnd, stdout: &[u8], stderr: &[u8]) -> bool {
        let (log, more) = log_lines(stderr);
        for line in &log {
            tracing::info!(level = ?line.level, message = line.message, "the provider says");
        }
        self.log = log;
        let output = ActionOutput { end: &end, stdout };
        self.outcome = Some(match &self.metadata {
            Some(metadata) => interpret(&self.call, metadata, &output, &self.log),
            None => describe(&output, &self.stem),
        });
        more == 0
    }
}
