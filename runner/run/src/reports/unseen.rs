//! Warnings of a successful module that was refused something without a failure: it looked for what its policy hides, and
//! calls that a success, or set-id bits were refused and it went on, as Ansible's modules do that replace files.

use modbox_vocabulary::{Capability, Denial, Operation};

use crate::reports::report::{ADVICE_PREFIX, Report};

/// Number of paths that are named.
const NAMED: usize = 3;

/// Warns in the result of a successful run. The warnings of a failed run name what it lacks.
///
/// Of a native module whose looks are not all watched, the ones count that followed a link out of a granted directory: what it
/// looks for besides, such as programs in the folders of `PATH`, is known by chance.
pub(crate) fn warn(report: &mut Report, is_watched: bool) {
    if !report.status.is_success() {
        return;
    }
    let counts = |denial: &&Denial| is_watched || denial.operation == Operation::Follow;
    let unseen: Vec<Denial> = report.denials.iter().filter(counts).cloned().collect();
    for message in [looks(&unseen), set_id_bits(&report.denials)].into_iter().flatten() {
        report.result.warn(&format!("{ADVICE_PREFIX}{message}"));
    }
}

fn looks(denials: &[Denial]) -> Option<String> {
    let reads = denials.iter().filter(|denial| denial.capability == Capability::Read);
    let paths = named(reads)?;
    Some(format!("the module looked for what its policy does not grant, and did not see it: {paths}"))
}

/// Returns the warning that files have other modes than the module wanted, with what allows them.
fn set_id_bits(denials: &[Denial]) -> Option<String> {
    let refused = || denials.iter().filter(|denial| denial.operation == Operation::SetId);
    let paths = named(refused())?;
    let mut allow: Vec<&str> =
        refused().map(|denial| denial.allow.as_str()).filter(|allow| !allow.is_empty()).collect();
    allow.sort_unstable();
    allow.dedup();
    let remedy = if allow.is_empty() { String::new() } else { format!("; allow them with `{}`", allow.join(" ")) };
    Some(format!("set-user-id and set-group-id bits were refused, and are not set: {paths}{remedy}"))
}

/// Returns the subjects of denials in words; `None` without any.
fn named<'d>(denials: impl Iterator<Item = &'d Denial>) -> Option<String> {
    let mut paths: Vec<&str> = denials.map(|denial| denial.subject.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let named = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    match paths.len() {
        0 => None,
        1..=NAMED => Some(named),
        count => Some(format!("{named} and {} more", count - NAMED)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denial(capability: Capability, subject: &str) -> Denial {
        Denial { capability, subject: subject.to_owned(), operation: Operation::Look, allow: String::new() }
    }

    #[test]
    fn three_paths_are_named_once_each() {
        assert_eq!(looks(&[denial(Capability::Write, "/w")]), None);
        let two = [denial(Capability::Read, "/b"), denial(Capability::Read, "/a"), denial(Capability::Read, "/b")];
        assert!(looks(&two).unwrap().ends_with("see it: `/a`, `/b`"));
        let five: Vec<Denial> = ["/1", "/2", "/3", "/4", "/5"].map(|path| denial(Capability::Read, path)).into();
        assert!(looks(&five).unwrap().ends_with("`/3` and 2 more"));
    }

    #[test]
    fn refused_bits_are_named_with_what_allows_them() {
        let owner = denial(Capability::Own, "/o");
        assert_eq!(set_id_bits(std::slice::from_ref(&owner)), None);
        let bits = Denial { operation: Operation::SetId, allow: "--allow-all".to_owned(), ..owner };
        assert_eq!(looks(std::slice::from_ref(&bits)), None);
        let said = set_id_bits(std::slice::from_ref(&bits)).unwrap();
        assert!(said.ends_with("not set: `/o`; allow them with `--allow-all`"), "{said}");
        let said = set_id_bits(&[Denial { allow: String::new(), ..bits }]).unwrap();
        assert!(said.ends_with("not set: `/o`"), "{said}");
    }
}
