//! Compiled texts, by the text's address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::compile::{Form, Program, SyntaxFailure};
use crate::limits::MAX_CACHED;

/// A compiled text, or why there is none.
pub(crate) type Compiled = Result<Arc<Program>, SyntaxFailure>;

/// The address of a text, and what it is.
type Key = (usize, Form);

/// Compiled texts. A text is held as long as what was compiled of it, so that no other text has its address.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<HashMap<Key, (Arc<str>, Compiled)>>);

impl Cache {
    /// Returns what was compiled of a text, or compiles it.
    pub(crate) fn get(&self, text: &Arc<str>, form: Form, compile: impl FnOnce() -> Compiled) -> Compiled {
        let key = (text.as_ptr() as usize, form);
        {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, compiled)) = known.get(&key).filter(|(kept, _)| kept.len() == text.len()) {
                return compiled.clone();
            }
        }
        let compiled = compile();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        known.insert(key, (text.clone(), compiled.clone()));
        compiled
    }
}
