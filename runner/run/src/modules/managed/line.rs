//! A line of the table: what a module needs besides paths, and under which conditions.

use modbox_argument_spec::bool_of;
use modbox_contract::{Dict, Value};
use modbox_policy::Profile;

/// The word between a line and its conditions.
const IF: &str = " if ";

/// What a module needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Want {
    /// A profile, for the names in these options. For all names if there are no options.
    Profile {
        /// The profile.
        profile: Profile,
        /// The options with the names.
        options: Vec<String>,
        /// Whether the name is that of the task's user where no option is given.
        or_user: bool,
    },
    /// A command outside, by its rule.
    Outside(String),
    /// A path that the module writes.
    Write(String),
    /// A rule for a host that the module reaches.
    Net(String),
    /// An option whose use no rule covers, and the reason.
    Uncovered(String, String),
    /// The module works unconfined alone, for this reason.
    Unconfined(String),
}

/// A condition on another option.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    pub(crate) option: String,
    values: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) want: Want,
    pub(crate) conditions: Vec<Condition>,
}

impl Line {
    /// Parses a line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("unknown line `{text}`");
        if let Some(reason) = text.strip_prefix("unconfined: ") {
            return Ok(Self { want: Want::Unconfined(reason.to_owned()), conditions: Vec::new() });
        }
        if let Some(rest) = text.strip_prefix("no rule for ") {
            let (option, reason) = rest.split_once(": ").ok_or_else(wrong)?;
            return Ok(Self { want: Want::Uncovered(option.to_owned(), reason.to_owned()), conditions: Vec::new() });
        }
        let (head, conditions) = text.split_once(IF).map_or((text, None), |(head, rest)| (head, Some(rest)));
        let conditions = conditions.map(|rest| rest.split(" and ").map(Condition::parse).collect::<Result<_, _>>());
        let want = match head.split_once(' ') {
            Some(("outside", rule)) => Want::Outside(rule.to_owned()),
            Some(("write", path)) => Want::Write(path.to_owned()),
            Some(("net", rule)) => Want::Net(rule.to_owned()),
            Some((profile, rest)) => {
                let rest = rest.strip_prefix("of ").ok_or_else(wrong)?;
                let (options, or_user) = rest.strip_suffix(" else the user").map_or((rest, false), |rest| (rest, true));
                let options = options.split(", ").map(str::to_owned).collect();
                Want::Profile { profile: profile.parse()?, options, or_user }
            }
            None => Want::Profile { profile: head.parse()?, options: Vec::new(), or_user: false },
        };
        Ok(Self { want, conditions: conditions.transpose()?.unwrap_or_default() })
    }

    /// Returns whether options name what the module manages.
    pub(crate) fn has_names(&self) -> bool {
        matches!(&self.want, Want::Profile { options, .. } if !options.is_empty())
    }
}

impl Condition {
    fn parse(text: &str) -> Result<Self, String> {
        let (option, values) = text.split_once(" is ").ok_or_else(|| format!("unknown condition `{text}`"))?;
        Ok(Self { option: option.to_owned(), values: values.split(" or ").map(str::to_owned).collect() })
    }

    /// Returns whether the condition holds for the value of its option.
    pub(crate) fn holds(&self, given: Option<&Value>) -> bool {
        self.values.iter().any(|expected| match (expected.as_str(), given) {
            ("not given", given) => given.is_none(),
            (_, None) => false,
            ("given", Some(_)) => true,
            ("true", Some(value)) => bool_of(value) == Ok(true),
            (expected, Some(value)) => modbox_contract::python_str(value) == expected,
        })
    }
}

/// Returns the value of an option by any of its names; null is none.
pub(crate) fn given<'v>(args: &'v Dict, names: &[&str]) -> Option<&'v Value> {
    names.iter().find_map(|name| args.get(*name)).filter(|value| **value != Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_errors() {
        for text in ["manage", "manage-users name", "no rule for x", "users if x", "ask name", "outsid x"] {
            assert!(Line::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn conditions_are_about_values() {
        let args = modbox_contract::decode(r#"{"yes": "yes", "dist": "dist", "null": null, "no": false}"#).unwrap();
        let holds = |condition: &Condition| condition.holds(given(args.as_dict().unwrap(), &[&condition.option]));
        for (text, expect) in [
            ("users if yes is true", true),
            ("users if no is true", false),
            ("users if dist is full or dist", true),
            ("users if dist is given and null is not given", true),
            ("users if null is given", false),
            ("users if no is given", true),
            ("users if absent is true or not given", true),
            ("users", true),
        ] {
            assert_eq!(Line::parse(text).unwrap().conditions.iter().all(holds), expect, "{text}");
        }
    }
}
