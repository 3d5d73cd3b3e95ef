//! The secrets of a run: one value, made before the module is started, by which everything that leaves a run is masked.
//!
//! A secret is what the module's options declare with `no_log`, or its caller makes one. A module whose options are
//! known only while it runs tells which of them are secrets in `invocation` of its result, as every module of
//! ansible-core does. Names like a password's are secrets only in what modbox itself writes of arguments and lines of
//! files: Ansible's modules show them in results.
//!
//! What is data stays exact: the arguments of the module, files that are saved or can be undone, and results that other
//! tasks use.

use std::borrow::Cow;
use std::path::Path;

use modbox_argument_spec::{ArgumentSpec, Environment, PLACEHOLDER, Secrets};
use modbox_contract::args::RESERVED_PREFIX;
use modbox_contract::{Dict, ModuleResult, Redactor, Release, Value};
use modbox_policy::EnvGrant;

use crate::modules::declared_options::DeclaredOptions;
use crate::modules::module::Module;
use crate::reports::live_secrets;
use crate::reports::shown_path;
use crate::request::run_request::{Arguments, RunRequest};

/// The internal argument that hides a result, in completed arguments.
const NO_LOG_KEY: &str = "_ansible_no_log";

/// Maximum number of secrets of a run, each of which is searched for in every text. A run with more is one under `no_log`.
const MAX_SECRETS: usize = 1024;

/// What must not be seen of a run.
#[derive(Debug, Clone, Default)]
pub struct TaskSecrets {
    /// Values of options that the module declares as secrets.
    declared: Secrets,
    /// These, and values with names like a password's.
    suspected: Secrets,
    /// Whether the task says that all of it is secret.
    hides_all: bool,
    /// Whether the secrets of the module are known.
    knowledge: Knowledge,
    /// Whether there are more secrets than can be searched for.
    is_cut: bool,
    /// Whether the result is that of a module of ansible-core 2.22, which does not mask it.
    redacts: bool,
}

/// Whether the secrets of a module are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Knowledge {
    /// They were before it started.
    #[default]
    Declared,
    /// There may be more than those that are known.
    Open,
    /// Its result has told them.
    Learned,
}

impl TaskSecrets {
    /// Returns the secrets of a run of a module, as far as they are known before it starts.
    #[must_use]
    pub fn of(module: &Module, request: &RunRequest<'_>) -> Self {
        let given = own_arguments(request.arguments.given());
        let hides_all = match &*request.arguments {
            Arguments::Task { internal, .. } => internal.no_log,
            Arguments::Complete(args) => args.get(NO_LOG_KEY).is_some_and(Value::is_truthy),
        };
        let redacts = request.release() >= Release::V2_22;
        if given.is_empty() && request.given_secrets.is_none() {
            return Self { hides_all, redacts, ..Self::default() };
        }
        let (mut declared, others, knowledge) = match module.declared_options() {
            DeclaredOptions::Known(spec) => (
                spec.secrets(&given, &Variables(request.policy.env())),
                spec.logged(&given).secrets,
                Knowledge::Declared,
            ),
            DeclaredOptions::Unknown(names) => {
                let mut declared = Secrets::default();
                add_named(&given, |name| names.contains(name), &mut declared);
                (declared, by_name(&given), Knowledge::Open)
            }
            DeclaredOptions::None => (Secrets::default(), by_name(&given), Knowledge::Declared),
        };
        add_named(&given, |name| request.secrets.iter().any(|secret| secret == name), &mut declared);
        request.given_secrets.iter().flat_map(|given| given.iter()).for_each(|secret| declared.add(secret));
        let mut suspected = declared.clone();
        suspected.extend(&others);
        // Results keep these for the tasks that use them; what is logged and listed does not show them.
        suspected.extend(&live_secrets::of_play());
        live_secrets::remember(&suspected);
        Self { declared, suspected, hides_all, knowledge, is_cut: false, redacts }.bounded()
    }

