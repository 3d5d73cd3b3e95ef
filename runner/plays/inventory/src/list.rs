//! Lists of hosts with commas, as `-i web1,web2` gives them.

use modbox_yaml::Position;

use crate::address::split_port;
use crate::error::InventoryError;
use crate::model::Inventory;
use crate::origin::Origin;

/// Adds the hosts of a list.
///
/// # Errors
///
/// The hosts are too many.
pub fn read_list(inventory: &mut Inventory, list: &str) -> Result<(), InventoryError> {
    let origin = Origin::list(list);
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let (name, port) = split_port(name);
        inventory
            .add_host("ungrouped", name, port, &origin)
            .map_err(|problem| problem.at(&Position::start_of("<--inventory>")))?;
    }
    Ok(())
}
