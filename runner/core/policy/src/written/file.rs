//! The policy file: YAML. It refuses unknown keys and reports every error with line and column.
//!
//! ```yaml
//! designated: write
//! designated-by-results: none
//! allow:
//!   read: [/usr/share/zoneinfo]
//!   write: [/srv/app]
//!   own: ["www-data:www-data"]
//!   env: [LANG, STAGE=test]
//!   net: ["api.example.org:443", "10.0.0.0/8:5432"]
//!   listen: ["127.0.0.1:8080"]
//!   run: ["systemctl restart *"]
//! ask: {write: [/srv/www]}
//! check: observe
//! python: auto
//! python-modules: confine
//! accept-policy: narrow
//! min-confinement: 2
//! limits: {timeout: 30s, cpu-time: 10s, memory: 256MiB, output: 4MiB, processes: 64}
//! modules:
//!   "sha256:…": {allow: {write: [/etc/motd]}}
//!   setup: {profiles: [facts]}
//!   service: {profiles: [{manage-services: [nginx, "php*-fpm"]}], allow: {outside: ["nginx -t"]}}
//! tasks:
//!   "Install *": {allow: {write: [/srv/app]}}
//!   "role: web": {designated: read}
//! audit: /var/log/modbox.jsonl
//! audit-in-results: true
//! offline: true
//! tools: {modules: [stat], confirm: never}
//! ```
//!
//! A file can contain only rules that are enforced. The key of a future feature is an unknown key, so that users do not
//! rely on a rule without effect. An empty section has no effect.

use std::fmt;

use serde::Deserialize;
use serde::de::Deserializer;

use crate::designated::Designated;
use crate::limit::{LimitName, LimitOverrides, parse_level};
use crate::rules::accept_policy::AcceptPolicy;
use crate::rules::check_rule::CheckRule;
use crate::rules::python_place::PythonPlace;
use crate::rules::python_rule::PythonRule;
use crate::written::allow::Allow;
use crate::written::file_error::{PolicyFileError, PolicyFileProblem};
use crate::written::module_key::ModuleKey;
use crate::written::node::{Located, Node, Place};
use crate::written::profile::GrantedProfile;
use crate::written::reader::{FileReader, parse_flag};
use crate::written::task_key::TaskKey;
use crate::written::tools::ToolRules;
use crate::written::trust_rules::TrustRules;

/// The content of a policy file. Paths and names are not resolved yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyFile {
    /// The rules for every module.
    pub rules: FileRules,
    /// Additional rules for single modules.
    pub modules: Vec<(Located<ModuleKey>, FileRules)>,
    /// Additional rules for tasks of plays.
    pub tasks: Vec<(Located<TaskKey>, FileRules)>,
    /// The trust in modules by who signed them.
    pub trust: TrustRules,
    /// Whether no registry is asked.
    pub offline: Option<Located<bool>>,
    /// The modules that agents get as tools.
    pub tools: Option<ToolRules>,
}

/// The rules of a file for every module or for one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileRules {
    /// The access that naming a path in an argument grants.
    pub designated: Option<Designated>,
    /// The access that an argument grants that a play made from results of modules.
    pub designated_by_results: Option<Designated>,
    /// The grants.
    pub allow: Allow,
    /// The most that a person may be asked to grant; see [`crate::AskBounds`]. Only the rules for every module and for one
    /// have it.
    pub ask: Option<Allow>,
    /// What check mode does.
    pub check: Option<CheckRule>,
    /// Where Python modules run.
    pub python: Option<PythonPlace>,
    /// What `modbox-python` does with modules.
    pub python_modules: Option<PythonRule>,
    /// What the host accepts from the policy of a task. Only the rules for every module have it.
    pub accept_policy: Option<AcceptPolicy>,
    /// Profiles. Only the rules for a module or a task have them.
    pub profiles: Vec<Located<GrantedProfile>>,
    /// Whether nothing confines the module. Only the rules for one module by its digest have it, which is that of the module with all
    /// its parts: a name proves nothing, and the same file with other imports is another module.
    pub unconfined: Option<Located<bool>>,
    /// The required minimum level of confinement.
    pub min_confinement: Option<u8>,
    /// The limits.
    pub limits: LimitOverrides,
    /// The absolute path of an audit file, which gets a line for each run. It cannot be set for one module, because the
    /// log is opened before the module is looked up.
    pub audit: Option<Located<String>>,
    /// Whether a result that goes to ansible-core has the audit line in it. Only the rules for every module have it.
    pub audit_in_results: Option<bool>,
}

