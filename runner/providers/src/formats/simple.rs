//! The output of `find`, `list` and `update`.
//!
//! libral keeps each value as text, so that a boolean always differs from the one on the command line. Here values have
//! the types of the metadata; a value that does not fit stays text, with a warning.

use crate::failure::{ActionOutput, OutputError, ProviderFailure};
use crate::finding::{FindResult, ListResult, UpdateReport, Warnings};
use crate::formats::lines::{self, SimpleOutput};
use crate::metadata::{Metadata, NAME};
use crate::resource::{Change, Resource};
use crate::text::Text;
use crate::value::AttributeValue;

/// Prefix of the convention's own keys.
const RESERVED: &str = "ral_";

/// The key of a resource that does not exist.
const UNKNOWN: &str = "ral_unknown";

/// Pairs of an output, and the exit status.
struct Pairs {
    pairs: Vec<(String, Text)>,
    status: i32,
}

impl Pairs {
    /// Reads the output of a program that exited by itself. An error that it reports comes before its exit status.
    fn read(output: &ActionOutput<'_>) -> Result<Self, ProviderFailure> {
        let status = output.status()?;
        match lines::read(output.stdout).map_err(ProviderFailure::of_output(status))? {
            SimpleOutput::Pairs(pairs) => Ok(Self { pairs, status }),
            SimpleOutput::Error(message) => Err(ProviderFailure::Reported { message }),
        }
    }
}

/// Reads the output of `find`. Resources with other names are left out.
///
/// # Errors
///
/// The action failed, or its output is not valid.
pub fn find(output: &ActionOutput<'_>, metadata: &Metadata, name: &Text) -> Result<FindResult, ProviderFailure> {
    let Pairs { pairs, status } = Pairs::read(output)?;
    let is_unknown = pairs.iter().any(|(key, _)| key == UNKNOWN);
    let mut warnings = Warnings::default();
    let resources = resources(pairs, metadata, &mut warnings).map_err(ProviderFailure::of_output(status))?;
    let mut fitting = resources.into_iter().filter(|resource| resource.name == *name);
    let resource = fitting.next();
    if fitting.next().is_some() {
        return Err(ProviderFailure::of_output(status)(OutputError::Twice(name.clone())));
    }
    ProviderFailure::check_status(status)?;
    Ok(FindResult { resource: resource.filter(|_| !is_unknown), warnings: warnings.into_vec() })
}

/// Reads the output of `list`.
///
/// # Errors
///
/// The action failed, or its output is not valid.
pub fn list(output: &ActionOutput<'_>, metadata: &Metadata) -> Result<ListResult, ProviderFailure> {
    let Pairs { pairs, status } = Pairs::read(output)?;
    let mut warnings = Warnings::default();
    let resources = resources(pairs, metadata, &mut warnings).map_err(ProviderFailure::of_output(status))?;
    ProviderFailure::check_status(status)?;
    Ok(ListResult { resources, warnings: warnings.into_vec() })
}

/// Reads the output of `update` for the resource `name`.
///
/// # Errors
///
/// The action failed, its output is not valid, or the resource does not exist and cannot be created.
pub fn update(output: &ActionOutput<'_>, metadata: &Metadata, name: &Text) -> Result<UpdateReport, ProviderFailure> {
    let Pairs { pairs, status } = Pairs::read(output)?;
    let invalid = ProviderFailure::of_output(status);
    let mut warnings = Warnings::default();
    let mut updated = UpdateReport { changes: Vec::new(), derive: false, warnings: Vec::new() };
    let mut is_unknown = false;
    for (key, value) in pairs {
        match key.as_str() {
            NAME if value != *name => {
                return Err(invalid(OutputError::WrongName { changed: value, name: name.clone() }));
            }
            NAME => {}
            "ral_derive" => updated.derive = value == "true",
            "ral_was" => {
                let change = updated.changes.last_mut().ok_or_else(|| invalid(OutputError::WasBeforeChange))?;
                change.was = typed(metadata, &change.attribute, value, &mut warnings);
            }
            UNKNOWN => is_unknown = true,
            reserved if reserved.starts_with(RESERVED) => warnings.add(format!("`{reserved}` of an update is unknown")),
            _ => {
                let is = typed(metadata, &key, value, &mut warnings);
                updated.changes.push(Change { attribute: key, is, was: AttributeValue::None });
            }
        }
    }
    ProviderFailure::check_status(status)?;
    if is_unknown {
        return Err(ProviderFailure::Unknown(name.clone()));
    }
    Ok(UpdateReport { warnings: warnings.into_vec(), ..updated })
}

