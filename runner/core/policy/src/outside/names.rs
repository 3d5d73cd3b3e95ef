//! The names that a profile binds: `manage-services: [nginx, "php*-fpm"]`.
//!
//! A name with `*` (any characters) or `?` (one character) is a pattern. A pattern never reaches a reserved name. Without names,
//! a profile reaches all names but the reserved ones.

use modbox_vocabulary::NamePattern;

use crate::outside::kinds::Kind;
use crate::outside::reserved::{canonical, is_reserved};

/// The names that an operator wrote beside a profile; none for all but the reserved ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BoundNames(Vec<String>);

impl BoundNames {
    /// Checks the names for kinds that a profile binds.
    ///
    /// # Errors
    ///
    /// The index of a name that has the form of none of the kinds, and the reason.
    pub fn new(names: &[&str], kinds: &[Kind]) -> Result<Self, (usize, String)> {
        for (index, name) in names.iter().enumerate() {
            // A pattern has the form of the names that fit it.
            let sample = name.replace(['*', '?'], "a");
            if !kinds.iter().any(|kind| kind.has_form(&sample)) {
                let kinds = kinds.iter().map(|kind| format!("<{kind}>")).collect::<Vec<_>>().join(" or ");
                let reason =
                    format!("`{name}` is not a name for {kinds}; expected a name, with `*` for any characters");
                return Err((index, reason));
            }
        }
        Ok(Self(names.iter().map(|&name| name.to_owned()).collect()))
    }

    /// Returns the names as written.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns whether there are no names, so that all but the reserved ones are reached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a word may be an operand of the kind.
    #[must_use]
    pub fn permit(&self, kind: Kind, word: &str) -> bool {
        if !kind.has_form(word) {
            return false;
        }
        match kind {
            Kind::Users => word.split(',').all(|name| self.reach(Kind::User, name)),
            kind if kind.is_bound() => self.reach(kind, word),
            _ => true,
        }
    }

    fn reach(&self, kind: Kind, word: &str) -> bool {
        let name = canonical(kind, word);
        let is_reserved = is_reserved(kind, &name);
        if self.0.is_empty() {
            return !is_reserved;
        }
        self.0.iter().any(|written| match is_pattern(written) {
            false => canonical(kind, written) == name,
            true => !is_reserved && is_plain(kind, &name) && NamePattern::new(&canonical(kind, written)).matches(&name),
        })
    }

    /// Returns whether every name is one of another profile's names.
    #[must_use]
    pub fn are_within(&self, others: &Self) -> bool {
        match (self.0.as_slice(), others.0.as_slice()) {
            ([], others) => others.is_empty(),
            (names, []) => self.reserved(&Kind::ALL).is_empty() && !names.is_empty(),
            (names, others) => names.iter().all(|name| others.contains(name)),
        }
    }

    /// Returns the names that are spelled and reserved for one of the kinds.
    #[must_use]
    pub fn reserved(&self, kinds: &[Kind]) -> Vec<&str> {
        let is_reserved = |name: &&String| kinds.iter().any(|kind| is_reserved(*kind, &canonical(*kind, name)));
        self.0.iter().filter(|name| !is_pattern(name)).filter(is_reserved).map(String::as_str).collect()
    }
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Returns whether a program takes the word for nothing but itself. `apt-get` takes a name that no package has for a regular
/// expression if there is a `.` in it, so that `ph..` would reach more than the pattern `ph*`. Versions have digits around it.
fn is_plain(kind: Kind, name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_digit = |index: Option<usize>| index.and_then(|index| bytes.get(index)).is_some_and(u8::is_ascii_digit);
    let between_digits = |index: usize| is_digit(index.checked_sub(1)) && is_digit(index.checked_add(1));
    kind != Kind::Package || (0..bytes.len()).all(|index| bytes[index] != b'.' || between_digits(index))
}
