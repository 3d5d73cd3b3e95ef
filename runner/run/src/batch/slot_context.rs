//! What a slot needs of its batch.

use std::sync::Arc;

use modbox_cleanup::Cleanup;
use modbox_worker::Workers;

use crate::batch::background::Wakeups;
use crate::execution::runner::Runner;

/// What a slot needs of its batch.
#[derive(Clone, Copy)]
pub(super) struct SlotContext<'a> {
    pub(super) runner: &'a Arc<Runner>,
    pub(super) workers: &'a Workers,
    pub(super) cleanup: &'a Cleanup,
    pub(super) wakeups: &'a Wakeups,
}
