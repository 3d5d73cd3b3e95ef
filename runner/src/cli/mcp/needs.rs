//! What a module cannot do without, as far as it says it itself, for tools that only read.

use modbox_argument_spec::{Access, ArgumentSpec, Metadata};

/// Capabilities that tools which only read do not get.
const WITHHELD: [&str; 6] = ["write", "own", "net", "listen", "run", "outside"];

/// Returns why a module is of no use without the right to change something, if it says so.
pub(super) fn beyond_reading(metadata: &Metadata) -> Option<String> {
    let required =
        metadata.requests.iter().find(|request| request.required && WITHHELD.contains(&request.capability.as_str()));
    if let Some(request) = required {
        return Some(format!("it needs `{}` of `{}`, and these tools only read", request.capability, request.subject));
    }
    let option = written(&metadata.argument_spec)?;
    Some(format!("it changes what its option `{option}` names, and these tools only read"))
}

/// Returns the first option that names what the module changes.
fn written(spec: &ArgumentSpec) -> Option<&str> {
    spec.options.iter().find_map(|(name, option)| match option.access {
        Some(Access::Write | Access::Entry) => Some(name.as_str()),
        Some(Access::Read) | None => option.sub_spec.as_deref().and_then(written),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_change_something_say_so() {
        let beyond = |rest: &str| {
            let metadata = Metadata::from_json(&format!(r#"{{"name": "x", {rest}}}"#)).unwrap();
            beyond_reading(&metadata).is_some()
        };
        assert!(beyond(r#""argument_spec": {"p": {"type": "path", "access": "write"}}"#));
        assert!(beyond(
            r#""argument_spec": {"o": {"type": "dict", "options": {"p": {"type": "path", "access": "entry"}}}}"#
        ));
        assert!(beyond(r#""requests": [{"capability": "run", "subject": "id", "required": true}]"#));
        assert!(!beyond(r#""requests": {"run": ["id"]}, "argument_spec": {"p": {"type": "path", "access": "read"}}"#));
        assert!(!beyond(r#""requests": [{"capability": "read", "subject": "/x", "required": true}]"#));
    }
}
