//! `assemble`: joins the files of a folder to one.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};
use modbox_python_re::{Flags, Pattern, Subject};

use crate::actions::context::ActionContext;
use crate::actions::copies::copying::private;
use crate::actions::copies::file_difference::{NewContent, difference};
use crate::actions::error::ActionError;
use crate::files::FileKind;
use crate::paths;

/// Arguments that the module `copy` does not take.
const OWN_ARGS: [&str; 5] = ["remote_src", "regexp", "delimiter", "ignore_hidden", "decrypt"];

/// How long the joined file may be.
const MAX_LENGTH: usize = 256 << 20;

/// Joins files.
///
/// # Errors
///
/// An argument is wrong, the folder cannot be found or read, or a module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    context.args.shift_remove("decrypt");
    let (Some(name), Some(dest)) = (context.text("src"), context.text("dest")) else {
        return Err(ActionError::failed("src and dest are required"));
    };
    let args = context.args.clone();
    if context.flag_of(&args, "remote_src", true) {
        return context.run_module("ansible.legacy.assemble", args);
    }
    let source = context.find_file("files", &name)?;
    if !context.host.files().is_folder(&source) {
        return Err(ActionError::failed(format!("Source ({source}) is not a directory")));
    }
    let content: Arc<[u8]> = join(context, &source)?.into();
    let mut diff = Dict::new();
    if context.options.modes.diff {
        diff = difference(context, &dest, NewContent { header: &source, bytes: &content })?;
    }
    let mut args = args;
    for name in OWN_ARGS {
        args.shift_remove(name);
    }
    args.shift_remove("src");
    let mut result =
        context.run_module_with("ansible.legacy.copy", args, vec![private("src", "src".to_owned(), &content)])?;
    if !diff.is_empty() {
        result.insert("diff".to_owned(), Value::Dict(diff));
    }
    Ok(result)
}

/// Joins the files of a folder, sorted by name.
fn join(context: &ActionContext<'_>, folder: &str) -> Result<Vec<u8>, ActionError> {
    let files = context.host.files();
    let pattern = match context.text("regexp") {
        None => None,
        Some(text) => {
            let pattern = Pattern::new(&text, Subject::Text, Flags::default());
            Some(pattern.map_err(|error| ActionError::failed(format!("Invalid regexp ({text}): {error}")))?)
        }
    };
    let ignores_hidden = context.flag_of(&context.args, "ignore_hidden", false);
    let mut delimiter = context.text("delimiter").filter(|text| !text.is_empty()).map(String::into_bytes);
    let mut joined = Joined::default();
    for name in files.list(folder)? {
        let matches = pattern.as_ref().map_or(Ok(true), |regex| regex.search(name.as_bytes()).map(|m| m.is_some()));
        let matches = matches.map_err(|error| ActionError::failed(error.to_string()))?;
        let path = paths::join(folder, &name);
        if !matches || (ignores_hidden && name.starts_with('.')) || files.kind(&path)? != Some(FileKind::File) {
            continue;
        }
        joined.add(&files.bytes(&path)?, &mut delimiter);
        if joined.bytes.len() > MAX_LENGTH {
            return Err(ActionError::failed(format!("the files in {folder} have more than {MAX_LENGTH} bytes")));
        }
    }
    Ok(joined.bytes)
}

/// Files that are joined so far.
#[derive(Debug, Default)]
struct Joined {
    bytes: Vec<u8>,
    is_started: bool,
    lacks_line_end: bool,
}

impl Joined {
    /// Adds a file. As in Ansible, a line ends after each file and each delimiter, and the escapes of the delimiter are
    /// decoded anew each time.
    fn add(&mut self, file: &[u8], delimiter: &mut Option<Vec<u8>>) {
        if self.lacks_line_end {
            self.bytes.push(b'\n');
        }
        if self.is_started
            && let Some(text) = delimiter
        {
            *text = decode_escapes(text);
            self.bytes.extend_from_slice(text);
            self.bytes.push(b'\n');
        }
        self.bytes.extend_from_slice(file);
        self.is_started = true;
        self.lacks_line_end = !file.ends_with(b"\n");
    }
}

/// Decodes the escapes of a bytes literal of Python. Others stay as they are.
fn decode_escapes(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let Some((&escape, behind)) = rest.split_first().filter(|_| byte == b'\\') else {
            out.push(byte);
            continue;
        };
        let (decoded, length) = match escape {
            b'n' => (Some(b'\n'), 1),
            b't' => (Some(b'\t'), 1),
            b'r' => (Some(b'\r'), 1),
            b'a' => (Some(7), 1),
            b'b' => (Some(8), 1),
            b'f' => (Some(12), 1),
            b'v' => (Some(11), 1),
            b'\\' | b'\'' | b'"' => (Some(escape), 1),
            b'x' => (number(behind, 2, 16), 3),
            b'0'..=b'7' => {
                let digits = rest.iter().take(3).take_while(|digit| matches!(digit, b'0'..=b'7')).count();
                (number(rest, digits, 8), digits)
            }
            _ => (None, 0),
        };
        match decoded {
            Some(decoded) => {
                out.push(decoded);
                rest = &rest[length..];
            }
            None => out.push(byte),
        }
    }
    out
}

/// Reads the digits of a byte. A larger number keeps its lowest byte, as in Python.
fn number(text: &[u8], digits: usize, radix: u32) -> Option<u8> {
    let text = std::str::from_utf8(text.get(..digits)?).ok().filter(|text| !text.starts_with(['+', '-']))?;
    u32::from_str_radix(text, radix).ok().map(|number| number.to_le_bytes()[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_joined_as_ansible_does() {
        let check = |files: &[&str], delimiter: Option<&str>, expect: &str| {
            let mut delimiter = delimiter.map(|text| text.as_bytes().to_vec());
            let mut joined = Joined::default();
            files.iter().for_each(|file| joined.add(file.as_bytes(), &mut delimiter));
            assert_eq!(String::from_utf8(joined.bytes).unwrap(), expect);
        };
        check(&["a\n", "b\n"], None, "a\nb\n");
        check(&["a", "b"], None, "a\nb");
        check(&["a\n", "b\n", "c"], Some("--"), "a\n--\nb\n--\nc");
        check(&["a", "b"], Some("x\\n"), "a\nx\n\nb");
    }

    #[test]
    fn escapes_are_those_of_bytes() {
        let check = |text: &str, expect: &[u8]| assert_eq!(decode_escapes(text.as_bytes()), expect, "{text}");
        check(r"a\n\x41\101\\", b"a\nAA\\");
        check(r"\q\", b"\\q\\");
        check(r"\777", b"\xff");
        check(r"\x4", b"\\x4");
    }
}
