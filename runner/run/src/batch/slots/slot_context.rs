//! What a slot needs of its batch.

use std::sync::Arc;

use modbox_cleanup::Cleanup;
use modbox_worker::Workers;

use crate::batch::slots::background::Wakeups;
use crate::runner::Runner;

/// What a slot needs of its batch.
#[derive(Clone, Copy)]
pub(crate) struct SlotContext<'a> {
    pub(crate) runner: &'a Arc<Runner>,
    pub(crate) workers: &'a Workers,
    pub(crate) cleanup: &'a Cleanup,
    pub(crate) wakeups: &'a Wakeups,
}
