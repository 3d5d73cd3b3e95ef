//! A command that a guest asks for, and the denial of one that nothing grants.

use modbox_vocabulary::{Capability, Operation};
pub use modbox_vocabulary::{CommandEnd, CommandOutput, CommandRefusal, CommandRequest, RunsCommands};

use crate::sandbox::invocation::Denial;
use crate::sandbox::policy::run;

/// Bytes of a command that a denial shows.
const MAX_SHOWN: usize = 4 << 10;

/// Returns the denial of a command that nothing grants.
#[must_use]
pub fn denied(program: &str, arguments: &[String]) -> CommandRefusal {
    let mut subject = run::exactly(program, arguments);
    if subject.len() > MAX_SHOWN {
        subject.truncate(subject.floor_char_boundary(MAX_SHOWN));
        subject.push('…');
    }
    let allow = run::switch(&subject);
    CommandRefusal::Denied(Denial { capability: Capability::Run, subject, operation: Operation::Run, allow })
}
