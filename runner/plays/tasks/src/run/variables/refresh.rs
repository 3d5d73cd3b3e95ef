//! The variables that a run sets by itself, made anew when the play, the hosts or the facts change.

use std::sync::Arc;

use indexmap::IndexSet;
use modbox_template::{Layer, Origin, Scope, Slot};

use crate::run::session::Session;
use crate::run::variables::inventory_vars;
use crate::vars::layer;
use crate::vars::magic::{self, HostsOfPlay};

/// Computes the engine's variables anew, for a play whose name, roles or hosts changed.
pub fn magic(session: &mut Session<'_>) {
    let play = &session.play;
    let (failed, left) = play.hosts.iter().cloned().partition(|host| session.has_failed(host));
    let hosts = HostsOfPlay { all: &play.hosts, left, failed };
    session.play.magic = vec![
        Arc::new(magic::of_run(session.options, &play.folder, &session.hosts)),
        Arc::new(magic::of_host_names(&session.host_name, &session.hosts)),
        Arc::new(magic::of_play(&play.name, &hosts, &session.host_name, &play.roles)),
    ];
    let others = other_hosts(session);
    session.others = Arc::new(others);
}

/// Returns the variables of the other hosts, which `hostvars` shows.
fn other_hosts(session: &mut Session<'_>) -> Layer {
    let mut shown = Layer::default();
    let known = session.hosts.inventory.host_names().chain(session.parked.keys().map(String::as_str));
    let names: IndexSet<String> = known.filter(|name| *name != session.host_name).map(str::to_owned).collect();
    for name in names {
        let scope = other_host(session, &name, Vec::new());
        shown.insert(name, Slot::scope(scope, Origin::Magic));
    }
    shown
}

/// Returns the variables of a host that the play does not run for at the moment, above those of `low`.
fn other_host(session: &mut Session<'_>, name: &str, low: Vec<Arc<Layer>>) -> Scope {
    let layers = inventory_vars::layers(session, name).unwrap_or_else(|error| {
        session.warn(format!("the variables of `{name}` are left out: {}", error.problem));
        Vec::new()
    });
    let changed = session.parked.get(name).map(|state| state.vars.changed_layers()).unwrap_or_default();
    let of_engine = session.play.magic.first().cloned();
    let layers = low.into_iter().chain(layers).chain(changed);
    let layers = layers.chain([Arc::clone(&session.options.extra_vars)]).chain(of_engine);
    let layers = layers.chain([Arc::new(magic::of_host_names(name, &session.hosts))]);
    Scope::of_layers(layers, session.settings.merges_mappings)
}

/// Returns `ansible_delegated_vars`: the variables of the host that a task is delegated to, by its name.
pub fn delegated(session: &mut Session<'_>, name: &str) -> Layer {
    let scope = if session.is_this_host(name) {
        let of_host = session.play.magic.get(..2).unwrap_or_default();
        session.vars.hostvars(&session.options.extra_vars, of_host)
    } else {
        let low = vec![Arc::clone(&session.reached), magic::of_connection(name, &session.hosts, None)];
        other_host(session, name, low)
    };
    // As in Ansible, the name stays that of the host that the task is for.
    let scope = scope.with(layer::of_texts([("inventory_hostname", session.host_name.as_str())]));
    let mut hosts = Layer::default();
    hosts.insert(name, Slot::scope(scope, Origin::Magic));
    let mut layer = Layer::default();
    let hosts = Scope::new().with(Arc::new(hosts));
    layer.insert("ansible_delegated_vars", Slot::scope(hosts, Origin::Magic));
    layer
}
