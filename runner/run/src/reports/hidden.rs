//! What a provider looked for and did not see, although the machine has it. Programs that ask the databases of packages and services say
//! that nothing is there, and succeed: an answer that was made so is none.

use std::path::Path;

use modbox_policy::Profile;
use modbox_providers::Action;
use modbox_vocabulary::{Capability, Denial};

/// The profiles whose paths programs ask for an answer.
const ASKED: [Profile; 3] = [Profile::Packages, Profile::Services, Profile::Users];

/// A path that programs of all sorts look at.
const OF_ALL: &str = "/etc/machine-id";

/// Returns why the answer to an action says nothing, if the provider looked for what its policy hides. In the `home` of its user
/// interpreters look for settings and packages, which does not count. An update fails where it may not write what it must.
pub(crate) fn reason(action: Action, denials: &[Denial], home: Option<&Path>) -> Option<String> {
    let mut reads = denials.iter().filter(|denial| denial.capability == Capability::Read);
    let counts = |path: &Path| {
        let is_aside = path == Path::new(OF_ALL) || home.is_some_and(|home| path.starts_with(home));
        !is_aside && (!action.changes() || profile_of(path).is_some()) && path.exists()
    };
    let denial = reads.find(|denial| counts(Path::new(&denial.subject)))?;
    let Denial { subject, allow, .. } = denial;
    let remedy = match (profile_of(Path::new(subject)), allow.as_str()) {
        (Some(profile), "") => format!("; grant it the profile `{profile}`"),
        (Some(profile), allow) => format!("; grant it the profile `{profile}`, or allow it with {allow}"),
        (None, "") => String::new(),
        (None, allow) => format!("; allow it with {allow}"),
    };
    Some(format!("its policy hides `{subject}`{remedy}"))
}

/// Returns the profile that grants a path.
fn profile_of(path: &Path) -> Option<Profile> {
    ASKED.into_iter().find(|profile| profile.paths().iter().any(|granted| path.starts_with(granted)))
}

#[cfg(test)]
mod tests {
    use modbox_vocabulary::Operation;

    use super::*;

    fn denial(capability: Capability, subject: &str) -> Denial {
        let allow = format!("--allow-read {subject}");
        Denial { capability, subject: subject.to_owned(), operation: Operation::Look, allow }
    }

    #[test]
    fn hidden_paths_are_named_with_their_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        let denials = [denial(Capability::Read, "/no/such"), denial(Capability::Read, path)];
        let expect = format!("its policy hides `{path}`; allow it with --allow-read {path}");
        assert_eq!(reason(Action::Find, &denials, None), Some(expect));
        assert_eq!(reason(Action::Find, &denials, Some(dir.path())), None, "a home");
        assert_eq!(reason(Action::Update, &denials, None), None);
        let passwd = [denial(Capability::Read, "/etc/passwd")];
        let expect =
            "its policy hides `/etc/passwd`; grant it the profile `users`, or allow it with --allow-read /etc/passwd";
        assert_eq!(reason(Action::Update, &passwd, None).as_deref(), Some(expect));
        assert_eq!(reason(Action::List, &[denial(Capability::Write, path)], None), None);
    }
}
