//! `meta: refresh_inventory`: reads the operator's inventory again while a play runs.
//!
//! The hosts of the running play stay; those of the next play are the new ones. What a module may have written since the
//! run began is not the operator's word, so that its variables are data.

use crate::inventory::read::read;
use crate::model::task::Task;
use crate::report::message::Message;
use crate::run::session::Session;
use crate::run::steps::once;
use crate::run::variables::{play_files, refresh};

/// Reads the inventory again, once for all hosts of a play. Hosts and groups that tasks added stay.
///
/// # Errors
///
/// A file cannot be read, or is not an inventory.
pub fn run(session: &mut Session<'_>, task: &Task) -> Result<(), Message> {
    let Some(given) = session.options.inventory.clone() else { return Ok(()) };
    if once::is_done(session, task) {
        return Ok(());
    }
    let files = session.host.files();
    let found = read(files, &given.sources, session.settings.merges_mappings)
        .map_err(|error| Message::new(error.to_string()))?;
    let is_written = found.files.iter().any(|file| files.is_new(file).unwrap_or(true));
    let inventory = if is_written { found.inventory.into_data() } else { found.inventory };
    found.warnings.into_iter().for_each(|warning| session.warn(warning));
    session.hosts.refresh(inventory, is_written);
    session.variable_files.borrow_mut().clear();
    refresh::magic(session);
    play_files::read_inventory(session)
}
