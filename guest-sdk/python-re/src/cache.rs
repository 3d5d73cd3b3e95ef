//! Compiled patterns that are kept, as Python's `re` keeps them: filters and tests of lists use the same one for each item.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::class::Subject;
use crate::flags::Flags;
use crate::pattern::{Pattern, PatternError};

/// Maximum number of patterns that are kept.
const MAX_PATTERNS: usize = 256;

/// Maximum bytes of a pattern that is kept.
const MAX_LENGTH: usize = 4096;

type Patterns = HashMap<(String, Subject, Flags), Arc<Pattern>>;

static PATTERNS: LazyLock<Mutex<Patterns>> = LazyLock::new(Mutex::default);

impl Pattern {
    /// Compiles a pattern, or returns one that was compiled before.
    ///
    /// # Errors
    ///
    /// The pattern is wrong.
    pub fn cached(pattern: &str, subject: Subject, flags: Flags) -> Result<Arc<Self>, PatternError> {
        if pattern.len() > MAX_LENGTH {
            return Self::new(pattern, subject, flags).map(Arc::new);
        }
        let key = (pattern.to_owned(), subject, flags);
        let mut patterns = PATTERNS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = patterns.get(&key) {
            return Ok(Arc::clone(known));
        }
        let compiled = Arc::new(Self::new(pattern, subject, flags)?);
        if patterns.len() >= MAX_PATTERNS {
            patterns.clear();
        }
        patterns.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_with_other_flags_are_others() {
        let cached = |flags| Pattern::cached("a", Subject::Text, flags).unwrap();
        let ignoring_case = Flags { ignore_case: true, ..Flags::default() };
        assert!(Arc::ptr_eq(&cached(Flags::default()), &cached(Flags::default())));
        assert!(cached(Flags::default()).search(b"A").unwrap().is_none());
        assert!(cached(ignoring_case).search(b"A").unwrap().is_some());
        assert!(Pattern::cached("(", Subject::Text, Flags::default()).is_err());
    }
}