impl PolicyFile {
    /// Parses the text of a policy file. An empty file has no rules and so grants nothing.
    ///
    /// # Errors
    ///
    /// Text that is not YAML; otherwise all unknown keys, values of a wrong type and values out of range.
    pub fn parse(text: &str) -> Result<Self, PolicyFileError> {
        match Self::read(text) {
            (file, problems) if problems.is_empty() => Ok(file),
            (_, problems) => Err(PolicyFileError(problems)),
        }
    }

    /// Reads what is valid in the text of a policy file. Returns it with all errors, in order.
    #[must_use]
    pub fn read(text: &str) -> (Self, Vec<PolicyFileProblem>) {
        if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
            return (Self::default(), Vec::new());
        }
        let node = match Node::parse(text) {
            Ok(node) => node,
            Err(error) => {
                let (place, shown) = (error.location().map(Place::from), error.without_snippet().to_string());
                // The parser's message already ends with the position.
                let message = place.and_then(|place| Some(shown.strip_suffix(&format!(" at {place}"))?.to_owned()));
                let problem = match message {
                    Some(message) => PolicyFileProblem { place, message: in_own_words(message) },
                    None => PolicyFileProblem { place: None, message: shown },
                };
                return (Self::default(), vec![problem]);
            }
        };
        let mut reader = FileReader::default();
        let file = reader.file(node);
        reader.mistakes.sort();
        (file, reader.mistakes)
    }
}

impl PolicyFile {
    /// Returns the file without its grants, in every section. What it restricts stays.
    #[must_use]
    pub fn without_grants(mut self) -> Self {
        let sections = self.modules.iter_mut().map(|(_, rules)| rules);
        let sections = sections.chain(self.tasks.iter_mut().map(|(_, rules)| rules));
        for rules in std::iter::once(&mut self.rules).chain(sections) {
            rules.allow = Allow::default();
            rules.profiles.clear();
            rules.unconfined = None;
        }
        self
    }

    /// Returns the file without what takes the confinement of modules away.
    #[must_use]
    pub fn confined(mut self) -> Self {
        self.modules.iter_mut().for_each(|(_, rules)| rules.unconfined = None);
        self.tasks.iter_mut().for_each(|(_, rules)| rules.unconfined = None);
        self
    }
}

/// Says in the words of policy files what the parser says in those of its own options.
fn in_own_words(message: String) -> String {
    let duplicate = message.strip_prefix("duplicate mapping key: ").and_then(|rest| rest.split_once(", set "));
    duplicate.map_or_else(|| message.clone(), |(key, _)| format!("duplicate key `{key}`; write its items in one list"))
}

impl<'de> Deserialize<'de> for FileRules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let node = Node::deserialize(deserializer)?;
        FileReader::default().finish(|reader| {
            let entries = reader.map(node, "a policy");
            reader.rules(entries, JOB_RULES)
        })
    }
}

impl<'de> Deserialize<'de> for LimitOverrides {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let node = Node::deserialize(deserializer)?;
        FileReader::default().finish(|reader| reader.limits(node))
    }
}

/// The keys of a file.
const FILE_RULES: &str = "designated, designated-by-results, allow, ask, check, python, python-modules, accept-policy, min-confinement, \
     limits, modules, tasks, trust, audit, audit-in-results, offline, tools";

/// The keys of the rules for one job of a batch.
const JOB_RULES: &str =
    "designated, designated-by-results, allow, check, python, python-modules, min-confinement, limits, audit";

