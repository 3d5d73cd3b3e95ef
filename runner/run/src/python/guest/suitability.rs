//! Whether an interpreter of the sandbox can run a module: decided from the module's text and all its imports, before it
//! starts. A module has effects, so a run is not repeated elsewhere.
//!
//! What `basic` needs does not count, because every module has it, and the interpreter could import it.
//!
//! An obstacle is certain: the module cannot start. A doubt is something that a run may need.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::path::PathBuf;

use modbox_argument_spec::{ArgumentSpec, OptionType, bool_of};
use modbox_contract::{Dict, Value};
use modbox_kinds::ansiballz::{CommandUse, Payload, needs, part};
use serde::{Deserialize, Serialize};

use crate::python::call::read_spec_with;
use crate::python::contents::{Held, InterpreterContents};
use crate::python::error::PythonError;
use crate::python::guest::proven::{self, GENERATED};
use crate::python::parser_stack::with_parser_stack;

/// The utility with the class of every module.
const BASIC: &str = "ansible/module_utils/basic.py";

/// The utility that starts the module again with another interpreter.
const RESPAWN: &str = "ansible/module_utils/common/respawn.py";

/// The utility by which a module embeds files, which it then reads from its payload.
const EMBED: &str = "ansible/module_utils/embed.py";

/// The utility with which modules make requests by HTTP.
const URLS: &str = "ansible/module_utils/urls.py";

/// Modules and names that it needs for [`URL_OPTIONS`] only, and `getpeercert`, of a variable named `socket`.
const OF_URL_OPTIONS: [&str; 5] = ["cryptography", "gssapi", "urllib_gssapi", "socket.AF_UNIX", "socket.getpeercert"];

/// Options of modules with requests by HTTP which need what connections in the sandbox do not have (ansible-core 2.19,
/// `url_argument_spec` and `uri`).
const URL_OPTIONS: [&str; 5] = ["ciphers", "client_cert", "client_key", "unix_socket", "use_gssapi"];

/// The option of such modules that turns the check of certificates off.
const VALIDATE: &str = "validate_certs";

/// Options of every module that changes files which need commands or libraries of the machine (ansible-core 2.19,
/// `FILE_COMMON_ARGUMENTS`).
const FILE_OPTIONS: [&str; 6] = ["attributes", "attr", "selevel", "serole", "setype", "seuser"];

/// Whether a module can run in an interpreter of the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Suitability {
    /// Which module it is, by all sources that run.
    pub(super) identity: String,
    /// Why it cannot, in words that follow `the module`.
    pub(super) obstacle: Option<String>,
    /// Why it perhaps cannot, in such words.
    doubt: Option<String>,
    /// Modules that the interpreter does not have and whose import is optional, with the file that imports them, in words.
    optional: Vec<(String, String)>,
    /// Uses of commands.
    commands: Vec<PossibleCommand>,
    /// Whether it makes temporary files, which commands see only where they share the module's `/tmp`.
    pub(super) makes_temporary: bool,
    /// Whether it makes requests by HTTP.
    #[serde(default)]
    requests: bool,
    /// Paths in the payload of the files that the interpreter does not have.
    pub(super) handed: Vec<String>,
}

/// A use of commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PossibleCommand {
    function: String,
    /// Options that are all true when it is reached.
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Condition {
    /// The option's name and aliases.
    names: Vec<String>,
    is_bool: bool,
    default: bool,
}

impl Condition {
    fn holds(&self, args: &Dict) -> bool {
        let given = self.names.iter().find_map(|name| args.get(name)).filter(|value| **value != Value::Null);
        let truth = |value: &Value| match self.is_bool {
            true => bool_of(value).unwrap_or(true),
            false => value.is_truthy(),
        };
        given.map_or(self.default, truth)
    }
}

impl Suitability {
    /// Compares what a module and its imports need with what an interpreter has.
    ///
    /// # Errors
    ///
    /// A source cannot be parsed, or the thread that parses does not start.
    pub(super) fn of(payload: &Payload, contents: &InterpreterContents) -> Result<Self, PythonError> {
        with_parser_stack(|| Self::examine(payload, contents)).map_err(PythonError::Thread)
    }

