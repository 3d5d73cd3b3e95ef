//! Documentation in files: as a text in Python code, or as YAML.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use modbox_contract::{Dict, Value};

/// Name of the documentation in a module's text, in the file beside it, and in a fragment.
pub(super) const NAME: &str = "DOCUMENTATION";

/// Bytes of documentation that are read; far more than any module has.
const MAX_DOCUMENTATION: usize = 1 << 20;

/// Where an assignment may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Indentation {
    /// At the beginning of a line.
    None,
    /// In a class, after blanks.
    Any,
}

/// Returns the text that Python code assigns to a name, with escapes resolved as Python does.
pub(super) fn assigned(code: &[u8], name: &str, indentation: Indentation) -> Option<String> {
    let head = code.get(..code.len().min(MAX_DOCUMENTATION * 2))?;
    let mut places = memchr::memmem::find_iter(head, name);
    let (raw, quotes, rest) = places.find_map(|at| parse_assignment(head, at, name, indentation))?;
    let end = rest.windows(3).take(MAX_DOCUMENTATION).position(|window| window == quotes)?;
    let text = str::from_utf8(&rest[..end]).ok()?;
    // Documentation uses only these escapes of ordinary strings.
    Some(if raw { text.to_owned() } else { text.replace("\\\n", "").replace("\\\"", "\"").replace("\\\\", "\\") })
}

/// Parses an assignment to a name at an offset. Returns whether the string is raw, its quotes, and the bytes after the
/// opening quotes.
fn parse_assignment<'a>(
    head: &'a [u8],
    at: usize,
    name: &str,
    indentation: Indentation,
) -> Option<(bool, &'a [u8], &'a [u8])> {
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let blanks = |bytes: &[u8]| bytes.iter().take_while(is_blank).count();
    let before = match indentation {
        Indentation::None => at,
        Indentation::Any => at - head[..at].iter().rev().take_while(is_blank).count(),
    };
    let begins_a_line = before == 0 || head[before - 1] == b'\n';
    let rest = head.get(at + name.len()..).filter(|_| begins_a_line)?;
    let rest = rest[blanks(rest)..].strip_prefix(b"=")?;
    let rest = &rest[blanks(rest)..];
    let prefix = rest.first().filter(|byte| matches!(byte, b'u' | b'U' | b'r' | b'R'));
    let (quotes, rest) = rest[usize::from(prefix.is_some())..].split_at_checked(3)?;
    let raw = prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(&b'r'));
    matches!(quotes, b"\"\"\"" | b"'''").then_some((raw, quotes, rest))
}

/// Reads a file, cut at a limit. Opens regular files only, since opening a FIFO could block.
pub(super) fn read_file(path: &Path) -> Option<Vec<u8>> {
    path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_DOCUMENTATION as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Number of parsed texts that are kept.
const MAX_PARSED: usize = 64;

/// Maximum bytes of a text that is kept; the longest of a real module has 44 KB.
const MAX_KEPT: usize = 64 << 10;

thread_local! {
    /// The texts that were parsed last. That of a module is asked for several times, and fragments are shared by the modules of a
    /// collection; to parse takes most of the time in which a module is described.
    static PARSED: RefCell<HashMap<String, Option<Dict>>> = RefCell::default();
}

pub(super) fn parse_dict(yaml: &str) -> Option<Dict> {
    if let Some(known) = PARSED.with_borrow(|parsed| parsed.get(yaml).cloned()) {
        return known;
    }
    let parsed = match serde_saphyr::from_str::<Value>(yaml) {
        Ok(Value::Dict(entries)) => Some(entries),
        _ => None,
    };
    if yaml.len() <= MAX_KEPT {
        PARSED.with_borrow_mut(|known| {
            if known.len() == MAX_PARSED {
                known.clear();
            }
            known.insert(yaml.to_owned(), parsed.clone());
        });
    }
    parsed
}
