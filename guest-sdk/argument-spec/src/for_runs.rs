//! What in metadata is for people who read about a module: nothing that runs it has a use for that, and it is most of the
//! text.

use modbox_python_json::{Dict, Value, decode, encode};

use crate::metadata::{MAX_METADATA_BYTES, Metadata};

/// The entries of the whole that are only read.
const OF_MODULE: [&str; 3] = ["description", "examples", "returns"];

/// The entries of an option that are only read.
const OF_OPTION: [&str; 2] = ["description", "version_added"];

impl Metadata {
    /// Returns the text of metadata without what is only there to be read. What is wrong in it stays. `None` is text
    /// that is no JSON object, or longer than metadata may be.
    #[must_use]
    pub fn for_runs(json: &str) -> Option<String> {
        if json.len() > MAX_METADATA_BYTES {
            return None;
        }
        let Ok(Value::Dict(mut entries)) = decode(json) else { return None };
        entries.retain(|key, _| !OF_MODULE.contains(&key.as_str()));
        strip_options(&mut entries, "argument_spec");
        Some(encode(&Value::Dict(entries)))
    }
}

fn strip_options(entries: &mut Dict, key: &str) {
    let Some(Value::Dict(options)) = entries.get_mut(key) else { return };
    for option in options.values_mut() {
        if let Value::Dict(entries) = option {
            entries.retain(|key, _| !OF_OPTION.contains(&key.as_str()));
            strip_options(entries, "options");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_read_goes() {
        let json = r#"{"name": "x", "version": "1.0", "description": ["d"], "supports_check_mode": true, "argument_spec": {
            "description": {"description": "of an option of that name", "version_added": "2", "no_log": true, "default": {"returns": 1}},
            "a": {"type": "list", "elements": "dict", "description": ["e"], "options": {"examples": {"description": ["f"], "required": true}}}},
            "required_one_of": [["a", "description"]],
            "requests": [{"capability": "net", "subject": "x.org:443", "reason": "description"}],
            "returns": {"r": {"type": "str", "returned": "success", "description": "g"}}, "examples": ["h"]}"#;
        let text = Metadata::for_runs(json).unwrap();
        let (whole, rest) = (Metadata::from_json(json).unwrap(), Metadata::from_json(&text).unwrap());
        assert_eq!(rest.argument_spec, Metadata::trusted(json).argument_spec);
        assert_eq!((&rest.name, &rest.version, &rest.requests), (&whole.name, &whole.version, &whole.requests));
        assert!(rest.description.is_empty() && rest.examples.is_empty() && rest.returns.is_empty());
        assert!(whole.description.len() + whole.examples.len() + whole.returns.len() == 3);
    }

    #[test]
    fn what_is_wrong_stays_wrong() {
        for json in [r#"{"argument_spec": 5}"#, r#"{"name": "x", "argument_spec": {"a": 5, "b": {"options": 2}}}"#] {
            let text = Metadata::for_runs(json).unwrap();
            assert_eq!(Metadata::from_json(&text).unwrap_err(), Metadata::from_json(json).unwrap_err());
        }
        let long = format!("{{\"name\": \"{}\"}}", "x".repeat(MAX_METADATA_BYTES));
        assert_eq!(["5", "{", &long].map(Metadata::for_runs), [const { None }; 3]);
    }
}