    /// Adds the secrets that a result tells: those that the module lists, as of ansible-core 2.22, and the values that it
    /// replaced in the arguments that its result repeats, as of earlier ones.
    pub fn learn(&mut self, result: &ModuleResult, arguments: &Arguments) {
        let mut learned = Secrets::default();
        if let Some(told) = result.secrets() {
            told.iter().for_each(|secret| learned.add(secret));
            self.redacts = true;
        }
        let invocation = result.as_dict().get("invocation").and_then(Value::as_dict);
        let shown = invocation.and_then(|invocation| invocation.get("module_args"));
        if let Some(Value::Dict(shown)) = shown.filter(|_| result.parsed()) {
            for (name, value) in own_arguments(arguments.given()).iter() {
                shown.get(name).into_iter().for_each(|shown| add_replaced(value, shown, &mut learned));
            }
            // A module that tells its secrets replaces none, and tells only those that are texts.
            if self.knowledge == Knowledge::Open && result.secrets().is_none() {
                self.knowledge = Knowledge::Learned;
            }
        }
        live_secrets::remember(&learned);
        self.declared.extend(&learned);
        self.suspected.extend(&learned);
        *self = std::mem::take(self).bounded();
    }

    /// Returns whether the task hides all that the run tells but its status.
    #[must_use]
    pub fn hides_all(&self) -> bool {
        self.hides_all
    }

    /// Returns whether no argument and no line of a file may be seen: the task hides them, or which of them are secret is not
    /// known.
    #[must_use]
    pub fn hides_content(&self) -> bool {
        self.hides_all || self.knowledge == Knowledge::Open
    }

    /// Returns whether a result may not be seen, since it has more secrets than can be searched for.
    #[must_use]
    pub fn hides_result(&self) -> bool {
        self.is_cut
    }

    /// Returns whether there is nothing to mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.suspected.is_empty()
    }

    /// Returns what masks the result in place of Ansible's callbacks, for a module that leaves its secrets in it: those of
    /// ansible-core 2.22 do. `None` for others, whose results are masked as they would mask them.
    #[must_use]
    pub fn redactor(&self) -> Option<Redactor> {
        self.redacts.then(|| Redactor::new(self.declared.iter()))
    }

    /// Returns the values that the module declares as secrets.
    #[must_use]
    pub fn declared(&self) -> &Secrets {
        &self.declared
    }

    /// Returns these, and values with names like a password's.
    #[must_use]
    pub fn suspected(&self) -> &Secrets {
        &self.suspected
    }

    /// Returns a path as text without secrets.
    #[must_use]
    pub fn path(&self, path: &Path) -> String {
        shown_path::masked(path, &self.declared)
    }

    /// Adds the secrets of a report of the same run.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.declared.extend(&other.declared);
        self.suspected.extend(&other.suspected);
        self.hides_all |= other.hides_all;
        self.redacts |= other.redacts;
        if (self.knowledge, other.knowledge) == (Knowledge::Open, Knowledge::Learned) {
            self.knowledge = Knowledge::Learned;
        }
        *self = std::mem::take(self).bounded();
    }

    /// Returns arguments as a log may show them: without secrets, without internal ones, and without any value if all are
    /// hidden.
    #[must_use]
    pub fn shown_arguments(&self, module: &Module, arguments: &Dict) -> Dict {
        match self.hides_content() {
            true => own_arguments(arguments).keys().map(|name| (name.clone(), PLACEHOLDER.into())).collect(),
            false => self.masked_arguments(module, arguments),
        }
    }

    /// Returns arguments that are hidden as long as the result of the module has not told which of them are secret. Those
    /// have to be masked before a log shows them.
    #[must_use]
    pub fn arguments_to_open(&self, module: &Module, arguments: &Dict) -> Option<Dict> {
        let is_open = self.knowledge == Knowledge::Open && !self.hides_all;
        is_open.then(|| self.masked_arguments(module, arguments))
    }

    fn masked_arguments(&self, module: &Module, arguments: &Dict) -> Dict {
        let given = own_arguments(arguments);
        let logged = match module.declared_options() {
            DeclaredOptions::Known(spec) => spec.logged(&given),
            DeclaredOptions::Unknown(_) | DeclaredOptions::None => ArgumentSpec::default().logged(&given),
        };
        self.suspected.with_escapes().mask_dict(logged.arguments)
    }

    fn bounded(self) -> Self {
        match self.suspected.len() > MAX_SECRETS {
            true => Self { hides_all: true, is_cut: true, ..self },
            false => self,
        }
    }
}

