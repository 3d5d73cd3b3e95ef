//! Names of tools. Clients and model APIs take only letters, digits, `_` and `-`, prefix names, and refuse all tools of a
//! server when one name is wrong or too long.

use sha2::{Digest as _, Sha256};

/// Maximum length of a name: what model APIs take (64), less the prefix that clients add (`mcp__modbox__`).
pub const MAX_NAME: usize = 50;

/// Characters of a long name that are kept, before its digest.
const KEPT: usize = 41;

/// Hex digits of the digest.
const DIGEST: usize = 8;

/// Returns the name of the tool of a module: `.` becomes `-`, and so does every other character that names of tools do not
/// have. `is_taken` tells whether another tool has a name. A name that is too long, is taken, or could be that of another
/// module ends with a digest of the module's name.
#[must_use]
pub fn tool_name(module: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
    let name: String = module.chars().map(|c| if is_plain(c) && c != '.' { c } else { '-' }).collect();
    match name.len() <= MAX_NAME && !name.is_empty() && module.chars().all(is_plain) && !is_taken(&name) {
        true => name,
        false => with_digest(&name, module),
    }
}

fn with_digest(name: &str, module: &str) -> String {
    let digest = Sha256::digest(module);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).take(DIGEST / 2).collect();
    // The name is ASCII, so each byte is a character.
    format!("{}-{hex}", &name[..name.len().min(KEPT)])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_have_only_what_every_client_takes() {
        let long = format!("community.general.{}", "x".repeat(40));
        for module in ["stat", "ansible.builtin.stat", "ssh::key", "名", "", &long, "a b\u{202e}c", &"é".repeat(200)]
        {
            let name = tool_name(module, |_| false);
            assert!((1..=MAX_NAME).contains(&name.len()), "{module}: {name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{module}: {name}");
        }
        assert_eq!(tool_name("ansible.builtin.stat", |_| false), "ansible-builtin-stat");
        assert_eq!(tool_name(&long, |_| false).len(), MAX_NAME);
    }

    #[test]
    fn modules_with_similar_names_have_names_of_their_own() {
        let long = |end: char| format!("acme.web.{}{end}", "x".repeat(60));
        let mut taken = BTreeSet::new();
        for module in ["a.b", "a-b", "a:b", "a\u{e9}b", &long('1'), &long('2')] {
            let name = tool_name(module, |name| taken.contains(name));
            assert!(taken.insert(name.clone()), "{module}: {name}");
        }
    }
}
