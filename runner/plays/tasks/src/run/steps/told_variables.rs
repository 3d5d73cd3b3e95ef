//! Variables of hosts that set settings which make no difference here: a task that sees one says so, once in a run.

use modbox_template::{Origin, Scope};

use crate::report::events::Event;
use crate::run::session::Session;
use crate::settings::{Status, VARIABLES};

/// Says which variables of a task make no difference: those that would in Ansible by a warning, the others under `-v`.
pub(super) fn tell(session: &mut Session<'_>, scope: &Scope) {
    for (name, status) in VARIABLES {
        if *status == Status::Honoured || session.told_variables.contains(name) {
            continue;
        }
        // The engine sets some of them itself.
        let is_set = scope.get(name).is_some_and(|slot| slot.origins().any(|origin| *origin != Origin::Magic));
        if !is_set {
            continue;
        }
        session.told_variables.insert(name);
        match status {
            Status::Told(reason) => session.warn(format!("the variable `{name}` makes no difference: {reason}")),
            _ => session
                .event(Event::Verbose { level: 1, text: &format!("the variable `{name}` makes no difference here") }),
        }
    }
}
