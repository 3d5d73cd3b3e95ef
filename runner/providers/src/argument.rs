//! Words for a program: `name='value'`, quoted so that a shell's `eval` and every shell-like reader see the same bytes.
//!
//! libral puts values between single quotes and leaves quotes in them as they are, which makes a value into code. Here
//! each `'` is written as `'\''`.

use thiserror::Error;

use crate::action::Action;
use crate::resource::Attributes;
use crate::text::Text;
use crate::value::AttributeValue;

/// Bytes of one argument that Linux passes on (`MAX_ARG_STRLEN`), without the NUL at its end.
pub const MAX_ARGUMENT: usize = (128 << 10) - 1;

/// Bytes of all arguments. Linux takes at least two megabytes, with the environment.
pub const MAX_ARGUMENTS: usize = 1 << 20;

/// Reason why a value cannot be passed to a program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArgumentError {
    /// A NUL byte would end the argument.
    #[error("failed to pass `{0}`: the value has a NUL byte, which no argument of a program can have")]
    Nul(String),
    /// An array is passed with commas between its entries.
    #[error(
        "failed to pass `{attribute}`: the entry `{entry}` of the array has a comma or is empty, which cannot be told apart"
    )]
    Entry {
        /// Name of the attribute.
        attribute: String,
        /// The entry.
        entry: String,
    },
    /// No value.
    #[error("failed to pass `{0}`: it has no value")]
    NoValue(String),
    /// One argument is too long.
    #[error("failed to pass `{attribute}`: {bytes} bytes, where the system takes at most {MAX_ARGUMENT}")]
    TooLong {
        /// Name of the attribute.
        attribute: String,
        /// Length of the argument.
        bytes: usize,
    },
    /// All arguments together are too long.
    #[error("failed to pass the arguments: {0} bytes together, where at most {MAX_ARGUMENTS} are passed")]
    TooLongTogether(usize),
}

/// Returns the words of an action of the simple convention: the name, the attributes in the order of their names,
/// `ral_noop` only if nothing may change, and the action at the end.
///
/// # Errors
///
/// A value that no argument can hold.
pub fn simple_arguments(
    action: Action,
    name: Option<&Text>,
    attributes: &Attributes,
    noop: bool,
) -> Result<Vec<Text>, ArgumentError> {
    let mut words = Vec::with_capacity(attributes.len() + 3);
    if let Some(name) = name {
        words.push(assignment("name", name)?);
    }
    for (attribute, value) in attributes {
        words.push(assignment(attribute, &value_text(attribute, value)?)?);
    }
    // Any value counts, also an empty one. Providers in shell test for one that is not empty.
    words.extend(noop.then(|| "ral_noop=true".into()));
    words.push(format!("ral_action={action}").into());
    let together = words.iter().map(|word| word.as_bytes().len() + 1).sum();
    if together > MAX_ARGUMENTS { Err(ArgumentError::TooLongTogether(together)) } else { Ok(words) }
}

/// Returns the word for one attribute: `attribute='value'`.
///
/// # Errors
///
/// A value with a NUL byte, or one that is too long.
pub fn assignment(attribute: &str, value: &Text) -> Result<Text, ArgumentError> {
    if value.as_bytes().contains(&0) {
        return Err(ArgumentError::Nul(attribute.to_owned()));
    }
    let mut word = attribute.as_bytes().to_vec();
    word.extend_from_slice(b"='");
    for byte in value.as_bytes() {
        match byte {
            b'\'' => word.extend_from_slice(br"'\''"),
            other => word.push(*other),
        }
    }
    word.push(b'\'');
    match word.len() {
        bytes if bytes > MAX_ARGUMENT => Err(ArgumentError::TooLong { attribute: attribute.to_owned(), bytes }),
        _ => Ok(Text::from_bytes(word)),
    }
}