/// The keys of the rules for tasks.
const TASK_RULES: &str =
    "designated, designated-by-results, allow, profiles, check, python, python-modules, min-confinement, limits";

/// The keys of the rules for one module.
const MODULE_RULES: &str = "designated, designated-by-results, allow, ask, profiles, check, python, python-modules, min-confinement, limits, unconfined";

impl FileReader {
    fn file(&mut self, node: Node) -> PolicyFile {
        let mut file = PolicyFile::default();
        let mut rest = Vec::new();
        for (key, node) in self.map(node, "a policy file") {
            match key.value.as_str() {
                "modules" => file.modules = self.keyed(node, ("modules", "a module", MODULE_RULES), ModuleKey::parse),
                "trust" => file.trust = self.trust(node),
                "tools" => file.tools = self.tools(node),
                "offline" => {
                    let place = node.place;
                    file.offline = self.scalar(node, parse_flag).map(|value| Located { value, place });
                }
                "tasks" => file.tasks = self.keyed(node, ("tasks", "a task", TASK_RULES), TaskKey::parse),
                _ => rest.push((key, node)),
            }
        }
        file.rules = self.rules(rest, FILE_RULES);
        for (key, rules) in &file.modules {
            if let (ModuleKey::Name(_), Some(flag)) = (&key.value, &rules.unconfined) {
                let message = "`unconfined` is for one module with all its parts, and so is `allow: all`; write it below `sha256:DIGEST`, as `modbox inspect` shows it";
                self.note(flag.place, message);
            }
        }
        file
    }

    fn rules(&mut self, entries: Vec<(Located<String>, Node)>, known: &str) -> FileRules {
        let mut rules = FileRules::default();
        let is_single = [MODULE_RULES, TASK_RULES].contains(&known);
        for (key, node) in entries {
            match key.value.as_str() {
                "designated" => rules.designated = self.scalar(node, str::parse),
                "designated-by-results" => rules.designated_by_results = self.scalar(node, str::parse),
                "allow" if is_single && node.is_word("all") => {
                    rules.unconfined = Some(Located { value: true, place: node.place });
                }
                "allow" => rules.allow = self.allow(node, "allow", !is_single),
                // An empty section is one: it lets nothing be asked.
                "ask" if [FILE_RULES, MODULE_RULES].contains(&known) => {
                    rules.ask = Some(self.allow(node, "ask", !is_single));
                }
                "check" => rules.check = self.scalar(node, str::parse),
                "python" => rules.python = self.scalar(node, str::parse),
                "python-modules" => rules.python_modules = self.scalar(node, str::parse),
                "min-confinement" => rules.min_confinement = self.scalar(node, parse_level),
                "limits" => rules.limits = self.limits(node),
                "profiles" if is_single => rules.profiles = self.profiles(node),
                "unconfined" if known == MODULE_RULES => {
                    let place = node.place;
                    rules.unconfined = self.scalar(node, parse_flag).map(|value| Located { value, place });
                }
                "audit" if [FILE_RULES, JOB_RULES].contains(&known) => {
                    rules.audit = self.absolute(node, "the audit file")
                }
                "accept-policy" if known == FILE_RULES => rules.accept_policy = self.scalar(node, str::parse),
                "audit-in-results" if known == FILE_RULES => rules.audit_in_results = self.scalar(node, parse_flag),
                _ => self.unknown(&key, known),
            }
        }
        rules
    }

    fn limits(&mut self, node: Node) -> LimitOverrides {
        let mut limits = LimitOverrides::default();
        for (key, node) in self.map(node, "`limits`") {
            match LimitName::from_key(&key.value) {
                Some(name) => {
                    if let Some(value) = self.scalar(node, |text| name.parse(text)) {
                        limits.set(name, value);
                    }
                }
                None => self.unknown(&key, &LimitName::ALL.map(LimitName::key).join(", ")),
            }
        }
        limits
    }

