//! The policy file that a play has taught: where it is written, and what is said of it.

use std::path::Path;

use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::new_policy_file;
use crate::cli::play::SharedLearning;
use crate::cli::play::needs::Need;
use crate::cli::printing::output;

/// Writes the policy file of what the play has taught, and says what a person has to look at.
pub(super) fn write_learned(
    context: &Context,
    learning: &SharedLearning,
    needs: &[Need],
    (file, reasons, status): (&Path, bool, ExitStatus),
) -> Result<(), Failure> {
    let learned = learning.borrow_mut().file(&context.environment, needs, reasons).or_internal()?;
    new_policy_file::create(file, &learned.text).or_internal()?;
    let lines = learned.text.lines().count();
    output::print_note(&format!("learned: {lines} lines in `{}`; read them before you use it", file.display()));
    if !matches!(status, ExitStatus::Success) {
        output::print_note("the play did not end well: what its other tasks need is not in the file");
    }
    learned.notes.iter().for_each(|note| output::print_note(note));
    Ok(())
}
