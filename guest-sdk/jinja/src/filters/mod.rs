//! The filters of Ansible and Jinja.
//!
//! [`ALL`] has one line for each filter, but for those of [`OF_SECRETS`].

mod attribute;
mod chance;
mod combinatorics;
mod comment;
mod dict;
mod encoding;
mod hash;
mod json;
mod json_writer;
mod limits;
mod list;
mod logic;
mod markup;
mod merge;
mod mersenne;
mod number;
mod path;
mod pretty;
pub(crate) mod regex;
mod secret;
mod select;
mod sets;
mod size;
mod table;
mod time;
pub(crate) mod url;
mod urlize;
mod windows;
mod words;
mod yaml;

pub(crate) use encoding::{bytes_of, decode_text, encode_text};
pub use mersenne::Twister;
pub use table::{ALL, OF_SECRETS};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::Plugin;

    #[test]
    fn names_are_unique_and_documented() {
        let both = || ALL.iter().chain(OF_SECRETS);
        let mut names: Vec<String> = both().flat_map(Plugin::names).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(both().all(|plugin| plugin.doc.ends_with('.') && plugin.doc.len() > 10));
        assert!(ALL.is_sorted_by_key(|plugin| plugin.name));
    }
}
