//! A module with its compiled code in an engine of this process.

use modbox_vocabulary::Timing;
use modbox_wasm::{CodeFacts, LoadedModule};

/// A module in an engine of this process.
#[derive(Debug)]
pub(crate) struct ResidentModule {
    pub(crate) module: LoadedModule,
    /// How its code was found.
    pub(crate) facts: CodeFacts,
}

impl ResidentModule {
    /// Returns how long the steps of loading took.
    pub(crate) fn timing(&self) -> Timing {
        let mut timing = self.facts.timing;
        timing.add(self.module.timing());
        timing
    }
}
