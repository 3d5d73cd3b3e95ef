//! The argument file of old-style modules: `key=value` pairs, which shell scripts read with `. "$1"`.

use modbox_python_json::{Dict, Value, str as python_str};
use modbox_vocabulary::quoting::quote_bytes;

/// Encodes the arguments file of an old-style module: `key=value ` for each argument, on one line without a line end.
/// The value is Python's `str()`, quoted for a shell. Scripts read the file with `. "$1"`.
///
/// Keys are not quoted, as in ansible-core. A key from an untrusted caller can therefore run commands. That is safe
/// only while the file is read inside the module's own confinement.
#[must_use]
pub fn old_style_args(args: &Dict) -> Vec<u8> {
    let mut file = Vec::new();
    for (key, value) in args {
        file.extend_from_slice(key.as_bytes());
        file.push(b'=');
        file.extend(quote_bytes(&str_bytes(value)));
        file.push(b' ');
    }
    file
}

/// Returns Python's `str()` as bytes. A string that came from bytes becomes the same bytes again.
fn str_bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Surrogates(text) => text.to_bytes().unwrap_or_else(|| text.to_string_lossy().into_bytes()),
        other => python_str(other).into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    #[test]
    fn writes_old_style_files() {
        let json = r#"{"a": true, "b": null, "c": ["x", 1.0], "d": {"k": "it's"}, "e": "", "f g": "h", "i": "\udcff"}"#;
        let Value::Dict(args) = decode(json).unwrap() else { unreachable!() };
        assert_eq!(
            old_style_args(&args),
            b"a=True b=None c='['\"'\"'x'\"'\"', 1.0]' d='{'\"'\"'k'\"'\"': \"it'\"'\"'s\"}' e='' f g=h i='\xff' "
        );
    }
}
