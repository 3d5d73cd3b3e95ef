//! Python modules that run in an interpreter of the sandbox for WebAssembly, which the user has installed with
//! `modbox python install`.
//!
//! ```text
//! payload ──> suitability ──> code, compiled once by the interpreter itself ──> start file ──> guest
//! ```
//!
//! Nothing here starts anything. What was found out about a payload is kept in the cache of Python modules.

mod host_facts;
mod proven;
mod suitability;

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use modbox_cleanup::Cleanup;
use modbox_contract::Dict;
use modbox_contract::args::encode_file;
use modbox_kinds::{CoreArgs, GUEST_CODE_PATH};
use modbox_python_json::{Value, decode};
use modbox_vocabulary::{InputFile, User};
use sha2::{Digest, Sha256};

pub(crate) use self::host_facts::host_facts;
use self::suitability::{Suitability, module_name};
use crate::python::assembly::Assembly;
use crate::python::cache::{CODE, Cache, NEEDED, SUITABILITY};
use crate::python::config::PythonConfig;
use crate::python::error::PythonError;
use crate::python::interpreters::InstalledInterpreter;

/// What the line of standard error begins with that names a function which the sandbox does not have.
const NEEDS: &str = "modbox-python: needs ";

/// What the line begins with that says why a command failed.
const FAILED: &str = "modbox-python: failed: ";

/// Longest text in such a line.
const MAX_TEXT: usize = 300;

/// What the interpreter says about a run, in the last line of standard error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SandboxLine {
    /// The name of a function that the module called and the sandbox does not have.
    Needs(String),
    /// Why a command that the module ran failed.
    Failed(String),
}

/// Version of the rules by which it is decided whether a module suits an interpreter. Another one makes old decisions void.
const RULES: &str = "5";

/// Why a module does not suit of which nothing is known.
const UNPROVEN: &str = "is not proven to do the same in the sandbox; `--python wasm` runs it there";

/// Bytes of a digest.
const DIGEST: usize = 32;

/// Characters of an interpreter's key in the keys of the cache.
const SHORT_KEY: usize = 16;

/// A module that an interpreter of the sandbox can run.
pub(crate) struct GuestModule {
    /// Name that the module runs under.
    name: String,
    /// Path of the module in tracebacks.
    shown: String,
    /// What its ansible-core knows of internal arguments.
    pub(crate) core_args: CoreArgs,
    /// Key of the code in the cache.
    code_key: String,
    /// The code, if it is in the cache.
    pub(crate) code: Option<Arc<[u8]>>,
    /// Sources of the module, and of imports that the interpreter does not have, by their paths in the payload.
    sources: Vec<(String, Arc<[u8]>)>,
}

/// Whether a module can run in an interpreter of the sandbox.
pub(crate) enum Verdict {
    /// It can.
    Suits(Box<GuestModule>),
    /// It cannot, for this reason, in words that follow `the module`.
    Lacks(String),
}

/// The caller's side of a verdict.
pub(crate) struct GuestChoice<'a> {
    pub(crate) interpreter: &'a InstalledInterpreter,
    pub(crate) arguments: &'a Dict,
    /// Whether only what is known to do the same suits: a proven module that cannot need commands without a grant of any,
    /// and has not needed more than the sandbox has before.
    pub(crate) is_careful: bool,
    pub(crate) may_run_commands: bool,
    /// Whether rules are for commands outside. Natively, what none of them covers runs in the module's sandbox.
    pub(crate) has_rules_outside: bool,
    /// Whether commands see the module's temporary files. Finding out takes time.
    pub(crate) shares_temporary: &'a dyn Fn() -> bool,
    /// Whether a server may have any certificate.
    pub(crate) may_be_unverified: bool,
    /// SHA-256 of the module with all its parts.
    pub(crate) digest: &'a str,
    /// Path of the module in tracebacks.
    pub(crate) shown: String,
}

