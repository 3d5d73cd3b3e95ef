//! The grammar of the simple convention: a header, then lines of `key: value`, or an error.
//!
//! Lines end with LF, and may have a CR before it. Blanks around a line, a key and a value do not count; blank lines do
//! not either. There are no comments, no quotes and no values of several lines. An error begins with `ral_error:` and
//! ends with a line `ral_eom` or with the output; all other output is void then.
//!
//! An error without `ral_eom` counts: libral forgets it if the exit status is 0, and reports a success that was none.

use crate::failure::OutputError;
use crate::text::Text;

/// The first line.
const HEADER: &[u8] = b"# simple";

/// The key that begins an error.
const ERROR: &str = "ral_error";

/// The line that ends an error.
const END: &[u8] = b"ral_eom";

/// Lines that are read. The limit of output holds more of the shortest ones.
const MAX_LINES: usize = 500_000;

/// Content of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SimpleOutput {
    /// Keys and values, in their order.
    Pairs(Vec<(String, Text)>),
    /// An error that the provider reports.
    Error(Text),
}

pub(crate) fn read(stdout: &[u8]) -> Result<SimpleOutput, OutputError> {
    let mut lines = stdout.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let first = lines.next().ok_or(OutputError::Nothing)?;
    if first != HEADER {
        // A provider may fail before it prints the header.
        return match pair(first) {
            Ok((key, message)) if key == ERROR => Ok(SimpleOutput::Error(error(&message, lines))),
            _ => Err(OutputError::Header(shortened(first))),
        };
    }
    let mut pairs = Vec::new();
    while let Some(line) = lines.next() {
        let (key, value) = pair(line)?;
        if key == ERROR {
            return Ok(SimpleOutput::Error(error(&value, lines)));
        }
        if pairs.len() == MAX_LINES {
            return Err(OutputError::TooManyLines(MAX_LINES));
        }
        pairs.push((key.to_owned(), value));
    }
    Ok(SimpleOutput::Pairs(pairs))
}

fn pair(line: &[u8]) -> Result<(&str, Text), OutputError> {
    let colon = line.iter().position(|byte| *byte == b':').ok_or_else(|| OutputError::NoColon(shortened(line)))?;
    let key = str::from_utf8(line[..colon].trim_ascii()).ok().filter(|key| !key.is_empty());
    let key = key.ok_or_else(|| OutputError::BadKey(shortened(line)))?;
    Ok((key, Text::from_bytes(line[colon + 1..].trim_ascii())))
}

/// Returns the message of an error: the rest of its first line, and the lines up to its end.
fn error<'a>(first: &'a Text, lines: impl Iterator<Item = &'a [u8]>) -> Text {
    let rest = lines.take_while(|line| *line != END);
    let parts: Vec<&[u8]> = [first.as_bytes()].into_iter().filter(|first| !first.is_empty()).chain(rest).collect();
    Text::from_bytes(parts.join(&b'\n'))
}

/// Shortens a line for a message.
fn shortened(line: &[u8]) -> Text {
    const LONGEST: usize = 200;
    match line.get(..LONGEST) {
        Some(start) => Text::from_bytes([start, "…".as_bytes()].concat()),
        None => Text::from_bytes(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stdout: &str, expect: &[(&str, &str)]) {
        let expect = expect.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
        assert_eq!(read(stdout.as_bytes()), Ok(SimpleOutput::Pairs(expect)), "{stdout:?}");
    }

    #[track_caller]
    fn fails(stdout: &str, expect: &str) {
        let error = read(stdout.as_bytes()).expect_err(stdout).to_string();
        assert!(error.contains(expect), "{stdout:?}: {error}");
    }

    #[track_caller]
    fn reports(stdout: &str, expect: &str) {
        assert_eq!(read(stdout.as_bytes()), Ok(SimpleOutput::Error(expect.into())), "{stdout:?}");
    }

    #[test]
    fn lines_are_keys_and_values() {
        check("# simple", &[]);
        check("\n \n# simple\n\n", &[]);
        check("  # simple \r\nname: a\r\n\r\n", &[("name", "a")]);
        check("# simple\nname:a:b: c\ns :  1  \nempty:", &[("name", "a:b: c"), ("s", "1"), ("empty", "")]);
        check("# simple\nName: x\nname: x\nname: x", &[("Name", "x"), ("name", "x"), ("name", "x")]);
        check("# simple\n# x: y", &[("# x", "y")]);
        // Only CRs at the ends count: one within a line belongs to the value.
        check("# simple\na: b\rc", &[("a", "b\rc")]);
    }

    #[test]
    fn bytes_are_kept() {
        let read = read(b"# simple\nname: \xff\xfe");
        assert_eq!(read, Ok(SimpleOutput::Pairs(vec![("name".to_owned(), Text::from_bytes(*b"\xff\xfe"))])));
    }

    #[test]
    fn other_output_is_refused() {
        fails("", "there is none");
        fails("\n \r\n", "there is none");
        fails("name: x", "the first line is `name: x`; expected `# simple`");
        fails("#simple", "the first line is `#simple`");
        fails("# simple x", "the first line is");
        fails("# simple\nfoo", "the line `foo` has no `:`");
        fails("# simple\n# comment", "has no `:`");
        fails("# simple\n: x", "an invalid key");
        fails("# simple\n \t: x", "an invalid key");
        fails(&format!("# simple\n{}", "x".repeat(1000)), "…` has no `:`");
        assert!(read(b"# simple\n\xff: x").unwrap_err().to_string().contains("an invalid key"));
        let many = format!("# simple\n{}", "a:\n".repeat(MAX_LINES + 1));
        fails(&many, "more than 500000 lines");
    }

    #[test]
    fn errors_void_all_other_output() {
        reports("# simple\nname: a\nral_error: boom\nral_eom\nname: b", "boom");
        reports(
            "# simple\nral_error: boom\n  line two\n\nral_error: three\nral_eom",
            "boom\nline two\nral_error: three",
        );
        reports("# simple\nral_error:\ntext without colon\nral_eom\njunk", "text without colon");
        reports("# simple\nral_error:\nral_eom", "");
        // Before the header, and without an end.
        reports("ral_error: Unknown action: x\nral_eom", "Unknown action: x");
        reports("# simple\nral_error: boom\nmore", "boom\nmore");
        reports("# simple\nral_error: boom\nral_eomx", "boom\nral_eomx");
        // What was wrong before the error counts.
        fails("# simple\njunk\nral_error: boom\nral_eom", "`junk` has no `:`");
    }
}
