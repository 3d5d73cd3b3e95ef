//! The tests of Ansible and Jinja: what stands behind `is`.
//!
//! [`ALL`] has one line for each test.

mod compare;
mod files;
mod kinds;
mod loose;
mod members;
mod names;
mod pep440;
mod results;
mod semantic;
mod strict;
mod table;
mod urls;
mod version;
mod words;

pub use table::ALL;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::Plugin;

    #[test]
    fn names_are_unique_and_documented() {
        let mut names: Vec<String> = ALL.iter().flat_map(Plugin::names).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(ALL.iter().all(|plugin| plugin.doc.ends_with('.') && plugin.doc.len() > 10));
        assert!(ALL.is_sorted_by_key(|plugin| plugin.name));
        let plain = ALL.iter().flat_map(|plugin| plugin.aliases.iter().copied().chain([plugin.name]));
        let plain: std::collections::BTreeSet<&str> = plain.collect();
        assert_eq!(plain, names::NAMES.into_iter().collect());
    }
}
