//! What a rule would have to grant to a plugin that failed since it was refused something. The plugin says only what the system says:
//! an error number and perhaps a path.

use std::path::Path;

use crate::cli::play::python_plugins::listing::PluginListing;

/// Returns the note about a failed call: the rule that would allow what was refused; `None` if the failure has another reason.
pub(super) fn note(listing: &PluginListing, name: &str, failure: &str) -> Option<String> {
    let (right, what) = wanted(failure, listing.is_sandboxed?)?;
    let key = match &listing.digest {
        Some(digest) => format!("sha256:{digest}"),
        None => name.to_owned(),
    };
    let rule = serde_json::json!({"modules": {key: {"allow": {right: [what]}}}});
    Some(format!(
        "the {} plugin `{name}` was refused something, and no rule grants it; if it needs that, add to a policy file: {rule}",
        listing.kind
    ))
}

/// Returns the right that a failure asks for, and to what.
fn wanted(failure: &str, is_sandboxed: bool) -> Option<(&'static str, String)> {
    let number = failure.split_once("[Errno ")?.1.split_once(']')?.0;
    let path =
        failure.rsplit_once(": '").and_then(|(_, rest)| rest.strip_suffix('\'')).filter(|path| path.starts_with('/'));
    let exists = |path: &&str| Path::new(path).exists();
    match (number, path) {
        ("1" | "30", Some(path)) => Some(("write", path.to_owned())),
        ("13", Some(path)) => Some(("read", path.to_owned())),
        // In the sandbox a command that no rule grants, and natively a file that is not shown, are not there.
        ("2", Some(path)) if is_sandboxed => Some(path).filter(exists).map(|path| ("run", format!("{path} *"))),
        ("2", Some(path)) => Some(path).filter(exists).map(|path| ("read", path.to_owned())),
        ("1" | "13", None) => Some(("net", "HOST:PORT".to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_tell_the_right() {
        let check = |failure: &str, is_sandboxed, expect: Option<(&str, &str)>| {
            let found = wanted(failure, is_sandboxed);
            assert_eq!(found.as_ref().map(|(right, what)| (*right, &**what)), expect, "{failure}");
        };
        check("[Errno 13] Permission denied", true, Some(("net", "HOST:PORT")));
        check("[Errno 13] Permission denied: '/x'", true, Some(("read", "/x")));
        check("[Errno 30] Read-only file system: '/x/y'", false, Some(("write", "/x/y")));
        check("[Errno 2] No such file or directory: '/bin/sh'", true, Some(("run", "/bin/sh *")));
        check("[Errno 2] No such file or directory: '/bin/sh'", false, Some(("read", "/bin/sh")));
        check("[Errno 2] No such file or directory: '/not/there'", false, None);
        check("[Errno 2] No such file or directory: 'relative'", false, None);
        check("[Errno 111] Connection refused", false, None);
        check("division by zero", false, None);
    }
}
