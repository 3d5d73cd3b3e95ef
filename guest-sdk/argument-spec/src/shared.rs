//! What several names of a level have in common: in Python an option that was given by an alias is the same object under
//! both names, so what is converted and completed inside of it is seen under both.

use modbox_python_json::{Dict, Value};

/// Which names hold the same list or dict.
#[derive(Default)]
pub(crate) struct Sharing<'a> {
    groups: Vec<Vec<Member<'a>>>,
}

struct Member<'a> {
    name: &'a str,
    /// Once the items of a list have become a new list: which were dicts, by their place in the old list and in the new
    /// one. Those are still shared, the list itself no longer is.
    items: Option<Vec<(usize, usize)>>,
}

impl<'a> Sharing<'a> {
    /// Notes that an option is now what an alias is.
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

    /// Notes that a name holds something new.
    pub(crate) fn leave(&mut self, name: &str) {
        self.groups.iter_mut().for_each(|group| group.retain(|member| member.name != name));
    }

    /// Returns whether a name holds what others do.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.groups.iter().flatten().any(|member| member.name == name)
    }

    /// Notes that a name holds a new list, of which these items, by their old and their new place, are still the same.
    pub(crate) fn keep_items(&mut self, name: &str, items: Vec<(usize, usize)>) {
        if let Some(member) = self.groups.iter_mut().flatten().find(|member| member.name == name) {
            member.items = Some(items);
        }
    }

    /// Shows what became of one name's value under the other names of it.
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
