//! The kinds of Python plugins: their folders, and their words in messages.

use modbox_template::PluginKind;

/// The kinds, each with its folder beside a play or in a role and its word.
pub(super) const KINDS: [(PluginKind, &str, &str); 3] = [
    (PluginKind::Filter, "filter_plugins", "filter"),
    (PluginKind::Test, "test_plugins", "test"),
    (PluginKind::Lookup, "lookup_plugins", "lookup"),
];

/// Returns the word for a kind.
pub(super) fn word(kind: PluginKind) -> &'static str {
    KINDS.iter().find(|(known, ..)| *known == kind).map_or("", |(_, _, word)| word)
}
