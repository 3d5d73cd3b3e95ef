//! Which kind of module some bytes are, and why.
//!
//! Wasm is recognised first, also behind a `#!` line. Then come the rules of ansible-core 2.19
//! (`_find_module_utils`), in its order, the first match wins. They look at bytes alone: no file name,
//! no permission. None is anchored, so that a comment that mentions a marker counts; that is what Ansible
//! does, and `--kind` is there for it.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;
use thiserror::Error;

use crate::kind::Kind;
use crate::{jsonargs, shebang};

/// A kind, and what spoke for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    /// The kind.
    pub kind: Kind,
    /// A clause for people: which marker, on which line.
    pub reason: String,
}

/// Why bytes cannot be run as a module, or not as the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DetectError {
    /// The output of Wasmtime's compiler. Running it would be running native code without any check.
    #[error("this is code that Wasmtime has already compiled (.cwasm); give the .wasm it was made from")]
    Precompiled,
    /// The magic number of wasm with something else behind it.
    #[error("this is WebAssembly of a version or layer that is not supported ({0}); known are 01000000 and 0d000100")]
    UnknownWasm(String),
    /// Bytes that cannot be what was asked for.
    #[error("the module cannot be run as {declared}: {reason}")]
    Contradiction {
        /// What was asked for.
        declared: Kind,
        /// What speaks against it.
        reason: String,
    },
}

const WASM_MAGIC: &[u8] = b"\0asm";

/// How much of a file Ansible looks at to tell text from binary.
const TEXT_WINDOW: usize = 1024;

/// What a rule looks for in the whole file.
enum Pattern {
    /// This text.
    Text(&'static str),
    /// One of these texts in letters of either case. Each begins with `#`.
    AnyCase(&'static [&'static str]),
    /// An import of what modules share.
    Import,
}

/// The markers, in Ansible's order.
const MARKERS: [(Kind, Pattern); 8] = [
    (Kind::Python, Pattern::Text("#<<INCLUDE_ANSIBLE_MODULE_COMMON>>")),
    (Kind::Python, Pattern::Import),
    (Kind::Powershell, Pattern::Text("# POWERSHELL_COMMON")),
    (Kind::Powershell, Pattern::AnyCase(&["#Requires -Module"])),
    (Kind::Powershell, Pattern::AnyCase(&["#Requires -Version"])),
    (
        Kind::Powershell,
        Pattern::AnyCase(&[
            "#AnsibleRequires -OSVersion",
            "#AnsibleRequires -PowerShell",
            "#AnsibleRequires -CSharpUtil",
            "#AnsibleRequires -Wrapper",
        ]),
    ),
    (Kind::Jsonargs, Pattern::Text(jsonargs::TOKEN)),
    (Kind::WantJson, Pattern::Text("WANT_JSON")),
];

/// What every such import names. Compiling the expression takes longer than reading most modules.
const MODULE_UTILS: &str = "module_utils";

/// Bytes mode: `.` is any byte but a newline, as in Python.
static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
    let collection = r"ansible_collections\.[^.]+\.[^.]+\.plugins\.module_utils";
    let pattern = format!(
        r"(?-u)from +\.{{2,}} *module_utils.* +import |from +{collection}.* +import |import +{collection}.*|from +ansible\.module_utils.* +import |import +ansible\.module_utils\."
    );
    Regex::new(&pattern).expect("a test compiles it")
});

impl Pattern {
    fn find(&self, bytes: &[u8]) -> Option<Range<usize>> {
        match self {
            Self::Text(text) => find(bytes, text),
            Self::AnyCase(texts) => memchr::memchr_iter(b'#', bytes).find_map(|at| {
                let is_here = |text: &&&str| {
                    bytes[at..].get(..text.len()).is_some_and(|here| here.eq_ignore_ascii_case(text.as_bytes()))
                };
                texts.iter().find(is_here).map(|text| at..at + text.len())
            }),
            Self::Import => {
                find(bytes, MODULE_UTILS)?;
                IMPORT.find(bytes).map(|found| found.range())
            }
        }
    }
}

fn find(bytes: &[u8], text: &str) -> Option<Range<usize>> {
    memchr::memmem::find(bytes, text.as_bytes()).map(|at| at..at + text.len())
}

