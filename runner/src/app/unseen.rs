//! The warning that a successful module looked for what its policy hides: a module that asks what a machine has finds
//! nothing in a room, and calls that a success.

use modbox_vocabulary::{Capability, Denial, Operation};

use crate::app::report::{ADVICE_PREFIX, Report};

/// Number of paths that are named.
const NAMED: usize = 3;

/// Warns in the result of a successful run. The warnings of a failed run name what it lacks.
///
/// Of a native module whose looks are not all watched, the ones count that followed a link out of a granted directory: what it
/// looks for besides, such as programs in the folders of `PATH`, is known by chance.
pub(super) fn warn(report: &mut Report, is_watched: bool) {
    let counts = |denial: &&Denial| is_watched || denial.operation == Operation::Follow;
    let unseen: Vec<Denial> = report.denials.iter().filter(counts).cloned().collect();
    if let Some(message) = message(&unseen).filter(|_| report.status.is_success()) {
        report.result.warn(&format!("{ADVICE_PREFIX}{message}"));
    }
}

fn message(denials: &[Denial]) -> Option<String> {
    let reads = denials.iter().filter(|denial| denial.capability == Capability::Read);
    let mut paths: Vec<&str> = reads.map(|denial| denial.subject.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let named = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    let more = match paths.len() {
        0 => return None,
        1..=NAMED => String::new(),
        count => format!(" and {} more", count - NAMED),
    };
    Some(format!("the module looked for what its policy does not grant, and did not see it: {named}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denial(capability: Capability, subject: &str) -> Denial {
        Denial { capability, subject: subject.to_owned(), operation: Operation::Look, allow: String::new() }
    }

    #[test]
    fn three_paths_are_named_once_each() {
        assert_eq!(message(&[denial(Capability::Write, "/w")]), None);
        let two = [denial(Capability::Read, "/b"), denial(Capability::Read, "/a"), denial(Capability::Read, "/b")];
        assert!(message(&two).unwrap().ends_with("see it: `/a`, `/b`"));
        let five: Vec<Denial> = ["/1", "/2", "/3", "/4", "/5"].map(|path| denial(Capability::Read, path)).into();
        assert!(message(&five).unwrap().ends_with("`/3` and 2 more"));
    }
}
