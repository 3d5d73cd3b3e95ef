//! The types of attributes, and their texts in arguments and output.

/// Value of an attribute.
pub trait AttributeValue: Sized {
    /// Name of the type in metadata.
    const TYPE: &'static str;

    /// Reads a value. `options` are the values of an enum; if empty, all are allowed.
    ///
    /// # Errors
    ///
    /// A text that is not a value; the error says what is wrong.
    fn read(text: &str, options: &[&str]) -> Result<Self, String>;

    /// Returns the text of a value.
    fn write(&self) -> String;
}

impl AttributeValue for String {
    const TYPE: &'static str = "string";

    fn read(text: &str, options: &[&str]) -> Result<Self, String> {
        match options.is_empty() || options.contains(&text) {
            true => Ok(text.to_owned()),
            false => Err(format!("unknown value `{text}`; expected one of {}", options.join(", "))),
        }
    }

    fn write(&self) -> String {
        self.clone()
    }
}

impl AttributeValue for bool {
    const TYPE: &'static str = "boolean";

    fn read(text: &str, _options: &[&str]) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(format!("`{text}` is not a boolean; expected true or false")),
        }
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

impl AttributeValue for Vec<String> {
    const TYPE: &'static str = "array[string]";

    fn read(text: &str, _options: &[&str]) -> Result<Self, String> {
        let entries = text.split(',').map(|entry| entry.trim().to_owned());
        Ok(if text.is_empty() { Self::new() } else { entries.collect() })
    }

    fn write(&self) -> String {
        self.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: AttributeValue>(text: &str, options: &[&str], expect: Result<&str, &str>) {
        let written = T::read(text, options).map(|value| value.write());
        match (written, expect) {
            (Ok(written), Ok(expect)) => assert_eq!(written, expect),
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{error}"),
            (written, _) => panic!("{text:?}: {written:?}"),
        }
    }

    #[test]
    fn values_are_read_and_written() {
        check::<String>(" a ", &[], Ok(" a "));
        check::<String>("on", &["on", "off"], Ok("on"));
        check::<String>("On", &["on", "off"], Err("expected one of on, off"));
        check::<bool>("TRUE", &[], Ok("true"));
        check::<bool>("1", &[], Err("is not a boolean"));
        check::<Vec<String>>("", &[], Ok(""));
        check::<Vec<String>>("a, b c,d", &[], Ok("a,b c,d"));
    }
}