    /// Reads rules by key. `what` is what a key stands for, and `known` the keys of its rules.
    fn keyed<K: PartialEq + fmt::Display>(
        &mut self,
        node: Node,
        (section, what, known): (&str, &str, &str),
        parse: impl Fn(&str) -> Result<K, String>,
    ) -> Vec<(Located<K>, FileRules)> {
        let mut keyed: Vec<(Located<K>, FileRules)> = Vec::new();
        for (key, node) in self.map(node, &format!("`{section}`")) {
            let entries = self.map(node, &format!("the rules for {what}"));
            let rules = self.rules(entries, known);
            match parse(&key.value) {
                Ok(value) if keyed.iter().any(|(other, _)| other.value == value) => {
                    self.note(key.place, format!("`{value}` has two rules"));
                }
                Ok(value) => keyed.push((Located { value, place: key.place }, rules)),
                Err(message) => self.note(key.place, message),
            }
        }
        keyed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_but_a_digest_is_unconfined() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let file = PolicyFile::parse(&format!("modules: {{'{digest}': {{unconfined: true}}}}")).unwrap();
        assert_eq!(file.modules[0].1.unconfined.as_ref().map(|flag| flag.value), Some(true));
        assert_eq!(file.clone().confined().modules[0].1.unconfined, None);
        assert_eq!(file.without_grants().modules[0].1.unconfined, None);
        for (text, expect) in [
            ("modules: {mount: {unconfined: true}}", "below `sha256:DIGEST`"),
            ("modules: {mount: {allow: all}}", "below `sha256:DIGEST`"),
            ("allow: all", "`allow` is a mapping of keys to values, not a scalar"),
            ("tasks: {mount: {allow: everything}}", "`allow` is a mapping of keys to values, not a scalar"),
            ("modules: {mount: {unconfined: false}}", "below `sha256:DIGEST`"),
            ("modules: {'oci://host/mount': {unconfined: true}}", "below `sha256:DIGEST`"),
            ("tasks: {mount: {unconfined: true}}", "unknown key `unconfined`"),
            ("unconfined: true", "unknown key `unconfined`"),
        ] {
            let error = PolicyFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        }
        assert!(PolicyFile::parse(&format!("modules: {{'{digest}': {{unconfined: maybe}}}}")).is_err());
        let both = PolicyFile::parse(&format!(
            "modules: {{'{digest}': {{allow: all}}}}\ntasks: {{'Start *': {{allow: all}}}}"
        ));
        let both = both.unwrap();
        let is_free = |rules: &FileRules| rules.unconfined.as_ref().is_some_and(|flag| flag.value);
        assert!(is_free(&both.modules[0].1) && is_free(&both.tasks[0].1));
        assert!(!is_free(&both.clone().confined().tasks[0].1) && !is_free(&both.without_grants().tasks[0].1));
        assert!(
            serde_json::from_str::<FileRules>(r#"{"unconfined": true}"#).is_err(),
            "a job of a batch has no digests"
        );
    }

    #[test]
    fn reads_the_documented_form() {
        let digest = "0a".repeat(32);
        let file = PolicyFile::parse(&format!(
            "designated: read\nallow:\n  read: [/usr/share/zoneinfo]\n  write: [/srv/app::/app]\n  env: [LANG, STAGE=test, NO]\n\
             limits: {{timeout: 30s, cpu-time: 10s, memory: 256MiB, output: 4MiB, disk: 64MiB, files: 4096, processes: 64}}\n\
             modules:\n  \"sha256:{digest}\": {{allow: {{write: [/etc/motd]}}}}\n  copy:\n    designated: none\n\
             designated-by-results: read\ntasks:\n  'Install *': {{allow: {{write: [/srv]}}}}\n  'role: web': {{designated: read}}\n"
        ))
        .unwrap();
        let texts = |list: &[Located<String>]| list.iter().map(|item| item.value.clone()).collect::<Vec<_>>();
        assert_eq!(file.rules.designated, Some(Designated::Read));
        assert_eq!(texts(&file.rules.allow.write), ["/srv/app::/app"]);
        assert_eq!(texts(&file.rules.allow.env), ["LANG", "STAGE=test", "NO"]);
        assert_eq!(file.rules.allow.env[2].place, Place { line: 5, column: 27 });
        assert_eq!(file.rules.limits.get(LimitName::Memory), Some(256 << 20));
        assert_eq!(file.rules.limits.get(LimitName::Timeout), Some(30_000_000));
        assert_eq!(file.rules.limits.get(LimitName::Tmp), None);
        assert_eq!(file.modules[0].0.value, ModuleKey::Digest(digest));
        assert_eq!(texts(&file.modules[0].1.allow.write), ["/etc/motd"]);
        assert_eq!(file.modules[1].1.designated, Some(Designated::None));
        assert_eq!(file.rules.designated_by_results, Some(Designated::Read));
        assert_eq!(file.tasks[0].0.value, TaskKey::parse("Install *").unwrap());
        assert_eq!(texts(&file.tasks[0].1.allow.write), ["/srv"]);
        assert_eq!((file.tasks[1].0.value.to_string().as_str(), file.tasks[1].0.place.line), ("role: web", 14));
    }

    #[test]
    fn empty_files_and_sections_grant_nothing() {
        for text in
            ["", "\n", "# nothing\n", "---", "{}", "allow:\n", "allow:\n  read:\n  # - /srv\nlimits: {}\nmodules:\n"]
        {
            assert_eq!(PolicyFile::parse(text).unwrap(), PolicyFile::default(), "{text}");
        }
    }

    #[test]
    fn questions_are_bounded_for_every_module_and_for_one() {
        let file =
            PolicyFile::parse("ask: {read: [/var/log]}\nmodules: {a: {ask: {run: [id]}}, b: {ask: }, c: {}}").unwrap();
        assert_eq!(file.rules.ask.unwrap().read[0].value, "/var/log");
        let of_modules: Vec<Option<usize>> =
            file.modules.iter().map(|(_, rules)| rules.ask.as_ref().map(|ask| ask.run.len())).collect();
        assert_eq!(of_modules, [Some(1), Some(0), None]);
        for (text, expect) in [
            ("ask: {reed: []}", "unknown key `reed`"),
            ("ask: 1", "`ask` is a mapping"),
            ("ask: {outside: [id]}", "`outside` is for single modules and tasks"),
            ("tasks: {a: {ask: {}}}", "unknown key `ask`"),
        ] {
            let error = PolicyFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        }
        assert!(serde_saphyr::from_str::<FileRules>("ask: {}").is_err(), "a job of a batch asks nothing");
    }

    #[test]
    fn names_the_place_of_every_mistake() {
        for (text, expect) in [
            (
                "allow:\n  reed: [/x]\n",
                "unknown key `reed`, expected one of read, write, own, env, net, listen, run at line 2, column 3",
            ),
            ("allow:\n  read: /x\n", "expected a list, such as `[…]`, not a scalar at line 2, column 9"),
            ("allow: {env: [[x]]}\n", "expected text, not a list at line 1, column 15"),
            (
                "limits: {timeout: soon}\n",
                "`soon` is not a duration from 1ms to 365days, such as `500ms`, `30s` or `1m 30s` at line 1, column 19",
            ),
            (
                "limits: {memory: lots}\n",
                "`lots` is not a size of at least one byte, such as `64KiB` or `256MiB` at line 1, column 18",
            ),
            ("limits: {processes: 0}\n", "`0` is not a whole number of at least 1 at line 1, column 21"),
            ("limits: {timeout: }\n", "expected a value, not nothing at line 1, column 17"),
            ("min-confinement: 4\n", "`4` is not a level of confinement from 0 to 3 at line 1, column 18"),
            (
                "designated: all\n",
                "unknown access `all`; expected one of `none`, `read`, `write`, `manage` at line 1, column 13",
            ),
            (
                "modules: {a/b: {}}",
                "`a/b` is not the name of a module; expected a name such as `copy`, or a digest at line 1, column 11",
            ),
            (
                "modules: {a: {modules: {}}}",
                "unknown key `modules`, expected one of designated, designated-by-results, allow, ask, profiles, check, \
                 python, python-modules, min-confinement, limits, unconfined at line 1, column 15",
            ),
            (
                "designated-by-results: no\n",
                "unknown access `no`; expected one of `none`, `read`, `write`, `manage` at line 1, column 24",
            ),
            (
                "tasks: {'role:': {}, 'a*': {audit: /x}}",
                "`role:` names no role; expected `role: NAME`, with `*` for any characters at line 1, column 9; unknown key \
                 `audit`, expected one of designated, designated-by-results, allow, profiles, check, \
                 python, python-modules, min-confinement, limits at line 1, column 29",
            ),
            ("42", "a policy file is a mapping of keys to values, not a scalar at line 1, column 1"),
            (
                "allow: {walk: [], env: x}\nlimits: {a: 1}\nx: 1\ny: 2\n",
                "unknown key `walk`, expected one of read, write, own, env, net, listen, run at line 1, column 9; expected a list, such as \
                 `[…]`, not a scalar at line 1, column 24; unknown key `a`, expected one of timeout, cpu-time, memory, output, \
                 disk, tmp, files, descriptors, processes, module, compile-time, compile-memory, outside at line 2, column 10; \
                 and 2 more, see `modbox policy check`",
            ),
        ] {
            assert_eq!(PolicyFile::parse(text).unwrap_err().to_string(), expect, "{text:?}");
        }
    }

    #[test]
    fn invalid_yaml_is_reported_with_its_position() {
        for text in
            ["allow: [\n", "allow: {}\nallow: {}\n", "a: b: c", "allow: *nowhere", "a\0b: 1", "--- {}\n--- {}\n"]
        {
            let error = PolicyFile::parse(text).unwrap_err().to_string();
            assert!(error.contains("line "), "{text:?}: {error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_makes_it_panic(text in "[a-z:{}\\[\\],\n #&*!|>'\"-]{0,80}|\\PC{0,60}") {
            let _ = PolicyFile::parse(&text);
        }

        #[test]
        fn no_value_makes_it_panic(key in "designated|allow|limits|modules|x", inner in "read|env|timeout|sha256:a|copy", value in "\\PC{0,20}") {
            let _ = PolicyFile::parse(&format!("{key}: {{{inner}: {value}}}"));
            let _ = PolicyFile::parse(&format!("{key}:\n  {inner}: [{value}]\n"));
        }

        #[test]
        fn written_values_are_parsed_unchanged(
            paths in prop::collection::vec("/[a-zA-Z0-9 ':\"#é-]{0,20}", 0..4),
            names in prop::collection::vec("[A-Z_]{1,6}(=[a-z0-9 .'\"]{0,6})?", 0..4),
            designated in prop::sample::select(Designated::ALL.to_vec()),
            limit in prop::sample::select(LimitName::ALL.to_vec()),
            millis in 1_u64..1_000_000,
        ) {
            let value = millis * 1000;
            let quoted = |items: &[String]| items.iter().map(|item| format!("{item:?}")).collect::<Vec<_>>().join(", ");
            let text = format!(
                "designated: {designated}\nallow: {{read: [{}], env: [{}]}}\nlimits: {{{}: {}}}\n",
                quoted(&paths), quoted(&names), limit.key(),
                if limit.unit() == crate::LimitUnit::Micros { limit.show(value) } else { value.to_string() },
            );
            let file = PolicyFile::parse(&text).unwrap();
            let values = |list: Vec<Located<String>>| list.into_iter().map(|item| item.value).collect::<Vec<_>>();
            prop_assert_eq!(values(file.rules.allow.read), paths);
            prop_assert_eq!(values(file.rules.allow.env), names);
            prop_assert_eq!(file.rules.designated, Some(designated));
            prop_assert_eq!(file.rules.limits.get(limit), Some(value));
        }
    }
}