fn value_text(attribute: &str, value: &AttributeValue) -> Result<Text, ArgumentError> {
    match value {
        AttributeValue::None => Err(ArgumentError::NoValue(attribute.to_owned())),
        AttributeValue::Text(text) => Ok(text.clone()),
        AttributeValue::Boolean(truth) => Ok(truth.to_string().into()),
        AttributeValue::Array(entries) => {
            let is_bad = |entry: &&Text| {
                let bytes = entry.as_bytes();
                bytes.contains(&b',') || bytes.is_empty() || bytes.trim_ascii() != bytes
            };
            if let Some(entry) = entries.iter().find(is_bad) {
                let (attribute, entry) = (attribute.to_owned(), entry.to_string());
                return Err(ArgumentError::Entry { attribute, entry });
            }
            let entries: Vec<&[u8]> = entries.iter().map(Text::as_bytes).collect();
            Ok(Text::from_bytes(entries.join(&b","[..])))
        }
    }
}

#[cfg(test)]
mod tests {
    use modbox_vocabulary::quoting;

    use super::*;

    /// Values that a reader could take for something else.
    const HOSTILE: [&str; 23] = [
        "",
        " ",
        "a b",
        "it's",
        "'",
        "''",
        "'; touch /tmp/x; '",
        "\"",
        "\"\"",
        "\\",
        "a\\",
        "$(id)",
        "`id`",
        "$HOME",
        "*",
        "a\nb",
        "a\tb",
        "a\rb",
        "#x",
        "~",
        "a;b|c&d",
        "a=b=c",
        "\u{e9}\u{1f600}",
    ];

    #[test]
    fn every_value_survives_a_shell() {
        for value in HOSTILE {
            let word = assignment("name", &value.into()).unwrap();
            let split = quoting::split(word.as_str().unwrap()).unwrap();
            assert_eq!(split, [format!("name={value}")], "{word:?}");
        }
        assert_eq!(assignment("a", &"it's".into()).unwrap(), r"a='it'\''s'");
        assert_eq!(assignment("a", &Text::from_bytes(*b"\xff'")).unwrap().as_bytes(), b"a='\xff'\\'''");
    }

    #[test]
    fn words_have_an_order() {
        let attributes: Attributes = [
            ("list", AttributeValue::Array(vec!["x".into(), "y z".into()])),
            ("b", AttributeValue::Boolean(true)),
            ("a", AttributeValue::text("1")),
            ("empty", AttributeValue::Array(Vec::new())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let words = |noop| {
            let words = simple_arguments(Action::Update, Some(&"n".into()), &attributes, noop).unwrap();
            words.iter().map(Text::to_string).collect::<Vec<_>>()
        };
        let expect = ["name='n'", "a='1'", "b='true'", "empty=''", "list='x,y z'", "ral_action=update"];
        assert_eq!(words(false), expect);
        assert_eq!(words(true)[5..], ["ral_noop=true", "ral_action=update"]);
        let list = simple_arguments(Action::List, None, &Attributes::new(), false).unwrap();
        assert_eq!(list, ["ral_action=list"]);
    }

    #[test]
    fn what_no_argument_can_hold_is_refused() {
        let refused = |value: AttributeValue| {
            let attributes = [("a".to_owned(), value)].into();
            simple_arguments(Action::Update, Some(&"n".into()), &attributes, false).expect_err("refused").to_string()
        };
        assert!(refused(AttributeValue::text("a\0b")).contains("NUL"));
        assert!(refused(AttributeValue::None).contains("no value"));
        for entry in ["a,b", "", " a"] {
            assert!(refused(AttributeValue::Array(vec![entry.into()])).contains("comma or is empty"), "{entry}");
        }
        assert!(refused(AttributeValue::text(&"x".repeat(MAX_ARGUMENT))).contains("131075 bytes"));
        assert!(assignment("a", &"x".repeat(MAX_ARGUMENT - 4).into()).is_ok());
        let many: Attributes =
            (0..9).map(|n| (n.to_string(), AttributeValue::text(&"x".repeat(MAX_ARGUMENT - 9)))).collect();
        let error = simple_arguments(Action::Update, None, &many, false).unwrap_err();
        assert!(matches!(error, ArgumentError::TooLongTogether(_)), "{error}");
        assert!(simple_arguments(Action::Find, Some(&Text::from_bytes(*b"\0")), &Attributes::new(), false).is_err());
    }
}
