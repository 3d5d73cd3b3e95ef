//! What the catalogue reads of its modules: their descriptions, and the identity of what they run. Nothing of a module is started.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use modbox_policy::Policy;
use modbox_run::library::FoundModule;
use modbox_run::{Module, Runner, locate};

use crate::cli::context::Context;
use crate::cli::identity::Identity;
use crate::cli::mcp::described::Described;
use crate::cli::named::find::Lookup;
use crate::cli::settings::Settings;

/// What the catalogue is made with.
pub(crate) struct Sources<'a> {
    pub(crate) context: &'a Context,
    pub(crate) settings: &'a Settings,
    pub(crate) lookup: &'a Lookup,
    pub(crate) runner: &'a Runner,
}

/// What is known of a module.
pub(super) struct Examined {
    pub(super) described: Described,
    pub(super) module: Module,
    pub(super) identity: Identity,
}

/// An examined module, or why it cannot be a tool. An error concerns all tools.
pub(super) type Examination = anyhow::Result<Result<Examined, String>>;

/// Examines modules, as many at a time as there are processors: thousands take minutes otherwise. `general` is the policy of every
/// module. Returns the examinations in the order of the modules.
pub(super) fn examine_all(sources: &Sources<'_>, modules: &[FoundModule], general: &Policy) -> Vec<Examination> {
    let next = AtomicUsize::new(0);
    let examine_next = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        Some((number, examine(sources, modules.get(number)?, general)))
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(modules.len());
    let mut examined: Vec<(usize, Examination)> = thread::scope(|scope| {
        let started: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| std::iter::from_fn(examine_next).collect::<Vec<_>>())).collect();
        started.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    examined.sort_by_key(|(number, _)| *number);
    examined.into_iter().map(|(_, examination)| examination).collect()
}

fn examine(sources: &Sources<'_>, found: &FoundModule, general: &Policy) -> Examination {
    let described = match Described::read(sources.context, sources.lookup, found) {
        Ok(described) => described,
        Err(reason) => return Ok(Err(reason)),
    };
    let module = Module::new(locate::read(&found.path)?, None);
    let identity = Identity::of(sources.runner, &module, &found.name, &sources.lookup.interpreters, general);
    Ok(match &identity.unresolved {
        Some(reason) => Err(format!("its parts cannot be found: {reason}")),
        None => Ok(Examined { described, module, identity }),
    })
}