    fn examine(payload: &Payload, contents: &InterpreterContents) -> Self {
        let of_basic = part(payload, "basic").unwrap_or_default();
        let own = payload.module.file(false);
        let mut found = Self { identity: proven::identity(payload), ..Self::default() };
        if payload.files.contains_key(EMBED) {
            found.add_obstacle("embeds files, which the sandbox does not have".to_owned());
            return found;
        }
        for (path, source) in &payload.files {
            if GENERATED.contains(&path.as_str()) || source.is_empty() {
                continue;
            }
            let held = contents.held(path, source);
            match held {
                Held::Same => {}
                Held::Missing => found.handed.push(path.clone()),
                Held::Other => found.add_obstacle(format!("has another `{path}` than the interpreter in the sandbox")),
            }
            if of_basic.contains(path) {
                continue;
            }
            if path == RESPAWN {
                found.doubt.get_or_insert_with(|| "may start itself again with another interpreter".to_owned());
            }
            if let Some(error) = contents.not_imported.get(&module_name(path)).filter(|_| held == Held::Same) {
                found.add_obstacle(format!("imports `{}`, which the sandbox cannot: {error}", module_name(path)));
            }
            found.examine_source((path, source), contents, (*path == own).then_some(payload));
        }
        found
    }

    /// Examines a source; that of the module itself comes with its payload.
    fn examine_source(
        &mut self,
        (path, source): (&str, &[u8]),
        contents: &InterpreterContents,
        module: Option<&Payload>,
    ) {
        let needs = match needs(source) {
            Ok(needs) => needs,
            Err(error) => return self.add_obstacle(format!("has a source that cannot be read, `{path}`: {error}")),
        };
        let by = if module.is_some() { String::new() } else { format!(", by `{}`,", module_name(path)) };
        let is_urls = path == URLS;
        self.requests |= is_urls;
        for (name, is_optional) in contents.missing_modules(&needs) {
            match is_optional {
                true if is_urls && OF_URL_OPTIONS.contains(&name) => {}
                true => self.optional.push((name.to_owned(), by.clone())),
                false => self.add_obstacle(missing("imports", name, &by)),
            }
        }
        self.makes_temporary |= needs.makes_temporary;
        let is_judged = |name: &String| !(is_urls && OF_URL_OPTIONS.contains(&name.as_str()));
        if let Some(name) = contents.missing_names(&needs).find(is_judged) {
            self.doubt.get_or_insert_with(|| missing("uses", &name, &by));
        }
        let basic = |payload: &Payload| payload.files.get(BASIC).cloned();
        let spec = module.and_then(|payload| read_spec_with(source, || basic(payload)).spec.ok()).map(|(spec, _)| spec);
        self.commands.extend(needs.commands.into_iter().map(|found| possible(found, spec.as_ref())));
    }

    fn add_obstacle(&mut self, reason: String) {
        self.obstacle.get_or_insert(reason);
    }

    /// Returns why a run may need what the interpreter does not have. An optional module that native Python does not have
    /// either does not count; `folders` are those in which that looks for modules.
    pub(super) fn doubt(&self, folders: &[PathBuf]) -> Option<String> {
        let optional = || self.optional.iter().find(|(name, _)| has_module(folders, name));
        self.doubt.clone().or_else(|| optional().map(|(name, by)| missing("imports", name, by)))
    }

    /// Returns the function by which the module may run commands with these arguments.
    pub(super) fn commands_with(&self, args: &Dict) -> Option<String> {
        let is_reached = |found: &&PossibleCommand| found.conditions.iter().all(|condition| condition.holds(args));
        let given = FILE_OPTIONS.into_iter().find(|name| args.get(*name).is_some_and(|value| *value != Value::Null));
        let of_module = self.commands.iter().find(is_reached).map(|found| format!("`{}`", found.function));
        of_module.or_else(|| given.map(|name| format!("the option `{name}`")))
    }
}

