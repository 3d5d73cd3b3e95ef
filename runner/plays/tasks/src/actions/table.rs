//! The table of actions.

use modbox_python_json::Dict;

use crate::actions::backends::{dnf, libral, normal, package, service};
use crate::actions::commands::{async_status, command, connection, pause, raw, script};
use crate::actions::context::ActionContext;
use crate::actions::copies::{assemble, copy, fetch, patch, synchronize, template, unarchive, uri};
use crate::actions::error::ActionError;
use crate::actions::values::{
    add_host, assert, debug, fail, gather_facts, group_by, include_vars, set_fact, set_stats, validate_argument_spec,
};
use crate::model::task::short_name;

/// The function of an action.
pub type ActionFunction = fn(&mut ActionContext<'_>) -> Result<Dict, ActionError>;

/// An action.
#[derive(Debug, Clone, Copy)]
pub struct Action {
    /// The name in its collection.
    pub name: &'static str,
    /// What it does.
    pub run: ActionFunction,
    /// Whether it takes free form, which is the argument `_raw_params`.
    pub free_form: bool,
    /// Arguments that it evaluates itself, which it gets as sources.
    pub unevaluated: &'static [&'static str],
    /// Whether the names of its arguments are evaluated, too.
    pub evaluates_names: bool,
    /// Whether it does no harm in check mode. If not, it is skipped there.
    pub check_mode: bool,
    /// Whether it can run as a job.
    pub job: bool,
    /// The collection that has the action; `None` for one of modbox.
    pub collection: Option<&'static str>,
}

/// The collection of ansible-core.
const BUILTIN: &str = "ansible.builtin";

/// The collection of actions that were a part of ansible-core.
const POSIX: &str = "ansible.posix";

const fn action(name: &'static str, run: ActionFunction) -> Action {
    Action {
        name,
        run,
        free_form: false,
        unevaluated: &[],
        evaluates_names: false,
        check_mode: true,
        job: false,
        collection: Some(BUILTIN),
    }
}

/// All actions but that of ordinary modules, in alphabetical order.
pub static ALL: &[Action] = &[
    Action { free_form: true, ..action("add_host", add_host::run) },
    action("assemble", assemble::run),
    Action { unevaluated: &["that"], ..action("assert", assert::run) },
    action("async_status", async_status::run),
    Action { free_form: true, job: true, ..action("command", command::run) },
    action("copy", copy::run),
    Action { unevaluated: &["var"], ..action("debug", debug::run) },
    Action { job: true, ..action("dnf", dnf::run) },
    action("fail", fail::run),
    action("fetch", fetch::run),
    action("gather_facts", gather_facts::run),
    Action { free_form: true, ..action("group_by", group_by::run) },
    Action { free_form: true, ..action("include_vars", include_vars::run) },
    Action { collection: None, ..action("libral", libral::run) },
    Action { job: true, ..action("package", package::run) },
    Action { collection: Some(POSIX), ..action("patch", patch::run) },
    action("pause", pause::run),
    Action { free_form: true, ..action("raw", raw::run) },
    action("reboot", connection::reboot),
    Action { free_form: true, ..action("script", script::run) },
    Action { job: true, ..action("service", service::run) },
    Action { free_form: true, evaluates_names: true, ..action("set_fact", set_fact::run) },
    action("set_stats", set_stats::run),
    Action { free_form: true, job: true, ..action("shell", command::run_shell) },
    Action { collection: Some(POSIX), job: true, ..action("synchronize", synchronize::run) },
    action("template", template::run),
    action("unarchive", unarchive::run),
    Action { check_mode: false, job: true, ..action("uri", uri::run) },
    action("validate_argument_spec", validate_argument_spec::run),
    action("wait_for_connection", connection::wait),
];

/// The action of all modules that have none of their own.
pub static NORMAL: Action = Action { job: true, ..action("normal", normal::run) };

/// What the engine evaluates of includes, which it does itself.
pub static INCLUDE: Action = Action { free_form: true, unevaluated: &["apply"], ..action("include", normal::run) };

/// Actions that run nothing by themselves: the engine does what they say.
pub const ENGINE: [&str; 6] =
    ["import_playbook", "import_role", "import_tasks", "include_role", "include_tasks", "meta"];

impl Action {
    /// Returns the name for defaults and messages: with the collection, if one has the action.
    #[must_use]
    pub fn full_name(&self) -> String {
        self.collection.map_or_else(|| self.name.to_owned(), |collection| format!("{collection}.{}", self.name))
    }

    /// Says whether the action is there only if its collection is installed, which has the module.
    #[must_use]
    pub fn needs_collection(&self) -> bool {
        self.collection.is_some_and(|collection| collection != BUILTIN)
    }
}

/// Finds the action of a name. One of ansible-core is written with or without its collection, one of another collection with it.
#[must_use]
pub fn find(name: &str) -> Option<&'static Action> {
    let short = match short_name(name) {
        // As ansible-core routes it.
        "yum" => "dnf",
        short => short,
    };
    ALL.iter().find(|action| match action.collection {
        Some(BUILTIN) => action.name == short,
        Some(_) => name == action.full_name(),
        None => action.name == name,
    })
}

/// Says whether a name is that of an action that needs no module.
#[must_use]
pub fn is_builtin(name: &str) -> bool {
    find(name).is_some_and(|action| !action.needs_collection()) || ENGINE.contains(&short_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_found_by_all_names() {
        let names: Vec<&str> = ALL.iter().map(|action| action.name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(names, sorted);
        for action in ALL {
            let found = |name: &str| find(name).map(Action::full_name);
            assert_eq!(found(&action.full_name()), Some(action.full_name()));
            assert_eq!(found(action.name).is_some(), !action.needs_collection());
            let with_collection =
                ["ansible.builtin.", "ansible.legacy."].map(|start| format!("{start}{}", action.name));
            let is_builtin = action.collection == Some(BUILTIN);
            assert!(with_collection.iter().all(|name| found(name).is_some() == is_builtin), "{}", action.name);
        }
        assert_eq!(find("libral").map(Action::full_name), Some("libral".to_owned()));
        assert!(find("community.general.debug").is_none());
        assert!(is_builtin("ansible.builtin.meta") && !is_builtin("ping"));
    }
}
