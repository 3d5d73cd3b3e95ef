//! The text of the policy file that learning writes.

use modbox_run::suggestion::{RunRecord, Suggestion, render};

use super::ending::Ending;
use super::learned::Learned;
use crate::cli::commands::policy::usable;
use crate::cli::context::Context;

/// Returns the text of the policy file.
pub(super) fn policy(
    context: &Context,
    learned: &Learned,
    records: &[RunRecord],
    ending: &Ending,
) -> anyhow::Result<String> {
    let mut suggestion = Suggestion::new(None);
    for (index, record) in records.iter().enumerate() {
        let mut record = record.clone();
        // The grants of the first run are those of the caller; later ones have what was learned as well.
        if index > 0 {
            record.grants.clear();
        }
        // What was left out is a suggestion all the same, for a person who reads it.
        record.missing.retain(|missing| learned.has(&missing.allow) || ending.left_out(&missing.allow));
        suggestion.add(&record);
    }
    if let Some((last, text)) = records.last().zip(ending.remark()) {
        suggestion.note(last, &text);
    }
    let text = render(suggestion, "modbox run --learn");
    usable(&context.environment, &text)
}
