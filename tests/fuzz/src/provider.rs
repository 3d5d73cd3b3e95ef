//! What providers of libral say of themselves, and what they print.

use modbox_providers::ralsh_json::{ListedProvider, provider};
use modbox_providers::{Metadata, ralsh_json};

/// Metadata has the name of the file unless it says another, and is shown as JSON.
pub fn run(data: &[u8]) -> bool {
    let Ok(metadata) = Metadata::from_yaml(data, "stem") else { return false };
    let name = metadata.qualified_name();
    assert!(!name.contains(char::is_whitespace) && name.contains("::"), "{name}");
    assert_eq!(metadata.ordered_attributes().count(), metadata.attributes.len());
    let shown = provider(&ListedProvider { metadata: &metadata, suitable: true, source: "stem" });
    assert!(!ralsh_json::compact(&shown).is_empty());
    true
}
