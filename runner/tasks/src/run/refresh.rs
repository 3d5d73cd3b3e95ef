//! The variables that a run sets by itself, made anew when the play, the hosts or the facts change.

use std::sync::Arc;

use indexmap::IndexSet;
use modbox_template::{Layer, Origin, Scope, Slot};

use crate::run::inventory_vars;
use crate::run::session::Session;
use crate::vars::magic;

/// Computes the engine's variables anew, for a play whose name, roles or hosts changed.
pub fn magic(session: &mut Session<'_>) {
    let play = &session.play;
    session.play.magic = vec![
        Arc::new(magic::of_run(session.options, &play.folder, &session.hosts)),
        Arc::new(magic::of_host_names(&session.host_name, &session.hosts)),
        Arc::new(magic::of_play(&play.name, &play.hosts, &session.host_name, &play.roles)),
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
        let layers = inventory_vars::layers(session, &name).unwrap_or_else(|error| {
            session.warn(format!("the variables of `{name}` are left out: {}", error.problem));
            Vec::new()
        });
        let mut scope: Scope = layers.into_iter().collect();
        if let Some(state) = session.parked.get(&name) {
            state.vars.changed_layers().into_iter().for_each(|layer| scope.push(layer));
        }
        scope.push(Arc::clone(&session.options.extra_vars));
        session.play.magic.first().into_iter().for_each(|layer| scope.push(Arc::clone(layer)));
        scope.push(Arc::new(magic::of_host_names(&name, &session.hosts)));
        shown.insert(name, Slot::scope(scope, Origin::Magic));
    }
    shown
}