/// Returns the values of arguments with names like a password's.
fn by_name(arguments: &Dict) -> Secrets {
    ArgumentSpec::default().logged(arguments).secrets
}

/// Returns the arguments that are not internal.
fn own_arguments(arguments: &Dict) -> Cow<'_, Dict> {
    let is_internal = |name: &String| name.starts_with(RESERVED_PREFIX);
    match arguments.keys().any(is_internal) {
        true => Cow::Owned(arguments.iter().filter(|(name, _)| !is_internal(name)).map(pair).collect()),
        false => Cow::Borrowed(arguments),
    }
}

fn pair((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// Adds the values of the options that are secrets by their names, at every depth.
fn add_named(arguments: &Dict, is_secret: impl Fn(&str) -> bool + Copy, found: &mut Secrets) {
    for (name, value) in arguments {
        match is_secret(name) {
            true => found.add_value(value),
            false => add_named_in(value, is_secret, found),
        }
    }
}

fn add_named_in(value: &Value, is_secret: impl Fn(&str) -> bool + Copy, found: &mut Secrets) {
    match value {
        Value::Dict(entries) => add_named(entries, is_secret, found),
        Value::List(items) => items.iter().for_each(|item| add_named_in(item, is_secret, found)),
        _ => {}
    }
}

/// Adds the parts of a value that its shown form has the placeholder for.
fn add_replaced(value: &Value, shown: &Value, found: &mut Secrets) {
    match (value, shown) {
        (_, Value::Str(text)) if text == PLACEHOLDER => found.add_value(value),
        (Value::Dict(entries), Value::Dict(shown)) => {
            for (name, value) in entries {
                shown.get(name).into_iter().for_each(|shown| add_replaced(value, shown, found));
            }
        }
        (Value::List(items), Value::List(shown)) => {
            items.iter().zip(shown).for_each(|(value, shown)| add_replaced(value, shown, found));
        }
        // Text from which the module has made a list or a dict: which part of it is secret is not known.
        (Value::Str(_), Value::Dict(_) | Value::List(_)) if has_placeholder(shown) => found.add_value(value),
        _ => {}
    }
}

fn has_placeholder(value: &Value) -> bool {
    match value {
        Value::Str(text) => text == PLACEHOLDER,
        Value::List(items) => items.iter().any(has_placeholder),
        Value::Dict(entries) => entries.values().any(has_placeholder),
        _ => false,
    }
}

/// The variables that a run is granted.
struct Variables<'a>(&'a [EnvGrant]);

impl Environment for Variables<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.0.iter().find(|grant| grant.name == name).map(|grant| grant.value.clone())
    }
}

#[cfg(test)]
mod tests {
    use modbox_contract::{RawOutput, decode, encode};
    use modbox_policy::Policy;
    use modbox_vocabulary::Limits;

    use super::*;
    use crate::modules::locate::ModuleFile;

    fn module(bytes: &[u8]) -> Module {
        Module::new(ModuleFile { path: "module".into(), bytes: bytes.into() }, None)
    }

    fn arguments(json: &str) -> Arguments {
        Arguments::Complete(decode(json).unwrap().as_dict().unwrap().clone())
    }

    fn python(spec: &str) -> Module {
        let source =
            format!("from ansible.module_utils.basic import AnsibleModule\nAnsibleModule(argument_spec={spec})\n");
        module(source.as_bytes())
    }

    fn secrets_of(module: &Module, arguments: &Arguments, named: &[String]) -> TaskSecrets {
        let (policy, limits) = (Policy::default(), Limits::default());
        let new = RunRequest::new("module", arguments.clone(), &policy, &limits);
        TaskSecrets::of(module, &RunRequest { secrets: named, ..new })
    }

    fn result(json: &str) -> ModuleResult {
        ModuleResult::parse(&RawOutput { stdout: json.as_bytes(), stderr: b"", rc: 0, shebang: None })
    }

    fn shown(secrets: &TaskSecrets, module: &Module, arguments: &Arguments) -> String {
        let text = encode(&Value::Dict(secrets.shown_arguments(module, arguments.given())));
        text.replace(&format!("\"{PLACEHOLDER}\""), "<>")
    }

