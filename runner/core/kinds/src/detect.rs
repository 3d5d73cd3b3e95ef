//! Detects a module's kind from its bytes, and states the reason.
//!
//! Wasm is recognised first, also after a `#!` line. Then the rules of ansible-core 2.19 (`_find_module_utils`) apply,
//! in its order; the first match wins. They examine only the bytes, not the file name or the permissions. The patterns
//! are not anchored, so a marker in a comment counts as well. Ansible does the same; `--kind` overrides it.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use regex::bytes::Regex;
use thiserror::Error;

use crate::kind::{Kind, ProviderForm};
use crate::{jsonargs, shebang};

/// A kind, and the reason for choosing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    /// How the module is run.
    pub kind: Kind,
    /// A clause for people: the marker and its line.
    pub reason: String,
}

/// The reason why bytes cannot be run as a module, or not as the requested kind.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DetectError {
    /// The output of Wasmtime's compiler. Running it would mean to run native code without any check.
    #[error("this is compiled code of Wasmtime (.cwasm); use the .wasm file that it was made from")]
    Precompiled,
    /// The magic number of wasm, followed by an unknown version or layer.
    #[error("unknown WebAssembly version or layer `{0}`; expected one of 01000000, 0d000100")]
    UnknownWasm(String),
    /// Bytes that contradict the requested kind.
    #[error("the module cannot be run as {declared}: {reason}")]
    Contradiction {
        /// The requested kind.
        declared: Kind,
        /// The contradiction.
        reason: String,
    },
}

/// The extension of providers. Their bytes do not tell them from other scripts.
const PROVIDER_EXTENSION: &str = "prov";

const WASM_MAGIC: &[u8] = b"\0asm";

/// Number of bytes that Ansible examines to tell text from binary.
const TEXT_WINDOW: usize = 1024;

/// A pattern that a rule searches for in the whole file.
enum Pattern {
    /// This text.
    Text(&'static str),
    /// One of these texts, ignoring case. Each begins with `#`.
    AnyCase(&'static [&'static str]),
    /// An import of `module_utils`.
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

/// A word in every such import. The search for it avoids compiling the regular expression, which takes longer than
/// reading most modules.
const MODULE_UTILS: &str = "module_utils";

// Bytes mode: `.` matches any byte but a newline, as in Python.
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

/// Detects the kind of some bytes.
///
/// # Errors
///
/// Bytes that are not a module: code that Wasmtime compiled, and wasm of an unknown version or layer.
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

/// Returns the kind that a file name stands for: a name that ends with `.prov` is that of a provider.
#[must_use]
pub fn kind_of_name(path: &Path) -> Option<Kind> {
    let is_provider = path.extension().is_some_and(|extension| extension == PROVIDER_EXTENSION);
    is_provider.then_some(Kind::Provider(ProviderForm::Native))
}

/// Detects the kind of a file, by its name if that stands for a kind, else by its bytes.
///
/// # Errors
///
/// Those of [`choose`].
pub fn detect_file(path: &Path, bytes: &[u8]) -> Result<Detection, DetectError> {
    let Some(named) = kind_of_name(path) else { return detect(bytes) };
    let found = choose(Some(named), bytes)?;
    Ok(Detection { reason: format!("the name ends with `.{PROVIDER_EXTENSION}`"), ..found })
}

/// Detects the kind of some bytes, or returns the requested one if the bytes allow it.
///
/// The kind decides how a module gets its arguments, so a script may be run as a kind whose marker it does not have.
/// Only impossible combinations are refused:
///
/// - Wasm runs only as its own kind, and nothing else runs as wasm.
/// - A script needs the token when its arguments are inserted into its text.
/// - A kind that is started with the interpreter of the `#!` line needs that line when the bytes are not text.
/// - The kernel can start only binaries and files with a `#!` line. A provider that is wasm runs in the engine.
///
/// # Errors
///
/// Those of [`detect`], and bytes that contradict the requested kind.
pub fn choose(declared: Option<Kind>, bytes: &[u8]) -> Result<Detection, DetectError> {
    let found = detect(bytes)?;
    let Some(declared) = declared.filter(|declared| *declared != found.kind) else {
        return Ok(found);
    };
    if declared.is_provider() && found.kind.is_wasm() {
        return Ok(Detection { kind: found.kind.as_provider(), reason: found.reason });
    }
    let has_line = bytes.starts_with(b"#!");
    let is_text = first_binary_byte(bytes).is_none();
    let against = match declared {
        _ if found.kind.is_wasm() || declared.is_wasm() => Some(format!("it is {}, {}", found.kind, found.reason)),
        Kind::Jsonargs if find(bytes, jsonargs::TOKEN).is_none() => {
            Some("it does not contain `<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>`".to_owned())
        }
        Kind::Provider(_) if !has_line && is_text => {
            Some("it is text without a `#!` line, which names the program that runs it".to_owned())
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

/// Returns whether the bytes are an ELF file with Wasmtime's ABI number (`ELFOSABI_WASMTIME`, wasmtime-environ 48). A
/// program that merely contains Wasmtime has the number of its system.
fn is_precompiled(bytes: &[u8]) -> bool {
    let binary = shebang::skip_line(bytes);
    binary.starts_with(b"\x7fELF") && binary.get(7) == Some(&200)
}

/// Returns the first byte that `file` would not count as text, among the bytes that Ansible examines.
fn first_binary_byte(bytes: &[u8]) -> Option<(usize, u8)> {
    let is_text = |byte: &u8| matches!(byte, 7..=10 | 12 | 13 | 27 | 0x20..=0x7e | 0x80..);
    let window = bytes.iter().take(TEXT_WINDOW).enumerate();
    window.map(|(at, byte)| (at, *byte)).find(|(_, byte)| !is_text(byte))
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Shortens a marker, which can be as long as its line, so that the reason stays short.
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
