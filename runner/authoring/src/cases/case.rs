//! A case, as its file describes it. Pure.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::requests::ExpectedRequest;

/// One test of a module.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// Arguments of the module.
    #[serde(default)]
    pub(super) args: Map<String, Value>,
    /// Runs in check mode.
    #[serde(default)]
    pub(super) check: bool,
    /// Asks for differences.
    #[serde(default)]
    pub(super) diff: bool,
    /// Files before the run.
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    /// Grants, as in a policy file.
    #[serde(default)]
    pub(super) allow: Map<String, Value>,
    /// Expected HTTP requests, with their answers. With it, no request reaches the network.
    pub(super) http: Option<Vec<ExpectedRequest>>,
    pub(super) expect: Expected,
}

/// Expectations of a case. What it does not name is not compared.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    /// Status of the report, such as `changed` or `failed`.
    pub(super) status: Option<String>,
    /// Keys of the result.
    #[serde(default)]
    pub(super) result: Map<String, Value>,
    /// Files after the run; null is a file that must not exist.
    #[serde(default)]
    pub(super) files: BTreeMap<String, Option<String>>,
}

impl Case {
    /// Reads a case from YAML or JSON text, or returns the reason why it is invalid.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut case: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let names = case.files.keys().chain(case.expect.files.keys());
        for name in names {
            let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
            if name.is_empty() || !is_plain {
                return Err(format!("the file `{name}` is not a relative path below the case's folder"));
            }
        }
        case.http.iter_mut().flatten().try_for_each(ExpectedRequest::check)?;
        if case.expect.status.is_none() && case.expect.result.is_empty() && case.expect.files.is_empty() {
            return Err("`expect` has neither `status`, `result` nor `files`".to_owned());
        }
        Ok(case)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_a_case_can_have() {
        let case = Case::parse(
            "args: {path: motd}\ncheck: true\nfiles: {motd: \"old\\n\"}\nallow: {write: [.]}\n\
             expect: {status: changed, result: {changed: true}, files: {motd: \"old\\n\", other: null}}\n",
        )
        .unwrap();
        assert!(case.check && !case.diff);
        assert_eq!(case.expect.files["other"], None);
    }

    #[test]
    fn refuses_mistakes_and_cases_that_cannot_fail() {
        for (text, expect) in [
            ("expect: {}", "neither `status`"),
            ("args: {}", "expect"),
            ("expects: {status: ok}", "expects"),
            ("files: {/etc/passwd: x}\nexpect: {status: ok}", "is not a relative path"),
            ("expect: {files: {../x: null}}", "is not a relative path"),
            ("http: [{url: h}]\nexpect: {status: ok}", "`h` in `http` is not a URL"),
        ] {
            let reason = Case::parse(text).unwrap_err();
            assert!(reason.contains(expect), "{text}: {reason}");
        }
    }
}
