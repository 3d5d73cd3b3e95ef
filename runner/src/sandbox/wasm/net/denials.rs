//! What a guest tried and was refused: each once, and not more than a report can use.

use std::sync::{Mutex, PoisonError};

use crate::sandbox::invocation::Denial;

/// A guest that tries more than this is scanning; the first ones say enough.
const MAX_DENIALS: usize = 100;

/// A bounded list without repetitions, in the order of the attempts.
#[derive(Debug, Default)]
pub(super) struct Denials(Mutex<Vec<Denial>>);

impl Denials {
    pub(super) fn record(&self, denial: Denial) {
        let mut denials = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if denials.len() < MAX_DENIALS && !denials.contains(&denial) {
            denials.push(denial);
        }
    }

    pub(super) fn list(&self) -> Vec<Denial> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_kept_once_and_not_all_of_them() {
        let denials = Denials::default();
        for number in (0..500).chain(0..500) {
            let subject = number.to_string();
            denials.record(Denial { capability: "net", subject, operation: "test", allow: String::new() });
        }
        let subjects: Vec<String> = denials.list().into_iter().map(|denial| denial.subject).collect();
        assert_eq!(subjects, (0..100).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}
