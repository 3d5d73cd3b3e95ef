//! What a result changes for the tasks after it: facts, variables, groups and statistics.

use std::sync::Arc;

use modbox_jinja::values;
use modbox_python_json::{Dict, Value};
use modbox_template::{Layer, Origin, Provenance, Slot};

use crate::model::task::{Task, is_builtin, is_one_of};
use crate::report::outcome::Outcome;
use crate::run::session::Session;
use crate::run::variables::play_files;
use crate::run::variables::refresh;

/// Returns the facts of a result as variables, for the conditions of the same task.
#[must_use]
pub fn as_variables(session: &Session<'_>, task: &Task, outcome: &Outcome) -> Option<Layer> {
    of_items(session, task, outcome, outcome.data.get("ansible_facts")?.as_dict()?)
}

/// Returns the facts that items of a loop found or set as variables, for the items after them.
#[must_use]
pub fn of_items(session: &Session<'_>, task: &Task, outcome: &Outcome, facts: &Dict) -> Option<Layer> {
    if facts.is_empty() {
        return None;
    }
    if is_builtin(task.action_text(), "debug") {
        return None;
    }
    if is_one_of(task.action_text(), &["set_fact", "include_vars"]) {
        let slot = |(name, value): (&String, &Value)| {
            (name.as_str().into(), Slot::made(values::from_json(value), provenance(task, outcome, name)))
        };
        return Some(facts.iter().map(slot).collect());
    }
    let mut found = session.vars.facts().clone();
    found.extend(facts);
    Some(session.vars.fact_layer(&found))
}

/// Applies what the result of a task or of an item changes. Failed and skipped results change nothing.
pub fn apply(session: &mut Session<'_>, task: &Task, outcome: &Outcome) {
    let data = &outcome.data;
    if let Some(facts) = data.get("ansible_facts").and_then(Value::as_dict)
        && !is_builtin(task.action_text(), "debug")
    {
        apply_facts(session, task, outcome, facts);
    }
    if let Some(stats) = data.get("ansible_stats").and_then(Value::as_dict) {
        apply_stats(session, stats);
    }
}

fn apply_facts(session: &mut Session<'_>, task: &Task, outcome: &Outcome, facts: &Dict) {
    let action = task.action_text();
    if is_builtin(action, "include_vars") {
        // Those that are text of the play were taken over as such.
        facts.iter().for_each(|(name, value)| session.vars.include_data(name, value));
        return;
    }
    let set = is_builtin(action, "set_fact");
    let cacheable = outcome.data.get("_ansible_facts_cacheable").is_some_and(Value::is_truthy);
    if !set || cacheable {
        session.vars.add_facts(facts);
    }
    if set {
        facts.iter().for_each(|(name, value)| session.vars.set(name, value, provenance(task, outcome, name)));
    }
}

/// Returns where a variable that a task sets comes from. What is not known counts as a result.
fn provenance(task: &Task, outcome: &Outcome, name: &str) -> Arc<Provenance> {
    let unknown = || Arc::new([Origin::Result(task.action_text().into())].into_iter().collect());
    outcome.provenance_of(name).map_or_else(unknown, Arc::clone)
}

/// Applies what a result says about hosts and groups, and sets whether that changed anything.
pub fn apply_inventory(session: &mut Session<'_>, data: &mut Dict) {
    let mut changed = None;
    if let Some(host) = data.get("add_host").and_then(Value::as_dict) {
        let name = host.get("host_name").map(modbox_python_json::str).unwrap_or_default();
        let groups = host.get("groups").and_then(Value::as_list).unwrap_or_default();
        let groups: Vec<String> = groups.iter().map(modbox_python_json::str).collect();
        let vars = host.get("host_vars").and_then(Value::as_dict).cloned().unwrap_or_default();
        let new = if session.is_this_host(&name) {
            let mut new = false;
            for group in &groups {
                new |= add_group(session, group, &[]);
            }
            new
        } else {
            session.hosts.add(&name, &groups, &vars)
        };
        refresh::magic(session);
        changed = Some(new);
    }
    if let Some(group) = data.get("add_group") {
        let parents = data.get("parent_groups").and_then(Value::as_list).unwrap_or_default();
        let parents: Vec<String> = parents.iter().map(modbox_python_json::str).collect();
        changed = Some(add_group(session, &modbox_python_json::str(group), &parents));
    }
    let Some(changed) = changed else { return };
    data.insert("changed".to_owned(), Value::Bool(changed));
    // Another group of this host may have files of variables.
    if changed && let Err(error) = play_files::read_inventory(session) {
        session.warn(format!("the variables of new groups are left out: {}", error.brief()));
    }
}

/// Adds the host to a group. Returns whether it was not in the group.
fn add_group(session: &mut Session<'_>, group: &str, parents: &[String]) -> bool {
    let host = session.host_name.clone();
    let new = session.hosts.join(&host, group);
    session.hosts.put_below(group, parents);
    refresh::magic(session);
    new
}

fn apply_stats(session: &mut Session<'_>, stats: &Dict) {
    let flag = |name: &str, default: bool| stats.get(name).map_or(default, Value::is_truthy);
    let (per_host, aggregate) = (flag("per_host", true), flag("aggregate", false));
    for (name, value) in stats.get("data").and_then(Value::as_dict).into_iter().flatten() {
        session.custom.record(per_host, aggregate, name, value);
    }
}
