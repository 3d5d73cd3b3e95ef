//! `inventory_hostnames`: the names of hosts that patterns mean.

use modbox_inventory::patterns::{Groups, hosts};
use modbox_python_json::{Value as Json, str as python_str};
use modbox_template::{LookupError, Value};

use super::call::Call;

pub(super) fn run(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let mut groups = Groups::new();
    if let Some(Json::Dict(known)) = call.variable("groups") {
        for (name, hosts) in known {
            groups.insert(name, hosts.as_list().unwrap_or_default().iter().map(python_str).collect());
        }
    }
    let patterns: Vec<String> = call.texts()?.into_iter().map(str::to_owned).collect();
    // As in Ansible, a malformed pattern means no host.
    Ok(hosts(&groups, &patterns).unwrap_or_default().into_iter().map(Value::from).collect())
}