/// Finds the kind of some bytes.
///
/// # Errors
///
/// Bytes that are no module at all: code that Wasmtime compiled, and wasm of an unknown version or layer.
pub fn detect(bytes: &[u8]) -> Result<Detection, DetectError> {
    if is_precompiled(bytes) {
        return Err(DetectError::Precompiled);
    }
    if let Some(detection) = detect_wasm(bytes)? {
        return Ok(detection);
    }
    if let Some((at, byte)) = first_binary_byte(bytes) {
        let reason = format!("byte 0x{byte:02x} at offset {at} is not text");
        return Ok(Detection { kind: Kind::Binary, reason });
    }
    let found = MARKERS.iter().find_map(|(kind, pattern)| Some((*kind, pattern.find(bytes)?)));
    Ok(match found {
        Some((kind, found)) => {
            let line = line_of(bytes, found.start);
            let text = String::from_utf8_lossy(&bytes[found]);
            let reason = format!("`{}` on line {line}", shorten(text.trim()));
            Detection { kind, reason }
        }
        None => Detection { kind: Kind::OldStyle, reason: "text without any marker".to_owned() },
    })
}

/// Finds the kind of some bytes, or takes the one that was asked for if the bytes allow it.
///
/// The kind says how a module is given its arguments, so a script may well be run as a kind whose marker it
/// lacks. What is refused is what cannot work: wasm is only ever itself; nothing else is wasm; a script whose
/// arguments are to be written into it needs the token; a kind that is started through its `#!` line needs one
/// where the bytes are not text; and the kernel can only start binaries and files with a `#!` line.
///
/// # Errors
///
/// What [`detect`] refuses, and bytes that contradict the kind that was asked for.
pub fn choose(declared: Option<Kind>, bytes: &[u8]) -> Result<Detection, DetectError> {
    let found = detect(bytes)?;
    let Some(declared) = declared.filter(|declared| *declared != found.kind) else {
        return Ok(found);
    };
    let has_line = bytes.starts_with(b"#!");
    let is_text = first_binary_byte(bytes).is_none();
    let against = match declared {
        _ if found.kind.is_wasm() || declared.is_wasm() => Some(format!("it is {}, {}", found.kind, found.reason)),
        Kind::Jsonargs if find(bytes, jsonargs::TOKEN).is_none() => {
            Some("it does not contain `<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>`".to_owned())
        }
        Kind::Binary if !has_line => Some(format!("it is text without a `#!` line ({})", found.kind)),
        Kind::Python | Kind::Powershell if !is_text => Some(found.reason),
        Kind::Jsonargs | Kind::WantJson | Kind::OldStyle if !is_text && !has_line => {
            Some(format!("{}, and there is no `#!` line", found.reason))
        }
        _ => None,
    };
    match against {
        Some(reason) => Err(DetectError::Contradiction { declared, reason }),
        None => Ok(Detection { kind: declared, reason: "it was asked for".to_owned() }),
    }
}

fn detect_wasm(bytes: &[u8]) -> Result<Option<Detection>, DetectError> {
    let binary = shebang::skip_line(bytes);
    let Some(rest) = binary.strip_prefix(WASM_MAGIC) else {
        return Ok(None);
    };
    let (kind, what) = match rest.get(..4) {
        Some([0x01, 0, 0, 0]) => (Kind::Core, "WebAssembly core module"),
        Some([0x0d, 0, 0x01, 0]) => (Kind::Component, "WebAssembly component"),
        _ => {
            let layer = rest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            return Err(DetectError::UnknownWasm(layer));
        }
    };
    let place = if binary.len() == bytes.len() { "" } else { " behind a `#!` line" };
    Ok(Some(Detection { kind, reason: format!("{what}{place}") }))
}

/// An ELF file with the ABI number that Wasmtime gives to its own (`ELFOSABI_WASMTIME`, wasmtime-environ 48). A
/// program that merely contains Wasmtime has its system's number.
fn is_precompiled(bytes: &[u8]) -> bool {
    let binary = shebang::skip_line(bytes);
    binary.starts_with(b"\x7fELF") && binary.get(7) == Some(&200)
}

/// Returns the first byte that `file` would not call text, among those that Ansible looks at.
fn first_binary_byte(bytes: &[u8]) -> Option<(usize, u8)> {
    let is_text = |byte: &u8| matches!(byte, 7..=10 | 12 | 13 | 27 | 0x20..=0x7e | 0x80..);
    let window = bytes.iter().take(TEXT_WINDOW).enumerate();
    window.map(|(at, byte)| (at, *byte)).find(|(_, byte)| !is_text(byte))
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// A marker can be as long as its line; a reason should not be.
fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