    #[test]
    fn a_literal_spec_tells_all_secrets() {
        let module = python("dict(api_key=dict(no_log=True), name=dict())");
        let arguments = arguments(r#"{"api_key": "Q7", "name": "a-Q7", "_ansible_x": "Q7"}"#);
        let secrets = secrets_of(&module, &arguments, &[]);
        assert_eq!(shown(&secrets, &module, &arguments), r#"{"api_key": <>, "name": "a-********"}"#);
        assert!(!secrets.hides_content());
        assert_eq!(secrets.path(Path::new("/srv/Q7.conf")), "/srv/********.conf");
    }

    #[test]
    fn a_spec_that_is_made_hides_all_until_the_result_tells_its_secrets() {
        let module = python("dict(base(), own=dict(no_log=True))");
        let arguments = arguments(r#"{"own": "O1", "token": "T2", "users": [{"pin": 33, "name": "n"}], "path": "p"}"#);
        let mut secrets = secrets_of(&module, &arguments, &[]);
        assert!(secrets.hides_content());
        assert_eq!(shown(&secrets, &module, &arguments), r#"{"own": <>, "token": <>, "users": <>, "path": <>}"#);
        assert_eq!(secrets.declared().mask_text("O1 T2 33"), "******** T2 33");
        secrets.learn(&result(r#"{"msg": "no invocation"}"#), &arguments);
        let told =
            r#"{"_ansible_new_secrets": ["O1", "found"], "invocation": {"module_args": {"own": "O1", "token": "T2"}}}"#;
        let mut listed = secrets.clone();
        listed.learn(&result(told), &arguments);
        assert!(listed.hides_content());
        assert_eq!(listed.declared().mask_text("O1 found"), "******** ********");
        assert!(secrets.hides_content());
        let said = r#"{"invocation": {"module_args": {"own": "<>", "token": "<>", "users": [{"pin": "<>", "name": "n"}],
            "path": "p"}}}"#;
        secrets.learn(&result(&said.replace("<>", PLACEHOLDER)), &arguments);
        assert!(!secrets.hides_content());
        assert_eq!(secrets.declared().mask_text("O1 T2 33"), "******** ******** ********");
        assert_eq!(
            shown(&secrets, &module, &arguments),
            r#"{"own": <>, "token": <>, "users": [{"pin": <>, "name": "n"}], "path": "p"}"#
        );
    }

    #[test]
    fn a_caller_makes_options_secrets_at_every_depth() {
        let module = python("dict(a=dict(), users=dict(type='list', elements='dict'))");
        let arguments = arguments(r#"{"a": "A1", "users": [{"a": "A2", "b": "B1"}]}"#);
        let secrets = secrets_of(&module, &arguments, &["a".to_owned()]);
        assert_eq!(shown(&secrets, &module, &arguments), r#"{"a": <>, "users": [{"a": <>, "b": "B1"}]}"#);
        assert_eq!(secrets.declared().mask_text("A1 A2 B1"), "******** ******** B1");
    }

    #[test]
    fn names_like_a_password_are_secrets_of_logs_only() {
        let module = module(b"#!/bin/sh\n# WANT_JSON\n");
        let arguments = arguments(r#"{"password": "P1", "name": "P1!"}"#);
        let secrets = secrets_of(&module, &arguments, &[]);
        assert_eq!(shown(&secrets, &module, &arguments), r#"{"password": <>, "name": "********!"}"#);
        assert!(secrets.declared().is_empty() && !secrets.suspected().is_empty());
    }

    #[test]
    fn a_task_hides_all_and_so_do_too_many_secrets() {
        let module = python("dict(keys=dict(type='list', no_log=True), name=dict())");
        let hidden = arguments(r#"{"name": "n", "_ansible_no_log": true}"#);
        let secrets = secrets_of(&module, &hidden, &[]);
        assert!(secrets.hides_all() && !secrets.hides_result());
        let keys: Vec<Value> = (0..=MAX_SECRETS).map(|number| format!("k{number}").into()).collect();
        let many = [("keys".to_owned(), Value::List(keys)), ("name".to_owned(), "n".into())];
        let many = Arguments::Complete(many.into_iter().collect());
        let secrets = secrets_of(&module, &many, &[]);
        assert!(secrets.hides_all() && secrets.hides_result());
        assert_eq!(shown(&secrets, &module, &many), r#"{"keys": <>, "name": <>}"#);
    }
}
