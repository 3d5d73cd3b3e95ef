//! Which components of modbox may stand for Ansible's modules of the same names: `proven.tsv`.
//!
//! The twin test of tasks (`tests/twin_modules.rs`) runs both on the same random trees. A test there holds the list to its table of
//! differences, so that a component with a known fault cannot be in it.

use modbox_contract::{Dict, Value};

/// The list: a name, and the options that must be off, or have the value behind their `=`.
const LIST: &str = include_str!("proven.tsv");

/// Returns why a component may not stand for Ansible's module with these arguments, which have their defaults; `None` if it may.
pub(crate) fn objection(name: &str, parameters: &Dict) -> Option<String> {
    let Some(options) = options(name) else {
        return Some("it is not proven to do the same".to_owned());
    };
    options.split(' ').filter(|option| !option.is_empty()).find_map(|option| match option.split_once('=') {
        Some((option, known)) => {
            let is_known = matches!(parameters.get(option), None | Some(Value::Null))
                || parameters.get(option).and_then(Value::as_str) == Some(known);
            (!is_known).then(|| format!("it is proven with `{option}: {known}` only"))
        }
        None => {
            let is_on = !matches!(parameters.get(option), None | Some(Value::Null | Value::Bool(false)));
            is_on.then(|| format!("its result lacks what `{option}` adds"))
        }
    })
}

/// Returns the options that must be off, or have one value, separated by spaces; `None` if the component is not in the list.
fn options(name: &str) -> Option<&'static str> {
    let rows = LIST.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t'));
    rows.into_iter().find(|(listed, _)| *listed == name).map(|(_, options)| options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(option: &str, value: bool) -> Dict {
        Dict::from_iter([(option.to_owned(), Value::Bool(value))])
    }

    #[test]
    fn a_component_stands_for_another_module_only_if_it_is_proven() {
        assert_eq!(objection("lineinfile", &Dict::new()), None);
        assert!(objection("setup", &Dict::new()).unwrap().contains("not proven"));
        assert!(objection("line", &Dict::new()).is_some());
    }

    #[test]
    fn options_that_add_to_the_result_must_be_off() {
        assert_eq!(objection("stat", &with("get_mime", false)), None);
        assert!(objection("stat", &with("get_mime", true)).unwrap().contains("`get_mime`"));
    }

    #[test]
    fn options_with_one_proven_value_must_have_it() {
        let with = |value: &str| Dict::from_iter([("encoding".to_owned(), Value::from(value))]);
        assert_eq!(objection("lineinfile", &with("utf-8")), None);
        let objection = objection("lineinfile", &with("cp1252")).unwrap();
        assert_eq!(objection, "it is proven with `encoding: utf-8` only");
    }

    #[test]
    fn the_list_has_modules_of_modbox_in_their_order() {
        let rows = LIST.lines().filter(|line| !line.starts_with('#'));
        let names: Vec<&str> = rows.map(|line| line.split_once('\t').unwrap().0).collect();
        assert!(names.is_sorted() && names.iter().all(|name| modbox_authoring::is_standard(name)), "{names:?}");
    }
}
