//! What an option shares with the alias by which it was given: in Python both are one object, so what is converted and
//! completed inside of it is seen under both names.

use modbox_python_json::{Dict, Value};

use crate::spec::OptionSpec;

/// An option that was given by an alias, and holds options of its own.
pub(crate) struct Shared<'a> {
    /// The option's place in the spec.
    pub(crate) option: usize,
    name: &'a str,
    alias: &'a str,
    /// Once the items of a list have become a new list: which were dicts, by their place in the old list and in the new
    /// one. Those are still shared, the list itself no longer is.
    pub(crate) items: Option<Vec<(usize, usize)>>,
}

impl<'a> Shared<'a> {
    /// Notes that an alias was copied onto its option, if anything inside of the value can change. The last alias wins.
    pub(crate) fn note(
        all: &mut Vec<Self>,
        option: usize,
        name: &'a str,
        alias: &'a str,
        spec: &OptionSpec,
        value: &Value,
    ) {
        all.retain(|shared| shared.option != option);
        if spec.sub_spec.is_some() && spec.holds_dicts() && matches!(value, Value::List(_) | Value::Dict(_)) {
            all.push(Self { option, name, alias, items: None });
        }
    }

    /// Brings what became of the option to its alias.
    pub(crate) fn copy_back(&self, parameters: &mut Dict) {
        let Some(value) = parameters.get(self.name).cloned() else { return };
        let Some(alias) = parameters.get_mut(self.alias) else { return };
        match (&self.items, alias, value) {
            (None, alias, value) => *alias = value,
            (Some(pairs), Value::List(old), Value::List(new)) => {
                for (from, to) in pairs {
                    if let (Some(old), Some(new)) = (old.get_mut(*from), new.get(*to)) {
                        old.clone_from(new);
                    }
                }
            }
            _ => {}
        }
    }
}
