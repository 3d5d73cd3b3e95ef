//! Inventories in INI and YAML, and lists of hosts.

use modbox_inventory::{Inventory, InventoryError, MAX_HOSTS, Origin, read_ini, read_list, read_yaml};

/// An inventory has at most as many hosts as it may, and each is in the group `all`.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(data) else { return false };
    let ini = check(|inventory| read_ini(inventory, text, &Origin::file("hosts")));
    let yaml = check(|inventory| read_yaml(inventory, text, &Origin::file("hosts.yml")).map(drop));
    let list = check(|inventory| read_list(inventory, text));
    ini || yaml || list
}

fn check(read: impl FnOnce(&mut Inventory) -> Result<(), InventoryError>) -> bool {
    let mut inventory = Inventory::new();
    if read(&mut inventory).is_err() {
        return false;
    }
    inventory.reconcile();
    let all = inventory.hosts_of("all");
    assert!(all.len() <= MAX_HOSTS && all.len() == inventory.host_names().len());
    for host in all {
        assert!(!inventory.groups_of(host).is_empty(), "{host}");
    }
    true
}
