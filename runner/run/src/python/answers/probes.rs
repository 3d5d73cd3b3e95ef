//! What interpreters answered in this process, so that each is asked once and not again for each module.
//!
//! The cache of the user (`cache.rs`) has answers of compiled interpreters alone. A script may start another interpreter at each
//! run, and a failure may end when a file appears that nothing names: no key makes such answers sound in another process. In
//! one process they hold as long as the files behind them, and a failure not any more when nothing else can run a module.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::python::answers::facts::Facts;
use crate::python::answers::stamp::Stamps;
use crate::python::error::PythonError;

/// The most answers that a process keeps.
const MAX_ANSWERS: usize = 1024;

/// The answers of interpreters in this process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Probes(Arc<Mutex<HashMap<Question, Slot>>>);

/// The answer to one question; `None` before the first. It is locked while the interpreter is asked, so that threads that need the same
/// answer wait for it.
type Slot = Arc<Mutex<Option<Answer>>>;

/// What decides how an interpreter answers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::python) struct Question {
    /// A digest of the interpreter, its stamp and the variables that it heeds.
    pub(in crate::python) identity: String,
    /// What it may read; `None` if nothing confines it.
    pub(in crate::python) reads: Option<Vec<PathBuf>>,
    /// The user that it runs as; `None` for that of this process.
    pub(in crate::python) user: Option<u32>,
    /// The folder that it starts in.
    pub(in crate::python) directory: PathBuf,
}

/// An answer, and what it depends on.
#[derive(Debug, Clone)]
struct Answer {
    /// The facts, or why the program cannot be used.
    facts: Result<Facts, String>,
    stamps: Stamps,
    asked: Instant,
}

impl Probes {
    /// Returns the answer to a question, which is asked if it is new, or if a file behind the answer has changed. The answer comes with
    /// the stamps of those files.
    ///
    /// # Errors
    ///
    /// `ask` fails, which is not an answer.
    pub(in crate::python) fn answer(
        &self,
        question: Question,
        ask: impl FnOnce() -> Result<(Result<Facts, String>, Stamps), PythonError>,
    ) -> Result<Result<Facts, String>, PythonError> {
        let slot = self.slot(question);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = slot.as_ref().filter(|known| known.stamps.are_current()) {
            return Ok(known.facts.clone());
        }
        let asked = Instant::now();
        let (facts, stamps) = ask()?;
        *slot = Some(Answer { facts: facts.clone(), stamps, asked });
        Ok(facts)
    }

    /// Returns the place of an answer. A long-lived process asks new questions all the time, so [`MAX_ANSWERS`] empties the map.
    fn slot(&self, question: Question) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MAX_ANSWERS && !slots.contains_key(&question) {
            slots.clear();
        }
        Arc::clone(slots.entry(question).or_default())
    }

    /// Forgets the failures of interpreters that were asked before a moment. Returns whether there was one.
    pub(in crate::python) fn forget_failures(&self, before: Instant) -> bool {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = slots.len();
        slots.retain(|_, slot| {
            // One that is being asked now is not an old one.
            let Ok(answer) = slot.try_lock() else { return true };
            !answer.as_ref().is_some_and(|answer| answer.facts.is_err() && answer.asked < before)
        });
        slots.len() < count
    }
}

/// What was answered before changes no result.
impl PartialEq for Probes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Probes {}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn question(identity: &str) -> Question {
        Question { identity: identity.to_owned(), reads: None, user: None, directory: PathBuf::from("/") }
    }

    fn facts(executable: &str) -> Facts {
        Facts { version: [3, 13, 0], executable: executable.to_owned(), folders: Vec::new(), users_folder: None }
    }

    /// Asks for an answer that depends on a file. Returns it, and how often the interpreter was asked for it.
    fn ask(probes: &Probes, facts: Result<Facts, String>, file: &Path) -> (Result<Facts, String>, u32) {
        let count = Cell::new(0);
        let answer = probes.answer(question("python"), || {
            count.set(count.get() + 1);
            Ok((facts, Stamps::of([file.to_owned()])))
        });
        (answer.unwrap(), count.get())
    }

    #[test]
    fn an_answer_holds_as_long_as_the_files_behind_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("site-packages");
        let probes = Probes::default();
        assert_eq!(ask(&probes, Ok(facts("a")), &file), (Ok(facts("a")), 1));
        assert_eq!(ask(&probes.clone(), Ok(facts("b")), &file), (Ok(facts("a")), 0));
        fs::write(&file, "").unwrap();
        assert_eq!(ask(&probes, Ok(facts("b")), &file), (Ok(facts("b")), 1));
        assert!(!probes.forget_failures(Instant::now()), "it did not fail");
        assert_eq!(ask(&probes, Err(String::new()), &file).1, 0);
    }

    #[test]
    fn a_process_keeps_a_bounded_number_of_answers() {
        let (dir, probes) = (tempfile::tempdir().unwrap(), Probes::default());
        for number in 0..=MAX_ANSWERS {
            let answer = || Ok((Ok(facts("a")), Stamps::of([dir.path().to_owned()])));
            probes.answer(question(&number.to_string()), answer).unwrap().unwrap();
        }
        assert_eq!(probes.0.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_failure_is_forgotten_unless_it_is_of_this_moment() {
        let dir = tempfile::tempdir().unwrap();
        let probes = Probes::default();
        let before = Instant::now();
        let failed = Err("not found".to_owned());
        assert_eq!(ask(&probes, failed.clone(), dir.path()), (failed.clone(), 1));
        assert!(!probes.forget_failures(before));
        assert_eq!(ask(&probes, Ok(facts("a")), dir.path()), (failed, 0));
        assert!(probes.forget_failures(Instant::now()));
        assert_eq!(ask(&probes, Ok(facts("a")), dir.path()), (Ok(facts("a")), 1));
    }
}
