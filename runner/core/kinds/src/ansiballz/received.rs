//! Reads a payload as ansible-core sends it: a Python program with a module, all its imports and its arguments in literals.
//!
//! The program is never run. Its syntax tree says where the literals are: up to ansible-core 2.18 they are assigned in the
//! function `_ansiballz_main`, since 2.19 they are arguments of its call. The text comes from outside, so its size, and what is
//! unpacked, have bounds. What this file does not know is an error: nothing is guessed.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use modbox_contract::args::{ArgsError, decode_file};
use modbox_contract::{Dict, GivenSecrets, Value};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, Int, Stmt, StmtAssign, StmtFunctionDef};

use crate::ansiballz::imports::{SourceError, parse};
use crate::ansiballz::loader::{NewerCore, unknown_keyword};
use crate::ansiballz::name::DottedName;
use crate::ansiballz::payload::{LOADER, Payload};
use crate::ansiballz::received_files::{FilesError, unpack};

/// Maximum length of a payload in bytes. The largest one of the `ansible` package has 4 MB.
pub const MAX_PAYLOAD: usize = 32 << 20;

/// Maximum number of secrets that come with arguments.
const MAX_SECRETS: usize = 10_000;

/// The name by which ansible-core marks its payloads.
const MARK: &str = "_ANSIBALLZ_WRAPPER";

/// The function of a payload.
const MAIN: &str = "_ansiballz_main";

/// The key of the arguments.
const ARGUMENTS: &str = "ANSIBLE_MODULE_ARGS";

/// How ansible-core 2.19 writes arguments of modules: as plain JSON, as all releases before.
const PROFILE: &str = "legacy";

/// A payload that was received.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedPayload {
    /// The module with its imports.
    pub payload: Payload,
    /// The arguments, with those that begin with `_ansible_`.
    pub args: Dict,
    /// Secrets that are in the arguments, as ansible-core 2.22 knows them. They are not in the payload, whose digest names
    /// folders.
    pub secrets: GivenSecrets,
    /// The soft limit of open files that ansible-core sets for the module; 0 if it sets none.
    pub open_files: u64,
}