/// Judges whether a module can run in an interpreter of the sandbox. `folders` are those in which native Python looks for
/// modules.
pub(in crate::python) fn judge(
    cache: Option<&Cache>,
    (mut assembly, folders): (Assembly<'_>, &[PathBuf]),
    choice: &GuestChoice<'_>,
) -> Result<Verdict, PythonError> {
    let short = choice.interpreter.key.get(..SHORT_KEY).unwrap_or(&choice.interpreter.key);
    let key = key_of(&[RULES, &assembly.digest()?, short]);
    let suitability = match cache.and_then(|cache| cache.get::<Suitability>(SUITABILITY, &key)) {
        Some(known) => known,
        None => {
            let Some(contents) = choice.interpreter.contents() else {
                return Ok(Verdict::Lacks(
                    "needs an interpreter, and what the installed one has cannot be read".to_owned(),
                ));
            };
            let found = Suitability::of(assembly.payload()?, &contents)?;
            cache.iter().for_each(|cache| cache.put(SUITABILITY, &key, &found));
            found
        }
    };
    if let Some(reason) = suitability.obstacle {
        return Ok(Verdict::Lacks(reason));
    }
    if choice.is_careful {
        tracing::debug!(module = %assembly.module(), identity = suitability.identity, "looking for proof");
        if !proven::is_proven(&suitability.identity) {
            return Ok(Verdict::Lacks(UNPROVEN.to_owned()));
        }
        if let Some(reason) = suitability.doubt(folders) {
            return Ok(Verdict::Lacks(reason));
        }
        if let Some(reason) = suitability.requests_with(choice.arguments, choice.may_be_unverified) {
            return Ok(Verdict::Lacks(reason));
        }
        if let Some(function) = suitability.commands_with(choice.arguments) {
            if !choice.may_run_commands {
                let reason = match choice.has_rules_outside {
                    true => format!(
                        "may run commands, by {function}, and those that no rule covers run in native sandboxes alone"
                    ),
                    false => format!("may run commands, by {function}, and the policy allows none"),
                };
                return Ok(Verdict::Lacks(reason));
            }
            if suitability.makes_temporary && !(choice.shares_temporary)() {
                let reason = format!("may give commands, by {function}, temporary files, which they do not see");
                return Ok(Verdict::Lacks(reason));
            }
        }
        if let Some(needed) = cache.and_then(|cache| needed_before(cache, choice.digest, short)) {
            return Ok(Verdict::Lacks(format!("needed `{needed}` before, which the sandbox does not have")));
        }
    }
    // The code has the path of the module in it.
    let code_key = key_of(&[&key, &choice.shown]);
    let code: Option<Arc<[u8]>> = cache.and_then(|cache| unsealed(&cache.read(CODE, &code_key)?));
    let mut sources = Vec::new();
    if code.is_none() {
        let files = &assembly.payload()?.files;
        let handed = suitability.handed.iter();
        sources.extend(handed.filter_map(|path| Some((path.clone(), Arc::clone(files.get(path)?)))));
    }
    let (name, shown) = (assembly.module().to_string(), choice.shown.clone());
    let core_args = assembly.core_args()?;
    Ok(Verdict::Suits(Box::new(GuestModule { name, shown, core_args, code_key, code, sources })))
}

pub(in crate::python) fn keep_code(cache: &Cache, module: &GuestModule, code: &[u8]) {
    cache.write(CODE, &module.code_key, &[&Sha256::digest(code)[..], code].concat());
}

/// Returns the code of an entry of the cache, or `None` if the entry is damaged: a module with such code would fail each
/// time.
fn unsealed(entry: &[u8]) -> Option<Arc<[u8]>> {
    let (digest, code) = entry.split_at_checked(DIGEST)?;
    (Sha256::digest(code)[..] == *digest).then(|| code.into())
}

impl GuestModule {
    /// Returns the start file of a run. `user` is the user whose run it is, if that is another one than the user of this process.
    pub(crate) fn start_file(&self, directory: Option<String>, user: Option<&User>) -> Vec<u8> {
        let mut start = Dict::from_iter([
            ("module".to_owned(), Value::from(self.name.as_str())),
            ("code".to_owned(), GUEST_CODE_PATH.into()),
            ("host".to_owned(), Value::Dict(host_facts(user))),
            ("executable".to_owned(), "python3".into()),
        ]);
        start.extend(directory.map(|directory| ("directory".to_owned(), Value::from(directory))));
        encode_file(&start)
    }

    /// Returns the files of a run that compiles the module and all that it was handed: empty arguments, the start file, and
    /// the sources.
    pub(crate) fn pack_files(&self) -> Vec<InputFile> {
        let file = |name: &str, contents: Arc<[u8]>| InputFile { name: name.to_owned(), contents, mode: 0o444 };
        let own = |path: &str| self.name == module_name(path);
        let (mut files, mut listed) = (vec![file("args.json", b"{}".as_slice().into())], Vec::new());
        for (number, (path, source)) in self.sources.iter().enumerate() {
            let at = format!("{number}.py");
            // Tracebacks name the module's own file, and other files by their place in the payload.
            let shown = if own(path) { self.shown.clone() } else { path.clone() };
            let entry: [(&str, Value); 4] = [
                ("name", module_name(path).into()),
                ("source", format!("/args/{at}").into()),
                ("shown", shown.into()),
                ("package", path.ends_with("/__init__.py").into()),
            ];
            listed.push(Value::Dict(entry.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()));
            files.push(file(&at, Arc::clone(source)));
        }
        let start = [("pack", Value::from(true)), ("sources", listed.into()), ("host", Value::Dict(host_facts(None)))];
        let start = Dict::from_iter(start.map(|(key, value)| (key.to_owned(), value)));
        files.push(file("start.json", encode_file(&start).into()));
        files
    }
}

/// Reads the code that a run of [`GuestModule::pack_files`] has printed; `None` if it has printed none.
pub(crate) fn read_code(stdout: &[u8]) -> Option<Vec<u8>> {
    let answer = decode(str::from_utf8(stdout).ok()?).ok()?;
    BASE64.decode(answer.as_dict()?.get("code")?.as_str()?).ok()
}

/// Takes the last line from standard error if the interpreter wrote it.
pub(crate) fn take_sandbox_line(stderr: &mut Vec<u8>) -> Option<SandboxLine> {
    let end = stderr.strip_suffix(b"\n")?.len();
    let begin = stderr[..end].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = str::from_utf8(&stderr[begin..end]).ok().filter(|line| !line.contains(char::is_control))?;
    let text = |prefix: &str| line.strip_prefix(prefix).filter(|text| !text.is_empty() && text.len() <= MAX_TEXT);
    let failed = || text(FAILED).map(|reason| SandboxLine::Failed(reason.to_owned()));
    let found = text(NEEDS).map(|name| SandboxLine::Needs(name.to_owned())).or_else(failed)?;
    stderr.truncate(begin);
    Some(found)
}

/// Remembers a function that a module needed and an interpreter does not have, so that the module runs natively next time.
/// `digest` is that of the module.
pub(crate) fn remember_need(
    config: &PythonConfig,
    (digest, interpreter): (&str, &InstalledInterpreter),
    need: &str,
    cleanup: &Cleanup,
) {
    let short = interpreter.key.get(..SHORT_KEY).unwrap_or(&interpreter.key);
    let cache = config.cache.as_deref().and_then(|dir| Cache::open(dir, cleanup));
    cache.iter().for_each(|cache| cache.write(NEEDED, &key_of(&[digest, short]), need.as_bytes()));
}

fn needed_before(cache: &Cache, digest: &str, interpreter: &str) -> Option<String> {
    String::from_utf8(cache.read(NEEDED, &key_of(&[digest, interpreter]))?).ok()
}

/// Returns the key of an entry of the cache that depends on these.
fn key_of(parts: &[&str]) -> String {
    Sha256::digest(parts.join("\0")).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_interpreter_says_is_taken_from_the_last_line() {
        let needs = |name: &str| Some(SandboxLine::Needs(name.to_owned()));
        let failed = |reason: &str| Some(SandboxLine::Failed(reason.to_owned()));
        for (stderr, said, rest) in [
            ("modbox-python: needs os.fork\n", needs("os.fork"), ""),
            ("a\nmodbox-python: needs os.fork\n", needs("os.fork"), "a\n"),
            ("a\nmodbox-python: failed: too long\n", failed("too long"), "a\n"),
            ("modbox-python: needs os.fork\na\n", None, "modbox-python: needs os.fork\na\n"),
            ("modbox-python: needs \n", None, "modbox-python: needs \n"),
            ("modbox-python: needs a\u{1b}b\n", None, "modbox-python: needs a\u{1b}b\n"),
            ("modbox-python: needs os.fork", None, "modbox-python: needs os.fork"),
            ("", None, ""),
        ] {
            let mut bytes = stderr.as_bytes().to_vec();
            assert_eq!(take_sandbox_line(&mut bytes), said, "{stderr:?}");
            assert_eq!(String::from_utf8(bytes).unwrap(), rest);
        }
    }

    #[test]
    fn damaged_code_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path(), &Cleanup::default()).unwrap();
        let text = |text: &str| text.to_owned();
        let (name, shown, code_key) = (text("m"), text("/m.py"), text("key"));
        let module =
            GuestModule { name, shown, core_args: CoreArgs::default(), code_key, code: None, sources: Vec::new() };
        keep_code(&cache, &module, b"code");
        let kept = cache.read(CODE, "key").unwrap();
        assert_eq!(unsealed(&kept).as_deref(), Some(&b"code"[..]));
        for at in 0..kept.len() {
            let mut damaged = kept.clone();
            damaged[at] ^= 1;
            assert!(unsealed(&damaged).is_none() && unsealed(&kept[..at]).is_none());
        }
    }

    #[test]
    fn code_is_read_from_an_answer() {
        assert_eq!(read_code(br#"{"code": "YWI="}"#), Some(b"ab".to_vec()));
        for wrong in [&b"{}"[..], b"", b"\xff", br#"{"code": 1}"#, br#"{"code": "!"}"#] {
            assert_eq!(read_code(wrong), None);
        }
    }
}
