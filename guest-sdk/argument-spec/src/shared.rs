//! Tracks which names of a level share a value. In Python, an option that was given by an alias is the same object
//! under both names, so a change inside the object is visible under both.

use modbox_python_json::{Dict, Value};

/// The names that hold the same list or dict.
#[derive(Default)]
pub(crate) struct Sharing<'a> {
    groups: Vec<Vec<Member<'a>>>,
}

struct Member<'a> {
    name: &'a str,
    /// Set when the items of a list were moved to a new list: the dicts among them, by their old and new index. The
    /// dicts are still shared; the list is not.
    items: Option<Vec<(usize, usize)>>,
}

impl<'a> Sharing<'a> {
    /// Records that an option now holds the value of an alias.
    pub(crate) fn join(&mut self, option: &'a str, alias: &'a str, value: &Value) {
        self.leave(option);
        if !matches!(value, Value::List(_) | Value::Dict(_)) || option == alias {
            return;
        }
        let member = |name| Member { name, items: None };
        match self.groups.iter_mut().find(|group| group.iter().any(|member| member.name == alias)) {
            Some(group) => group.push(member(option)),
            None => self.groups.push(vec![member(alias), member(option)]),
        }
    }

    /// Records that a name holds a new value.
    pub(crate) fn leave(&mut self, name: &str) {
        self.groups.iter_mut().for_each(|group| group.retain(|member| member.name != name));
    }

    /// Returns whether a name shares its value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.groups.iter().flatten().any(|member| member.name == name)
    }

    /// Records that a name holds a new list that shares these items, by their old and new index.
    pub(crate) fn keep_items(&mut self, name: &str, items: Vec<(usize, usize)>) {
        if let Some(member) = self.groups.iter_mut().flatten().find(|member| member.name == name) {
            member.items = Some(items);
        }
    }

    /// Copies the changed value of one name to the names that share it.
    pub(crate) fn spread(&self, name: &str, parameters: &mut Dict) {
        let Some(group) = self.groups.iter().find(|group| group.iter().any(|member| member.name == name)) else {
            return;
        };
        let Some(source) = group.iter().find(|member| member.name == name) else { return };
        let Some(value) = parameters.get(name).cloned() else { return };
        for target in group.iter().filter(|member| member.name != name) {
            if let Some(other) = parameters.get_mut(target.name) {
                copy(source, &value, target, other);
            }
        }
    }
}

fn copy(source: &Member<'_>, value: &Value, target: &Member<'_>, other: &mut Value) {
    let (Value::List(from), Value::List(to)) = (value, &mut *other) else {
        other.clone_from(value);
        return;
    };
    let pairs: Vec<(usize, usize)> = match (&source.items, &target.items) {
        (None, None) => {
            to.clone_from(from);
            return;
        }
        (None, Some(target)) => target.clone(),
        (Some(source), None) => source.iter().map(|(old, new)| (*new, *old)).collect(),
        (Some(source), Some(target)) => {
            let place = |old: usize| target.iter().find(|(other, _)| *other == old).map(|(_, new)| *new);
            source.iter().filter_map(|(old, new)| Some((*new, place(*old)?))).collect()
        }
    };
    for (from_place, to_place) in pairs {
        if let (Some(new), Some(old)) = (from.get(from_place), to.get_mut(to_place)) {
            old.clone_from(new);
        }
    }
}