/// Reason why a program cannot be read as a payload.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotReceived {
    /// Another program.
    #[error("it is not a module that ansible-core has packed")]
    Other,
    /// A payload that is too long.
    #[error("the packed module is longer than {MAX_PAYLOAD} bytes")]
    TooLong,
    /// Bytes that are not Python source.
    #[error("the packed module is not valid Python")]
    Source(#[source] SourceError),
    /// A literal that is missing, occurs twice or is another expression.
    #[error("the packed module has no literal `{0}`, or has more than one; ansible-core 2.14 to 2.22 are known")]
    Literal(&'static str),
    /// Arguments that are not JSON.
    #[error("the arguments in the packed module are not a JSON object")]
    Args(#[source] ArgsError),
    /// Something that only a newer release asks for.
    #[error(transparent)]
    Newer(#[from] NewerCore),
    /// Files that cannot be unpacked.
    #[error("failed to unpack the packed module")]
    Files(#[from] FilesError),
    /// A module that is not among its files.
    #[error("the packed module lacks its own file `{0}`")]
    NoModule(String),
}

/// The literals of a payload.
#[derive(Debug, Default)]
struct Literals {
    zip: Vec<String>,
    params: Vec<String>,
    module: Vec<String>,
    secrets: GivenSecrets,
    open_files: u64,
    unknown: Option<String>,
}

/// Says whether a program may be a payload: whether it has the mark of one.
#[must_use]
pub fn may_be_payload(program: &[u8]) -> bool {
    memchr::memmem::find(program, MARK.as_bytes()).is_some()
}

impl ReceivedPayload {
    /// Reads a payload. The parser is recursive: call this with a stack of some megabytes.
    ///
    /// # Errors
    ///
    /// The program is not a payload, or is one that is damaged, too large or of an unknown form.
    pub fn read(program: &[u8]) -> Result<Self, NotReceived> {
        if !may_be_payload(program) {
            return Err(NotReceived::Other);
        }
        if program.len() > MAX_PAYLOAD {
            return Err(NotReceived::TooLong);
        }
        let text = str::from_utf8(program).map_err(|error| {
            let line = program[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            NotReceived::Source(SourceError { line, reason: "it is not UTF-8".to_owned() })
        })?;
        let parsed = parse(text).map_err(NotReceived::Source)?;
        let literals = Literals::find(parsed.suite())?;
        if let Some(unknown) = literals.unknown {
            let args = literals.params.first().and_then(|params| arguments(params).ok());
            return Err(NewerCore::sent(args.as_ref(), unknown).into());
        }
        let [zip] = &literals.zip[..] else { return Err(NotReceived::Literal("zip_data")) };
        let [params] = &literals.params[..] else { return Err(NotReceived::Literal("params")) };
        let [module] = &literals.module[..] else { return Err(NotReceived::Literal("module_fqn")) };
        let args = arguments(params)?;
        let zip = BASE64.decode(zip).map_err(|_| FilesError::NotZip)?;
        let files = unpack(&zip)?;
        let module = DottedName::parse(module);
        if !files.contains_key(&module.file(false)) {
            return Err(NotReceived::NoModule(module.file(false)));
        }
        let loader = DottedName::parse(&format!("ansible.module_utils.{LOADER}"));
        let source = files.get(&loader.file(false));
        if let Some(unknown) = source.and_then(|source| unknown_keyword(source)) {
            return Err(NewerCore::sent(Some(&args), unknown).into());
        }
        let has_loader = source.is_some();
        let Literals { secrets, open_files, .. } = literals;
        Ok(Self { payload: Payload { module, has_loader, files }, args, secrets, open_files })
    }

    /// Returns the source of the module itself.
    #[must_use]
    pub fn source(&self) -> Arc<[u8]> {
        self.payload.files.get(&self.payload.module.file(false)).cloned().unwrap_or_default()
    }
}

/// Reads the arguments: an object with one key, whose value is an object.
fn arguments(params: &str) -> Result<Dict, NotReceived> {
    let mut all = decode_file(params.as_bytes()).map_err(NotReceived::Args)?;
    match (all.shift_remove(ARGUMENTS), all.len()) {
        (Some(Value::Dict(args)), 0) => Ok(args),
        _ => Err(NotReceived::Literal(ARGUMENTS)),
    }
}

impl Literals {
    fn find(body: &[Stmt]) -> Result<Self, NotReceived> {
        let is_mark = |stmt: &Stmt| matches!(stmt, Stmt::Assign(assign) if target(assign) == Some(MARK));
        let is_main = |stmt: &&Stmt| matches!(stmt, Stmt::FunctionDef(function) if function.name.as_str() == MAIN);
        let mut mains = body.iter().filter(is_main);
        let (true, Some(Stmt::FunctionDef(main)), None) = (body.iter().any(is_mark), mains.next(), mains.next()) else {
            return Err(NotReceived::Other);
        };
        let mut calls = Calls::default();
        body.iter().filter(|stmt| !is_main(stmt)).for_each(|stmt| calls.visit_stmt(stmt));
        match &calls.found[..] {
            [call] if !call.arguments.keywords.is_empty() => Ok(Self::of_call(call)),
            [_] => Ok(Self::of_function(main)),
            _ => Err(NotReceived::Literal(MAIN)),
        }
    }

    /// Finds the literals of ansible-core since 2.19.
    fn of_call(call: &ExprCall) -> Self {
        let mut literals = Self::default();
        for keyword in &call.arguments.keywords {
            let Some(name) = &keyword.arg else {
                literals.unknown = Some("**".to_owned());
                continue;
            };
            match (name.as_str(), &keyword.value) {
                ("zip_data", value) => literals.zip.extend(text(value)),
                ("params", value) => literals.params.extend(text(value)),
                ("module_fqn", value) => literals.module.extend(text(value)),
                ("profile", value) if text(value).as_deref() == Some(PROFILE) => {}
                ("extensions", Expr::Dict(dict)) if dict.items.is_empty() => {}
                ("rlimit_nofile", value) => literals.open_files = number(value),
                ("ansible_module" | "date_time", _) => {}
                ("secrets", value) => match secret_texts(value) {
                    Some(secrets) => literals.secrets = secrets,
                    None => literals.unknown = Some("secrets".to_owned()),
                },
                (other, _) => literals.unknown = Some(other.to_owned()),
            }
        }
        literals
    }

    /// Finds the literals of releases before 2.19.
    fn of_function(main: &StmtFunctionDef) -> Self {
        let mut finder = Assignments::default();
        main.body.iter().for_each(|stmt| finder.visit_stmt(stmt));
        let Assignments { mut literals, mut modules } = finder;
        // The module's name is also that of the debugger's call.
        modules.dedup();
        literals.module = modules;
        literals
    }
}

/// Calls of the payload's function.
#[derive(Default)]
struct Calls<'a> {
    found: Vec<&'a ExprCall>,
}

impl<'a> Visitor<'a> for Calls<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && is_name(&call.func, MAIN)
        {
            self.found.push(call);
        }
        walk_expr(self, expr);
    }
}

/// Literals that a function assigns, and modules that it runs.
#[derive(Default)]
struct Assignments {
    literals: Literals,
    modules: Vec<String>,
}

impl<'a> Visitor<'a> for Assignments {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::Assign(assign) = stmt {
            match target(assign) {
                Some("ZIPDATA") => self.literals.zip.extend(text(&assign.value)),
                Some("ANSIBALLZ_PARAMS") => self.literals.params.extend(text(&assign.value)),
                // `requested_soft = min(existing_hard, 64)`
                Some("requested_soft") => {
                    if let Expr::Call(call) = &*assign.value {
                        self.literals.open_files = call.arguments.args.last().map_or(0, number);
                    }
                }
                _ => {}
            }
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            let name = call.arguments.keywords.iter().find(|keyword| keyword.arg.as_deref() == Some("mod_name"));
            self.modules.extend(name.and_then(|name| text(&name.value)));
        }
        walk_expr(self, expr);
    }
}

/// Returns the one name that a statement assigns to.
fn target(assign: &StmtAssign) -> Option<&str> {
    match &assign.targets[..] {
        [Expr::Name(name)] => Some(name.id.as_str()),
        _ => None,
    }
}

fn is_name(expr: &Expr, wanted: &str) -> bool {
    matches!(expr, Expr::Name(name) if name.id.as_str() == wanted)
}

/// Reads the secrets of ansible-core 2.22, which writes them in one of two forms: `frozenset()` and `frozenset({'...', ...})`.
fn secret_texts(expr: &Expr) -> Option<GivenSecrets> {
    let Expr::Call(call) = expr else { return None };
    if !is_name(&call.func, "frozenset") || !call.arguments.keywords.is_empty() {
        return None;
    }
    match &*call.arguments.args {
        [] => Some(GivenSecrets::default()),
        [Expr::Set(set)] if set.elts.len() <= MAX_SECRETS => set.elts.iter().map(text).collect(),
        _ => None,
    }
}

/// Returns the value of a whole number. Python leaves the limit as it is for a negative one, which is an expression.
fn number(expr: &Expr) -> u64 {
    let Expr::NumberLiteral(literal) = expr else { return 0 };
    literal.value.as_int().and_then(Int::as_u64).unwrap_or(0)
}

fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::StringLiteral(literal) => Some(literal.value.to_str().to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use modbox_contract::{Value, repr};

    use super::*;
    use crate::ansiballz::wrapper::zip_text;

    const PARAMS: &str = r#"{"ANSIBLE_MODULE_ARGS": {"data": "it's \"é\"", "_ansible_check_mode": false}}"#;

    fn payload() -> Payload {
        let files = [("ansible/modules/ping.py", "print('pong')\n"), ("ansible/module_utils/basic.py", "")];
        let files = files.map(|(path, source)| (path.to_owned(), source.as_bytes().into())).into();
        Payload { module: DottedName::parse("ansible.modules.ping"), has_loader: false, files }
    }

    /// A program as ansible-core 2.19 writes it, with keywords in place of its own.
    fn call(keywords: &[(&str, &str)]) -> String {
        let literal = |text: &str| repr(&Value::from(text));
        let zip = zip_text(&payload()).unwrap();
        let mut all = vec![
            ("ansible_module", literal("ping")),
            ("module_fqn", literal("ansible.modules.ping")),
            ("profile", literal("legacy")),
            ("rlimit_nofile", "64".to_owned()),
            ("params", literal(PARAMS)),
            ("extensions", "{}".to_owned()),
            ("zip_data", literal(&zip)),
        ];
        all.retain(|(name, _)| keywords.iter().all(|(other, _)| other != name));
        all.extend(keywords.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let all: String = all.iter().map(|(name, value)| format!("{name}={value},\n")).collect();
        format!(
            "_ANSIBALLZ_WRAPPER = True\ndef _ansiballz_main(zip_data: str) -> None:\n    pass\n\
             if __name__ == \"__main__\":\n    _ansiballz_main(\n{all})\n"
        )
    }

    /// A program as earlier releases write it.
    fn function(more: &str) -> String {
        let (zip, params) = (zip_text(&payload()).unwrap(), repr(&Value::from(PARAMS)));
        format!(
            "#!/usr/bin/python3\n_ANSIBALLZ_WRAPPER = True # words\ndef _ansiballz_main():\n    ZIPDATA = '{zip}'\n    \
             def invoke_module(path):\n        runpy.run_module(mod_name='ansible.modules.ping', run_name='__main__')\n    \
             ANSIBALLZ_PARAMS = {params}\n    if PY3:\n        ANSIBALLZ_PARAMS = ANSIBALLZ_PARAMS.encode('utf-8')\n{more}\
             if __name__ == '__main__':\n    _ansiballz_main()\n"
        )
    }

    fn refused(program: &str) -> String {
        modbox_vocabulary::error_chain(&ReceivedPayload::read(program.as_bytes()).unwrap_err())
    }

    #[test]
    fn both_forms_are_read() {
        let limit = "    existing_hard = 1\n    requested_soft = min(existing_hard, 64)\n";
        for program in [call(&[]), function(limit)] {
            let received = ReceivedPayload::read(program.as_bytes()).unwrap();
            assert_eq!(received.open_files, 64);
            assert_eq!(received.payload, payload());
            assert_eq!(received.args.get("data"), Some(&Value::from("it's \"é\"")));
            assert_eq!(&received.source()[..], b"print('pong')\n");
            assert!(received.secrets.is_empty());
        }
    }

    #[test]
    fn limits_of_open_files_that_set_none_are_read() {
        for program in [call(&[("rlimit_nofile", "0")]), call(&[("rlimit_nofile", "-1")]), function("")] {
            assert_eq!(ReceivedPayload::read(program.as_bytes()).unwrap().open_files, 0);
        }
    }

    #[test]
    fn secrets_are_read_in_the_two_forms_of_ansible() {
        let read = |text: &str| {
            let received = ReceivedPayload::read(call(&[("secrets", text)]).as_bytes()).unwrap();
            assert_eq!(received.payload, payload(), "secrets are not in the payload");
            received.secrets.iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(read("frozenset()"), [""; 0]);
        assert_eq!(read("frozenset({'a', \"b'\", '\\u00e9\\n'})"), ["a", "b'", "\u{e9}\n"]);
        let many = |count| format!("frozenset({{{}}})", (0..count).map(|n| format!("'{n}',")).collect::<String>());
        assert_eq!(read(&many(MAX_SECRETS)).len(), MAX_SECRETS);
        for other in [
            &many(MAX_SECRETS + 1),
            "{'a'}",
            "set()",
            "frozenset(['a'])",
            "frozenset({'a', 1})",
            "frozenset({'a', b'b'})",
            "frozenset({f'{1}'})",
            "frozenset({*x})",
            "frozenset({'a'}, {'b'})",
            "frozenset(x={'a'})",
            "frozenset(open('/etc/passwd'))",
            "x.frozenset({'a'})",
            "None",
        ] {
            let error = refused(&call(&[("secrets", other)]));
            assert!(error.contains("asks for `secrets`") && !error.contains("'a'"), "{other}: {error}");
        }
    }

    #[test]
    fn what_only_a_newer_release_asks_for_is_named() {
        let params = r#"'{"ANSIBLE_MODULE_ARGS": {"_ansible_version": "2.23.0"}}'"#;
        assert_eq!(
            refused(&call(&[("params", params), ("new", "1")])),
            "the module was packed by ansible-core 2.23.0 and asks for `new`, which this modbox does not know (it knows 2.14 to \
             2.22); update modbox, or set `ansible_python_interpreter` to a Python for this task"
        );
        let loader =
            "def run_module(*, json_params, profile, module_fqn, modlib_path, extensions, vaults, x=1):\n    pass\n";
        let mut newer = payload();
        newer.files.insert("ansible/module_utils/_internal/_ansiballz/_loader.py".to_owned(), loader.as_bytes().into());
        let zip = repr(&Value::from(zip_text(&newer).unwrap()));
        assert!(refused(&call(&[("params", params), ("zip_data", &zip)])).contains("asks for `vaults`"));
    }

    #[test]
    fn other_programs_are_told_from_damaged_ones() {
        for other in ["", "print(1)", "# _ANSIBALLZ_WRAPPER", "def _ansiballz_main(): pass"] {
            assert_eq!(ReceivedPayload::read(other.as_bytes()), Err(NotReceived::Other), "{other}");
        }
        for (program, expect) in [
            (call(&[("zip_data", "'UEs'")]), "not a valid zip"),
            (call(&[("zip_data", "open('/etc/passwd').read()")]), "no literal `zip_data`"),
            (call(&[("params", "f'{1}'")]), "no literal `params`"),
            (call(&[("params", "'[]'")]), "not a JSON object"),
            (call(&[("params", "'{\"ANSIBLE_MODULE_ARGS\": 1}'")]), "no literal `ANSIBLE_MODULE_ARGS`"),
            (call(&[("module_fqn", "'ansible.modules.other'")]), "lacks its own file `ansible/modules/other.py`"),
            (call(&[("profile", "'tagless'")]), "asks for `profile`"),
            (call(&[("extensions", "{'coverage': {}}")]), "asks for `extensions`"),
            (call(&[("new", "1")]), "asks for `new`"),
            (call(&[]).replace("extensions={}", "**{}"), "asks for `**`"),
            (function("    ZIPDATA = 'x'\n"), "more than one"),
            (function("    runpy.run_module(mod_name='os')\n"), "more than one"),
            (call(&[]) + "_ansiballz_main()\n", "no literal `_ansiballz_main`"),
            (call(&[]) + "(", "not valid Python"),
        ] {
            assert!(refused(&program).contains(expect), "{expect}: {}", refused(&program));
        }
    }

    #[test]
    fn damaged_programs_are_errors() {
        let programs = [call(&[]), function("")];
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % bound as u64).unwrap()
        };
        let mut read = 0;
        for number in 0..100_000 {
            let mut bytes = programs[number % 2].clone().into_bytes();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                match random(3) {
                    0 => bytes[at] = u8::try_from(random(256)).unwrap(),
                    1 => bytes.truncate(at.max(1)),
                    _ => drop(bytes.drain(at..(at + random(40)).min(bytes.len()))),
                }
                if bytes.is_empty() {
                    bytes.push(b'x');
                }
            }
            read += usize::from(ReceivedPayload::read(&bytes).is_ok());
        }
        // Some damage is in what does not count, such as names.
        assert!((1..50_000).contains(&read), "{read}");
    }
}
