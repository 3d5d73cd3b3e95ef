//! The names in an argument: of services, packages, users.

use modbox_contract::Value;
use modbox_policy::Profile;
use modbox_policy::outside::{BoundNames, Kind};

/// Names in one argument that are looked at; more than a caller names one by one.
const MAX_NAMES: usize = 256;

/// Returns the names in a value: a text with commas, or a list of such texts.
pub(super) fn names_in(value: &Value, profile: Profile) -> Vec<String> {
    let texts = match value {
        Value::List(items) => items.iter().map(modbox_contract::python_str).collect(),
        value => vec![modbox_contract::python_str(value)],
    };
    let is_package = kinds(profile).contains(&Kind::Package);
    let name = |text: &str| {
        // A package may have a version or an architecture behind it. With a `/` it is a file, a URL or a release.
        let is_plain = is_package && !text.contains('/');
        let end = if is_plain { text.find(['=', '<', '>', '!', ' ', ':']) } else { None };
        text[..end.unwrap_or(text.len())].trim().to_owned()
    };
    let named = texts.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|text| !text.is_empty()).map(name);
    let mut names = Vec::new();
    for one in named.take(MAX_NAMES) {
        if !names.contains(&one) {
            names.push(one);
        }
    }
    names
}

/// Returns the kinds of what the names of a profile stand for.
pub(super) fn kinds(profile: Profile) -> &'static [Kind] {
    profile.commands().map(|commands| commands.kinds).unwrap_or_default()
}

/// Returns whether a profile can be bound to a name.
pub(super) fn has_form(name: &str, profile: Profile) -> bool {
    BoundNames::new(&[name], kinds(profile)).is_ok()
}

/// Returns whether a name is a reserved one.
pub(super) fn is_reserved(name: &str, profile: Profile) -> bool {
    BoundNames::new(&[name], kinds(profile)).is_ok_and(|names| !names.reserved(kinds(profile)).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_texts_and_lists() {
        for (value, profile, expect) in [
            (r#""nginx""#, Profile::ManageServices, vec!["nginx"]),
            (r#""nginx=1.2*, git:amd64,git""#, Profile::ManagePackages, vec!["nginx", "git"]),
            (r#"["a>=1", "b c", "https://x/y.deb"]"#, Profile::ManagePackages, vec!["a", "b", "https://x/y.deb"]),
            (r#"["a,b", "", 7]"#, Profile::ManageUsers, vec!["a", "b", "7"]),
            ("[]", Profile::ManageUsers, vec![]),
        ] {
            assert_eq!(names_in(&modbox_contract::decode(value).unwrap(), profile), expect, "{value}");
        }
    }

    #[test]
    fn reserved_names_and_wrong_ones_are_known() {
        for (name, profile, is_named, reserved) in [
            ("root", Profile::ManageCron, true, true),
            ("app", Profile::ManageCron, true, false),
            ("reboot.target", Profile::ManageServices, true, true),
            ("kernel.core_pattern", Profile::ManageKernel, true, true),
            ("7", Profile::ManageUsers, false, false),
            ("../x", Profile::ManageServices, false, false),
        ] {
            assert_eq!((has_form(name, profile), is_reserved(name, profile)), (is_named, reserved), "{name}");
        }
    }
}
