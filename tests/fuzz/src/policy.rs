//! Policy files.

use modbox_policy::PolicyFile;

/// A file is accepted if and only if it has no problems, and then both readers agree. The message has one line.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(data) else { return false };
    let (read, problems) = PolicyFile::read(text);
    match PolicyFile::parse(text) {
        Ok(parsed) => assert!(problems.is_empty() && parsed == read),
        Err(error) => assert!(!problems.is_empty() && error.0 == problems && !error.to_string().contains('\n')),
    }
    problems.is_empty()
}
