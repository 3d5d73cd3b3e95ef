//! The keywords that an object of a play has, with their values.

use std::collections::BTreeMap;

use modbox_yaml::Source;

use crate::keywords::Keyword;

/// Keywords and the sources of their values.
#[derive(Debug, Clone, Default)]
pub struct KeywordValues {
    values: BTreeMap<Keyword, Source>,
}

impl KeywordValues {
    /// Returns the value of a keyword.
    #[must_use]
    pub fn get(&self, keyword: Keyword) -> Option<&Source> {
        self.values.get(&keyword)
    }

    /// Sets the value of a keyword.
    pub fn set(&mut self, keyword: Keyword, value: Source) {
        self.values.insert(keyword, value);
    }

    /// Removes a keyword and returns its value.
    pub fn take(&mut self, keyword: Keyword) -> Option<Source> {
        self.values.remove(&keyword)
    }

    /// Iterates over the keywords, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (Keyword, &Source)> {
        self.values.iter().map(|(keyword, value)| (*keyword, value))
    }
}