/// Groups pairs into resources, each from its name to the next one. The convention's own keys are left out.
fn resources(
    pairs: Vec<(String, Text)>,
    metadata: &Metadata,
    warnings: &mut Warnings,
) -> Result<Vec<Resource>, OutputError> {
    let mut resources: Vec<Resource> = Vec::new();
    for (key, value) in pairs {
        if key == NAME {
            if value.is_empty() {
                warnings.add("a resource has an empty name".to_owned());
            }
            resources.push(Resource::new(value));
        } else if !key.starts_with(RESERVED) {
            let resource = resources.last_mut().ok_or_else(|| OutputError::BeforeName(key.clone()))?;
            let value = typed(metadata, &key, value, warnings);
            resource.attributes.insert(key, value);
        }
    }
    Ok(resources)
}

fn typed(metadata: &Metadata, attribute: &str, text: Text, warnings: &mut Warnings) -> AttributeValue {
    let Some(declared) = metadata.attributes.get(attribute) else {
        warnings.add(format!("the attribute `{attribute}` is not in the metadata"));
        return AttributeValue::Text(text);
    };
    declared.attribute_type.parse(&text).unwrap_or_else(|error| {
        warnings.add(format!("the value of `{attribute}` is not valid: {error}"));
        AttributeValue::Text(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::ActionEnd;

    const METADATA: &str = "provider: {type: t, invoke: simple, suitable: true, attributes: {name: , s: , \
        b: {type: boolean}, l: {type: 'array[string]'}, ensure: {type: 'enum[present, absent]'}}}";

    fn metadata() -> Metadata {
        Metadata::from_yaml(METADATA.as_bytes(), "p").unwrap()
    }

    fn output(stdout: &str, status: i32) -> (String, ActionEnd) {
        (stdout.to_owned(), ActionEnd::Exited(status))
    }

    fn found(stdout: &str, status: i32) -> Result<FindResult, ProviderFailure> {
        let (stdout, end) = output(stdout, status);
        find(&ActionOutput { end: &end, stdout: stdout.as_bytes() }, &metadata(), &"n".into())
    }

    fn updated(stdout: &str, status: i32) -> Result<UpdateReport, ProviderFailure> {
        let (stdout, end) = output(stdout, status);
        update(&ActionOutput { end: &end, stdout: stdout.as_bytes() }, &metadata(), &"n".into())
    }

    fn listed(stdout: &str, status: i32) -> Result<ListResult, ProviderFailure> {
        let (stdout, end) = output(stdout, status);
        list(&ActionOutput { end: &end, stdout: stdout.as_bytes() }, &metadata())
    }

    /// Shows a resource as `name(attribute=value …)`.
    fn shown(resource: &Resource) -> String {
        let attributes: Vec<String> =
            resource.attributes.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        format!("{}({})", resource.name, attributes.join(" "))
    }

    #[track_caller]
    fn finds(stdout: &str, expect: &str, warnings: &[&str]) {
        let found = found(stdout, 0).unwrap();
        assert_eq!(found.resource.as_ref().map_or_else(|| "none".to_owned(), shown), expect, "{stdout:?}");
        assert_eq!(found.warnings, warnings, "{stdout:?}");
    }

    #[test]
    fn a_resource_is_found_by_its_name() {
        finds("# simple\nname: n", "n()", &[]);
        finds("# simple\nname: x\ns: 1\nname: n\ns: 2\nname: y", r#"n(s=Text("2"))"#, &[]);
        finds("# simple\nname: n\ns: 1\ns: 2", r#"n(s=Text("2"))"#, &[]);
        finds("# simple\nname: n\nral_unknown: whatever", "none", &[]);
        finds("# simple\nral_unknown:", "none", &[]);
        finds("# simple\nname: x", "none", &[]);
        finds("# simple", "none", &[]);
        finds("# simple\nname: n\nral_other: 1", "n()", &[]);
    }

    #[test]
    fn values_have_the_types_of_the_metadata() {
        finds(
            "# simple\nname: n\nb: TRUE\nl: a, b\nensure: present",
            r#"n(b=Boolean(true) ensure=Text("present") l=Array(["a", "b"]))"#,
            &[],
        );
        finds(
            "# simple\nname: n\nb: yes",
            r#"n(b=Text("yes"))"#,
            &["the value of `b` is not valid: `yes` is not a boolean; expected true or false"],
        );
        finds(
            "# simple\nname: n\nensure: x",
            r#"n(ensure=Text("x"))"#,
            &["the value of `ensure` is not valid: unknown value `x`; expected one of present, absent"],
        );
        finds("# simple\nname: n\nz: 1\nz: 2", r#"n(z=Text("2"))"#, &["the attribute `z` is not in the metadata"]);
        let many: String = (0..100).map(|n| format!("z{n}: 1\n")).collect();
        assert_eq!(found(&format!("# simple\nname: n\n{many}"), 0).unwrap().warnings.len(), 16);
    }

    #[test]
    fn lists_keep_their_order() {
        let listed = |stdout| listed(stdout, 0).unwrap();
        let all = listed("# simple\nname: b\ns: 1\nname: a\nname: b\nral_x: y\nname:");
        let names: Vec<String> = all.resources.iter().map(shown).collect();
        assert_eq!(names, [r#"b(s=Text("1"))"#, "a()", "b()", "()"]);
        assert_eq!(all.warnings, ["a resource has an empty name"]);
    }

    #[test]
    fn updates_name_their_changes() {
        let value = AttributeValue::text;
        let got = updated("# simple\nral_derive: true\nname: n\ns: new\nral_was: x\nral_was: old\nb: false\nz: 1", 0)
            .unwrap();
        let change = |attribute: &str, is, was| Change { attribute: attribute.to_owned(), is, was };
        let expect = [
            change("s", value("new"), value("old")),
            change("b", AttributeValue::Boolean(false), AttributeValue::None),
            change("z", value("1"), AttributeValue::None),
        ];
        assert_eq!((got.derive, &got.changes[..]), (true, &expect[..]));
        assert_eq!(got.warnings, ["the attribute `z` is not in the metadata"]);
        for (line, derive) in [("ral_derive: TRUE", false), ("ral_derive: 1", false), ("x: y\nral_derive: true", true)]
        {
            assert_eq!(updated(&format!("# simple\n{line}"), 0).unwrap().derive, derive, "{line}");
        }
        assert_eq!(updated("# simple\nral_new: 1", 0).unwrap().warnings, ["`ral_new` of an update is unknown"]);
    }

    #[track_caller]
    fn fails<T: std::fmt::Debug>(got: Result<T, ProviderFailure>, expect: &str) {
        let error = got.expect_err(expect).to_string();
        assert!(error.contains(expect), "{error}");
    }

    #[test]
    fn wrong_output_is_a_failure() {
        fails(found("# simple\ns: 1\nname: n", 0), "`s` comes before the first `name`");
        fails(listed("# simple\ns: 1", 0), "`s` comes before the first `name`");
        fails(found("# simple\nname: n\nname: n", 0), "more than one resource with the name `n`");
        fails(updated("# simple\nname: x", 0), "the update changed `x` instead of `n`");
        fails(updated("# simple\nral_was: x", 0), "`ral_was` comes before the first change");
        fails(updated("# simple\nral_derive true", 0), "has no `:`");
        fails(updated("# simple\nral_unknown: true", 0), "failed to update `n`: it does not exist");
        fails(found("", 0), "there is none");
    }

    #[test]
    fn failures_have_an_order() {
        let ended = |end: ActionEnd, stdout: &str| {
            find(&ActionOutput { end: &end, stdout: stdout.as_bytes() }, &metadata(), &"n".into()).unwrap_err()
        };
        let error = "# simple\nral_error: boom\nral_eom";
        let stopped = ActionEnd::Stopped("it took too long".to_owned());
        fails::<()>(
            Err(ended(ActionEnd::NotStarted("no such file".to_owned()), error)),
            "failed to start the provider: no such file",
        );
        fails::<()>(Err(ended(stopped, error)), "failed to finish the action: it took too long");
        fails(found("junk", 3), "the first line is `junk`; expected `# simple` (the provider exited with status 3)");
        fails(found("", 3), "exited with status 3");
        fails(found(error, 3), "the provider reported: boom");
        fails(found("# simple\nral_error:\nral_eom", 3), "an error without a message");
        fails(found("# simple\nname: n", 3), "exited with status 3 and reported no error");
        fails(found("# simple\nral_unknown: 1", 3), "exited with status 3");
        fails(updated("# simple\nral_unknown: 1", 3), "exited with status 3");
        fails(updated("# simple\nral_was: 1", 3), "comes before the first change");
    }
}
