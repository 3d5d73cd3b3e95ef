//! The test `version`.

use std::cmp::Ordering;

use minijinja::Value;

use super::{loose, pep440, semantic, strict};
use crate::call::{Call, flag, given};
use crate::failure::{Outcome, failure};
use crate::values::{is_true, text};

type Comparison = fn(&str, &str) -> Option<Ordering>;

/// The types of versions.
const TYPES: [(&str, Comparison); 5] = [
    ("loose", loose::compare),
    ("strict", strict::compare),
    ("semver", semantic::compare),
    ("semantic", semantic::compare),
    ("pep440", pep440::compare),
];

/// Compares two versions.
pub(super) fn version(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, version], [operator, strict, kind]) =
        call.bind(["value", "version"], ["operator", "strict", "version_type"])?;
    let (strict, kind) = (given(strict), given(kind));
    if strict.is_some() && kind.is_some() {
        return Err(failure("Cannot specify both 'strict' and 'version_type'"));
    }
    if !is_true(&value) {
        return Err(failure("Input version value cannot be empty"));
    }
    if !is_true(&version) {
        return Err(failure("Version parameter to compare against cannot be empty"));
    }
    let compare = match kind.filter(is_true).as_ref().map(text).transpose()? {
        _ if flag(strict.as_ref()) => strict::compare,
        None => loose::compare,
        Some(name) => {
            let known = TYPES.iter().find(|(known, _)| *known == name).map(|(_, compare)| *compare);
            let names = TYPES.map(|(name, _)| format!("'{name}'")).join(", ");
            known.ok_or_else(|| failure(format!("Invalid version type ({name}). Must be one of {names}")))?
        }
    };
    let operator = operator.as_ref().map_or_else(|| Ok("eq".to_owned()), text)?;
    let fits: fn(Ordering) -> bool = match operator.as_str() {
        "==" | "=" | "eq" => Ordering::is_eq,
        "<" | "lt" => Ordering::is_lt,
        "<=" | "le" => Ordering::is_le,
        ">" | "gt" => Ordering::is_gt,
        ">=" | "ge" => Ordering::is_ge,
        "!=" | "<>" | "ne" => Ordering::is_ne,
        _ => return Err(failure(format!("Invalid operator type ({operator})"))),
    };
    let (left, right) = (text(&value)?, text(&version)?);
    let order = compare(&left, &right);
    order
        .map(|order| Value::from(fits(order)))
        .ok_or_else(|| failure("Version comparison failed: the versions do not compare"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, left: &str, right: &str, expect: Option<Ordering>) {
        let compare = TYPES.iter().find(|(name, _)| *name == kind).unwrap().1;
        assert_eq!(compare(left, right), expect, "{left} {right}");
    }

    #[test]
    fn versions_compare() {
        use Ordering::{Equal, Greater, Less};
        check("loose", "1.10", "1.9", Some(Greater));
        check("loose", "1.2a", "1.2", Some(Greater));
        check("loose", "1.a", "1.1", None);
        check("loose", "1.0", "1", Some(Greater));
        check("strict", "1.2a1", "1.2", Some(Less));
        check("strict", "1.2.0", "1.2", Some(Equal));
        check("strict", "1", "1.2", None);
        check("semver", "1.2.3-a.2", "1.2.3-a.10", Some(Less));
        check("semver", "1.2.3+x", "1.2.3", Some(Equal));
        check("semver", "1.2.3-1", "1.2.3-a", Some(Less));
        check("semver", "1.2", "1.2.3", None);
        check("pep440", "1.0.dev1", "1.0a1", Some(Less));
        check("pep440", "1.0.post1", "1.0", Some(Greater));
        check("pep440", "1!0.1", "2.0", Some(Greater));
        check("pep440", "1.0+local.2", "1.0+local.10", Some(Less));
        check("pep440", "v1.0-RC-1", "1.0rc1", Some(Equal));
        check("pep440", "x", "1", None);
    }
}