impl Suitability {
    /// Returns why requests by HTTP with these arguments need more than the sandbox has. `may_be_unverified` is whether a
    /// server may have any certificate.
    pub(super) fn requests_with(&self, args: &Dict, may_be_unverified: bool) -> Option<String> {
        if !self.requests {
            return None;
        }
        let is_no = |value: &Value| bool_of(value) == Ok(false);
        let is_given = |name: &&str| args.get(*name).is_some_and(|value| value.is_truthy() && !is_no(value));
        if let Some(option) = URL_OPTIONS.into_iter().find(is_given) {
            return Some(format!("is given `{option}`, which connections in the sandbox do not have"));
        }
        let is_unverified = args.get(VALIDATE).is_some_and(is_no);
        (is_unverified && !may_be_unverified).then(|| {
            format!("accepts any certificate, by `{VALIDATE}`, and no network rule of the policy has `+unverified`")
        })
    }
}

fn missing(verb: &str, name: &str, by: &str) -> String {
    format!("{verb} `{name}`{by} which the sandbox does not have")
}

/// Returns whether one of the folders has a module, in Python or as a shared library.
fn has_module(folders: &[PathBuf], name: &str) -> bool {
    let library = format!("{name}.");
    let is_library = |entry: DirEntry| {
        let file = entry.file_name();
        let file = file.to_string_lossy();
        file.starts_with(&library) && file.ends_with(".so")
    };
    folders.iter().any(|folder| {
        folder.join(name).is_dir()
            || folder.join(format!("{name}.py")).is_file()
            || fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(is_library))
    })
}

fn possible(found: CommandUse, spec: Option<&ArgumentSpec>) -> PossibleCommand {
    let CommandUse { function, conditions } = found;
    let condition = |name: &String| {
        let option = spec?.options.get(name)?;
        let names = std::iter::once(name).chain(&option.aliases).cloned().collect();
        let default = option.default.as_ref().is_some_and(Value::is_truthy);
        Some(Condition { names, is_bool: option.option_type == OptionType::Bool, default })
    };
    let conditions = conditions.iter().collect::<BTreeSet<_>>().into_iter().filter_map(condition).collect();
    PossibleCommand { function, conditions }
}

/// Returns the dotted name of a file in a payload.
pub(super) fn module_name(path: &str) -> String {
    path.trim_end_matches(".py").trim_end_matches("/__init__").replace('/', ".")
}

#[cfg(test)]
mod tests {
    use modbox_kinds::ansiballz::DottedName;

    use super::*;

    fn payload(module: &str, others: &[(&str, &str)]) -> Payload {
        let file = |(path, source): (&str, &str)| (path.to_owned(), source.as_bytes().into());
        let own = [(BASIC, "import missing\nsubprocess.run\n"), ("ansible/modules/x.py", module)];
        let files = own.into_iter().chain(others.iter().copied()).map(file).collect();
        Payload { module: DottedName::parse("ansible.modules.x"), has_loader: false, files }
    }

