//! What a play prints: as ansible-playbook does, as JSON lines, as a page, or explained.

pub(crate) mod explain;
pub(crate) mod explanation;
pub(crate) mod human;
pub(crate) mod jsonl;
pub(crate) mod lacking;
pub(crate) mod masked_event;
pub(crate) mod needs_of_events;
pub(crate) mod page;
pub(crate) mod page_details;
pub(crate) mod root_powers;
pub(crate) mod sink;
