//! The variables of items of a loop that does not run: of those that are known, and of one that is not.

use std::sync::Arc;

use modbox_template::{Layer, Origin, Provenance, Scope, Slot, Value};

use crate::keywords::Keyword;
use crate::report::outcome::Outcome;
use crate::run::session::Session;
use crate::run::steps::looping::{self, Items};
use crate::run::steps::task_run::TaskRun;

/// The number of an item, with the items that it is one of.
#[derive(Debug, Clone)]
pub struct ItemNumber {
    index: usize,
    items: Arc<Items>,
}

/// Returns the variables for each of the first items; `None` if a module decides what the items are.
#[must_use]
pub fn scopes(
    run: &TaskRun<'_>,
    session: &Session<'_>,
    items: &Arc<Items>,
    most: usize,
) -> Option<Vec<(ItemNumber, Scope)>> {
    let control = looping::control(run, session).ok().filter(|_| !items.provenance.iter().any(Origin::needs_run))?;
    let scope = |index| {
        let number = ItemNumber { index, items: Arc::clone(items) };
        (number, run.scope.with(Arc::new(looping::item_layer(&control, items, index))))
    };
    Some((0..items.len().min(most)).map(scope).collect())
}

/// Returns the variables for an item that is not known, and what decides about it.
#[must_use]
pub fn unknown_item(run: &TaskRun<'_>, session: &Session<'_>) -> (Scope, Provenance) {
    let source = run.task.lookup.as_ref().map(|(_, terms)| terms).or_else(|| run.task.keywords.get(Keyword::Loop));
    let mut provenance = source.map(|source| session.engine.origins(source, &run.scope)).unwrap_or_default();
    if !provenance.iter().any(Origin::needs_run) {
        provenance.insert(Origin::Result("the items of the loop".into()));
    }
    let control = looping::control(run, session).ok();
    let variable = control.as_ref().map_or("item", |control| control.variable.as_str());
    let mut layer = Layer::default();
    for name in [variable, "ansible_loop"] {
        layer.insert(name, Slot::made(Value::from(()), Arc::new(provenance.clone())));
    }
    if let Some(name) = control.as_ref().and_then(|control| control.index.as_deref()) {
        layer.insert(name, Slot::value(Value::from(0), Origin::Magic));
    }
    (run.scope.with(Arc::new(layer)), provenance)
}

/// Adds to the outcome of an item what it was for.
pub fn mark(run: &TaskRun<'_>, session: &Session<'_>, number: &ItemNumber, outcome: &mut Outcome) {
    if let Ok(control) = looping::control(run, session) {
        looping::complete(&control, &number.items, number.index, outcome);
    }
}