    fn contents(payload: &Payload) -> InterpreterContents {
        let dir = tempfile::tempdir().unwrap();
        for (path, source) in payload.files.iter().filter(|(path, _)| path.starts_with("ansible/module_utils/")) {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, source).unwrap();
        }
        let files = InterpreterContents::digests(&dir.path().join("ansible"), []).unwrap();
        InterpreterContents { modules: ["os".to_owned()].into(), files, ..InterpreterContents::default() }
    }

    fn suitability(payload: &Payload) -> Suitability {
        Suitability::of(payload, &contents(payload)).unwrap()
    }

    #[test]
    fn what_basic_needs_does_not_count_and_what_the_module_needs_does() {
        let found = suitability(&payload("import os\n", &[]));
        assert_eq!((found.obstacle, found.handed), (None, vec!["ansible/modules/x.py".to_owned()]));
        let found = suitability(&payload("import apt\n", &[]));
        assert_eq!(found.obstacle.unwrap(), "imports `apt` which the sandbox does not have");
        let found = suitability(&payload("try:\n    import apt\nexcept ImportError:\n    os = None\n", &[]));
        let dir = tempfile::tempdir().unwrap();
        let folders = [dir.path().to_owned()];
        assert_eq!((&found.obstacle, found.doubt(&folders)), (&None, None));
        fs::write(dir.path().join("apt.cpython-311-x86_64-linux-gnu.so"), "").unwrap();
        assert_eq!(found.doubt(&folders).unwrap(), "imports `apt` which the sandbox does not have");
        let utility = ("ansible/module_utils/u.py", "import apt\n");
        let found = suitability(&payload("import os\n", &[utility]));
        assert_eq!(
            found.obstacle.unwrap(),
            "imports `apt`, by `ansible.module_utils.u`, which the sandbox does not have"
        );
    }

    #[test]
    fn a_file_that_differs_is_an_obstacle_and_one_that_is_missing_is_handed_over() {
        let whole = payload("", &[("ansible/module_utils/u.py", "1"), ("ansible_collections/a/b.py", "2")]);
        let mut contents = contents(&whole);
        let found = Suitability::of(&whole, &contents).unwrap();
        assert_eq!((found.obstacle, found.handed), (None, vec!["ansible_collections/a/b.py".to_owned()]));
        contents.files.insert("ansible/module_utils/u.py".to_owned(), String::new());
        let reason = Suitability::of(&whole, &contents).unwrap().obstacle.unwrap();
        assert!(reason.contains("another `ansible/module_utils/u.py`"), "{reason}");
    }

    #[test]
    fn embedded_files_are_an_obstacle() {
        let data = ("ansible_collections/a/b/plugins/module_utils/data.txt", "no Python");
        let found = suitability(&payload("import os\n", &[(EMBED, ""), data]));
        assert_eq!(found.obstacle.unwrap(), "embeds files, which the sandbox does not have");
    }

    #[test]
    fn requests_depend_on_their_options() {
        let urls = "import socket, ssl\ntry:\n    import gssapi\nexcept ImportError:\n    pass\nsocket.AF_UNIX\nsocket.getpeercert\n";
        let with_urls = payload("import os\n", &[(URLS, urls)]);
        let mut contents = contents(&with_urls);
        contents.modules.extend(["socket", "ssl"].map(str::to_owned));
        contents.names.insert("socket".to_owned(), ["AF_INET".to_owned()].into());
        let found = Suitability::of(&with_urls, &contents).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("gssapi.py"), "").unwrap();
        assert_eq!((&found.obstacle, found.doubt(&[folder.path().to_owned()])), (&None, None));
        for (name, value, expect) in [
            ("url", "x".into(), None),
            ("client_cert", Value::Null, None),
            ("client_cert", "a".into(), Some("is given `client_cert`")),
            ("use_gssapi", "no".into(), None),
            ("use_gssapi", true.into(), Some("is given `use_gssapi`")),
            ("validate_certs", true.into(), None),
            ("validate_certs", "no".into(), Some("accepts any certificate, by `validate_certs`")),
        ] {
            let args = Dict::from_iter([(name.to_owned(), value)]);
            let reason = found.requests_with(&args, false);
            assert_eq!(reason.is_some(), expect.is_some(), "{name}: {reason:?}");
            assert!(reason.unwrap_or_default().contains(expect.unwrap_or_default()), "{name}");
        }
        let unverified = Dict::from_iter([("validate_certs".to_owned(), false.into())]);
        assert_eq!(found.requests_with(&unverified, true), None);
        assert_eq!(suitability(&payload("import os\n", &[])).requests_with(&unverified, false), None);
    }

    #[test]
    fn commands_depend_on_the_options_around_them() {
        let module = "from ansible.module_utils.basic import AnsibleModule\n\
             def main():\n    module = AnsibleModule(argument_spec=dict(check=dict(type='bool', default=True, \
             aliases=['verify']), validate=dict()))\n    validate = module.params['validate']\n    wanted = module.params.get('check')\n    if validate:\n        \
             module.run_command(validate)\n    if wanted and other:\n        module.get_bin_path('x')\n";
        let found = suitability(&payload(module, &[]));
        for (args, expect) in [
            (&[][..], Some("`get_bin_path`")),
            (&[("check", false.into())], None),
            (&[("verify", "no".into())], None),
            (&[("verify", "no".into()), ("validate", "x".into())], Some("`run_command`")),
            (&[("check", false.into()), ("attributes", "+i".into())], Some("the option `attributes`")),
        ] {
            let args: Dict =
                args.iter().map(|(name, value): &(&str, Value)| ((*name).to_owned(), value.clone())).collect();
            assert_eq!(found.commands_with(&args).as_deref(), expect, "{args:?}");
        }
    }
}
