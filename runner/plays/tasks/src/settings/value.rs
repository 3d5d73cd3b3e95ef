//! From the text of a variable or a file to the value of a setting.

use modbox_python_json::Value;

use super::setting::Kind;
use crate::scalars::truth;

/// Returns the value that a text stands for (ansible-core 2.21, `ensure_type`). Paths stay as they are written.
///
/// # Errors
///
/// The text is not a number where one is needed; the message says what is expected.
pub fn parse(kind: Kind, text: &str) -> Result<Value, String> {
    let text = unquoted(text);
    let list = |separator: char| -> Value {
        let items = text.split(separator).map(str::trim);
        Value::List(items.map(Value::from).collect())
    };
    match kind {
        Kind::Bool => Ok(Value::Bool(truth(&Value::from(text)).unwrap_or(false))),
        Kind::Int => text.trim().parse().map(Value::Int).map_err(|_| "expected a whole number".to_owned()),
        Kind::Float => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number)),
            _ => Err("expected a number".to_owned()),
        },
        Kind::List | Kind::Paths => Ok(list(',')),
        Kind::Folders => Ok(list(':')),
        Kind::Path | Kind::Text | Kind::Any => Ok(Value::from(text)),
    }
}

/// Returns a text without the quotes around it.
fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use modbox_python_json::encode;

    use super::*;

    #[test]
    fn texts_are_values_of_their_types() {
        let check = |kind, text: &str, expect: &str| {
            assert_eq!(parse(kind, text).map(|value| encode(&value)), Ok(expect.to_owned()), "{text}");
        };
        check(Kind::Bool, "Yes", "true");
        check(Kind::Bool, "perhaps", "false");
        check(Kind::Bool, "", "false");
        check(Kind::Int, " 7 ", "7");
        check(Kind::Float, "0.5", "0.5");
        check(Kind::List, "a, b,c", r#"["a", "b", "c"]"#);
        check(Kind::Folders, "~/a:/b", r#"["~/a", "/b"]"#);
        check(Kind::Text, "'quoted'", r#""quoted""#);
        check(Kind::Text, "it's", r#""it's""#);
        assert!(parse(Kind::Int, "x").is_err() && parse(Kind::Float, "nan").is_err());
    }
}
