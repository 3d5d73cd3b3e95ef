//! Tests of the actions around modules: which modules they run with which arguments, and what they return.
//!
//! A machine in memory has files, and answers the modules that actions run before their own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use modbox_python_json::{Dict, Value, decode, encode, encode_dict};
use modbox_template::Engine;

use crate::action_host::{
    ActionHost, HostError, HostErrorKind, ModuleCall, ModuleRun, Prompt, PromptError, ResourceRun,
};
use crate::actions::table;
use crate::files::{PlayFiles, SharedFiles};
use crate::load::context::{ActionNames, LoadSettings, Loader};
use crate::load::playbook;
use crate::memory_files::MemoryFiles;
use crate::model::task::short_name;
use crate::report::events::{Event, Events};
use crate::run::playbooks::playbook as run;
use crate::run_options::RunOptions;

const PLAY_FILES: &[(&str, &str)] = &[
    ("/p/files/a.txt", "hello {{ x }}\n"),
    ("/p/files/s.sh", "#!/bin/sh\n"),
    ("/p/files/d/f1", "1"),
    ("/p/files/d/sub/f2", "2"),
    ("/p/files/frag/10", "A"),
    ("/p/files/frag/20", "B\n"),
    ("/p/files/frag/.x", "X"),
    ("/p/templates/t.j2", "{{ v }} {{ template_destpath }} {% include 'i.j2' %}\n"),
    ("/p/templates/i.j2", "{{ ansible_managed }}"),
    ("/p/templates/bad.j2", "{{ nope }}"),
    ("/denied/a", "secret"),
];

/// The machine: its files, and the modules that ran.
struct Machine {
    files: Arc<MemoryFiles>,
    machine: BTreeMap<String, String>,
    calls: Vec<ModuleCall>,
}

impl Machine {
    fn answer(&self, call: &ModuleCall) -> Value {
        let text = |name: &str| call.args.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = text("path").trim_end_matches('/');
        let found = self.machine.get(path);
        let is_folder = self.machine.keys().any(|file| file.starts_with(&format!("{path}/")));
        match short_name(&call.name) {
            "stat" => match found {
                Some(content) => {
                    let checksum = modbox_checksum::sha1(content.as_bytes());
                    decode(&format!(r#"{{"stat": {{"exists": true, "isdir": false, "checksum": "{checksum}"}}}}"#))
                        .unwrap()
                }
                None => decode(&format!(r#"{{"stat": {{"exists": {is_folder}, "isdir": {is_folder}}}}}"#)).unwrap(),
            },
            "file" if call.args.contains_key("_diff_peek") => {
                Value::from([("state", if found.is_some() { "file" } else { "absent" })])
            }
            "slurp" => match self.machine.get(text("src")).or(found) {
                Some(content) => {
                    Value::from([("content", STANDARD.encode(content)), ("encoding", "base64".to_owned())])
                }
                None => decode(r#"{"failed": true, "msg": "file not found: x"}"#).unwrap(),
            },
            "setup" => {
                decode(r#"{"ansible_facts": {"ansible_pkg_mgr": "apt", "ansible_service_mgr": "systemd"}}"#).unwrap()
            }
            "command" => decode(r#"{"rc": 0, "stdout": "out\n", "stderr": "", "cmd": "x", "start": "now"}"#).unwrap(),
            _ => decode(r#"{"changed": true}"#).unwrap(),
        }
    }
}

impl ActionNames for Machine {
    fn is_known(&self, name: &str, _: &[String]) -> bool {
        table::is_builtin(name) || matches!(short_name(name), "apt" | "systemd" | "dnf" | "setup")
    }

    fn folder_found(&self, _: &str) {}
}

impl ActionHost for Machine {
    fn run_module(&mut self, call: &ModuleCall) -> Result<ModuleRun, HostError> {
        self.calls.push(call.clone());
        match self.answer(call) {
            Value::Dict(result) => Ok(ModuleRun { result, report: Value::Null }),
            _ => Err(HostError { message: "no answer".to_owned(), kind: HostErrorKind::Internal, report: None }),
        }
    }

    fn manage_resource(&mut self, call: &ModuleCall) -> Result<ResourceRun, HostError> {
        self.calls.push(call.clone());
        let result = decode(r#"{"changed": true, "resource": {"name": "n"}, "warnings": ["w"]}"#).unwrap();
        let result = result.as_dict().unwrap().clone();
        Ok(ResourceRun { result, reports: vec![Value::from("find"), Value::from("update")] })
    }

    fn files(&self) -> &dyn PlayFiles {
        &*self.files
    }

    fn shared_files(&self) -> SharedFiles {
        self.files.clone()
    }

    fn host_name(&self) -> String {
        "machine".to_owned()
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn local_time(&self, _: Duration) -> String {
        "2026-01-02 03:04:05".to_owned()
    }

    fn sleep(&mut self, _: Duration) {}

    fn prompt(&mut self, _: &Prompt) -> Result<String, PromptError> {
        Err(PromptError::NotInteractive)
    }

    fn resolve(&self, name: &str, _: &[String]) -> Option<String> {
        Some(format!("ansible.builtin.{}", short_name(name)))
    }

    fn action_group(&self, _: &str) -> Option<Vec<String>> {
        None
    }
}

/// The results of tasks.
#[derive(Default)]
struct Results(Vec<Dict>);

impl Events for Results {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Result { outcome, .. } = event {
            self.0.push(outcome.data.clone());
        }
    }
}

pub(crate) struct TaskEnd {
    calls: Vec<ModuleCall>,
    result: Dict,
}

impl TaskEnd {
    pub(crate) fn calls(&self) -> String {
        self.calls.iter().map(|call| short_name(&call.name)).collect::<Vec<_>>().join(" ")
    }

    fn last(&self) -> &ModuleCall {
        self.calls.last().unwrap()
    }

    pub(crate) fn args(&self) -> String {
        encode_dict(&self.last().args)
    }

    fn content(&self) -> String {
        String::from_utf8_lossy(&self.last().files[0].content).into_owned()
    }

    pub(crate) fn text(&self, key: &str) -> String {
        self.result.get(key).map(encode).unwrap_or_default()
    }
}

/// Runs a task, in which `$` begins each further line.
fn task_with(text: &str, options: &RunOptions) -> TaskEnd {
    let play = format!(
        "- hosts: localhost\n  gather_facts: false\n  vars: {{v: val, o: 5}}\n  tasks:\n  - {}\n",
        text.replace("$ ", "\n    ")
    );
    let mut files = PLAY_FILES.to_vec();
    files.push(("/p/play.yml", &play));
    let machine = [("/m/same", "hello {{ x }}\n"), ("/m/other", "old\n"), ("/m/dir/x", "")];
    let machine = machine.map(|(path, content)| (path.to_owned(), content.to_owned())).into();
    let mut host = Machine { files: Arc::new(MemoryFiles::new(&files)), machine, calls: Vec::new() };
    let (engine, settings) = (Engine::default(), LoadSettings::default());
    let playbook = {
        let loader = Loader::new(&*host.files, &engine, &host, &settings);
        playbook::read(&loader, "/p/play.yml").unwrap_or_else(|errors| panic!("{errors}"))
    };
    let mut results = Results::default();
    run::run(std::slice::from_ref(&playbook), &engine, &mut host, &mut results, options, &settings);
    TaskEnd { calls: host.calls, result: results.0.pop().unwrap_or_default() }
}

pub(crate) fn task(text: &str) -> TaskEnd {
    task_with(text, &RunOptions::default())
}

/// Checks that a task fails with a part of a message, after these modules.
#[track_caller]
pub(crate) fn fails(text: &str, calls: &str, part: &str) {
    let ran = task(text);
    assert!(ran.text("failed") == "true" && ran.text("msg").contains(part), "{text}: {}", encode_dict(&ran.result));
    assert_eq!(ran.calls(), calls, "{text}");
}

#[test]
fn copy_hands_the_content_over_as_a_private_file() {
    let ran = task("copy: {src: a.txt, dest: /m/new.conf, mode: '0600'}");
    assert_eq!((ran.calls().as_str(), ran.content().as_str()), ("stat copy", "hello {{ x }}\n"));
    let file = &ran.last().files[0];
    assert_eq!((file.argument[0].as_str(), file.name.as_str(), file.mode), ("src", ".source.conf", 0o600));
    let checksum = modbox_checksum::sha1(b"hello {{ x }}\n");
    let expect = format!(
        r#"{{"dest": "/m/new.conf", "mode": "0600", "_original_basename": "a.txt", "follow": false, "checksum": "{checksum}"}}"#
    );
    assert_eq!(ran.args(), expect);
    assert_eq!(ran.text("checksum"), format!("\"{checksum}\""));
    assert!(ran.last().provenance.iter().all(|(_, provenance)| !provenance.has_results()));
}

#[test]
fn copy_only_sets_attributes_where_the_content_is_there() {
    let ran = task("copy: {src: a.txt, dest: /m/same, mode: preserve}");
    assert_eq!(ran.calls(), "stat file");
    let expect =
        r#"{"mode": "0640", "dest": "/m/same", "_original_basename": "a.txt", "recurse": false, "state": "file"}"#;
    assert_eq!(ran.args(), expect);
    assert!(ran.last().files.is_empty());
}

#[test]
fn copy_takes_all_forms() {
    assert_eq!(task("copy: {src: a.txt, dest: /m/dir}").calls(), "stat stat copy");
    assert_eq!(task("copy: {content: x, dest: /m/other, force: false}").calls(), "stat");
    assert_eq!(
        task("copy: {src: /m/x, dest: /m/y, remote_src: true}").args(),
        r#"{"src": "/m/x", "dest": "/m/y", "remote_src": true}"#
    );
    assert!(!task("copy: {content: x, dest: /m/j}").result.contains_key("invocation"));
    let told = RunOptions { repeats_arguments: true, ..RunOptions::default() };
    let ran = task_with("copy: {content: {a: [1, 'é']}, dest: /m/j}", &told);
    assert_eq!(ran.content(), r#"{"a": [1, "\u00e9"]}"#);
    assert!(ran.text("invocation").contains("CENSORED: content is a no_log parameter"));
    assert!(!encode_dict(&ran.result).contains("u00e9"));
    let ran = task("copy: {src: d, dest: /m/t, directory_mode: '0750'}");
    assert_eq!(ran.calls(), "stat stat file copy stat stat file copy file");
    let expect = r#"{"path": "/m/t/d/sub", "state": "directory", "mode": "0750", "recurse": false}"#;
    assert_eq!(ran.args(), expect);
    assert_eq!((ran.text("dest").as_str(), ran.text("src").as_str()), ("\"/m/t/\"", "\"/p/files/d\""));
}

#[test]
fn copy_fails_as_ansible_does() {
    fails("copy: {dest: /m/x}", "", "src (or content) is required");
    fails("copy: {src: a.txt}", "", "dest is required");
    fails("copy: {src: a.txt, content: x, dest: /m/x}", "", "src and content are mutually exclusive");
    fails("copy: {content: x, dest: /m/x/}", "", "can not use content with a dir as dest");
    fails("copy: {content: x, dest: /m/dir}", "stat", "can not use content with a dir as dest");
    fails("copy: {src: none, dest: /m/x}", "", "Could not find or access 'none'");
    fails("copy: {src: /denied/a, dest: /m/x}", "", "--allow-read /denied/a");
    fails("copy: {src: a.txt, dest: /m/x, _diff_peek: true}", "", "Invalid parameter specified");
}

#[test]
fn check_mode_tells_and_changes_nothing() {
    let options = RunOptions { check: true, diff: true, ..RunOptions::default() };
    let ran = task_with("copy: {content: \"new\\n\", dest: /m/other}", &options);
    assert_eq!(ran.calls(), "stat file slurp");
    let expect = r#"[{"before_header": "/m/other", "before": "old\n", "after_header": "/m/other", "after": "new\n"}]"#;
    assert_eq!((ran.text("changed").as_str(), ran.text("diff").as_str()), ("true", expect));
    let ran = task_with("copy: {content: secret, dest: /m/other}$ no_log: true", &options);
    assert!(!encode_dict(&ran.result).contains("secret"), "{}", encode_dict(&ran.result));
    assert_eq!(task_with("script: s.sh", &options).calls(), "");
    assert_eq!(task_with("raw: x", &options).text("skipped"), "true");
    assert_eq!(task_with("uri: {url: 'http://x'}", &options).text("skipped"), "true");
    assert_eq!(task_with("fetch: {src: /m/other, dest: /f}", &options).text("skipped"), "true");
}

#[test]
fn template_renders_and_copies() {
    let ran = task("template: {src: t.j2, dest: /m/new, mode: '0604', trim_blocks: true}");
    assert_eq!((ran.calls().as_str(), ran.content().as_str()), ("stat copy", "val /m/new Ansible managed\n"));
    assert!(!ran.args().contains("trim_blocks") && ran.args().contains(r#""mode": "0604""#), "{}", ran.args());
    let ran = task("template: {src: t.j2, dest: /m/new, newline_sequence: '\\r\\n', output_encoding: utf-16-le}");
    assert_eq!(ran.last().files[0].content.len(), 2 * "val /m/new Ansible managed\r\n".len());
    fails("template: {src: t.j2}", "", "src and dest are required");
    fails("template: {src: none, dest: /m/x}", "", "Could not find or access 'none'");
    fails("template: {src: bad.j2, dest: /m/x}", "", "'nope' is undefined");
    fails("template: {src: t.j2, dest: /m/x, newline_sequence: x}", "", "newline_sequence needs to be one of");
    fails("template: {src: t.j2, dest: /m/x, output_encoding: x}", "", "unknown encoding: x");
}

#[test]
fn commands_have_the_script_in_them() {
    let ran = task("script: s.sh 'a b' s.sh");
    assert_eq!(ran.args(), r#"{"_raw_params": " 'a b' ", "_uses_shell": true, "strip_empty_ends": false}"#);
    let args = ran.last().args_with_paths(&["/private/s.sh".to_owned()]);
    assert_eq!(args["_raw_params"].as_str(), Some("/private/s.sh 'a b' /private/s.sh"));
    assert_eq!(ran.last().files[0].mode, 0o700);
    let expect =
        r#"{"rc": 0, "stdout": "out\n", "stdout_lines": ["out"], "stderr": "", "stderr_lines": [], "changed": true}"#;
    let kept = ["rc", "stdout", "stdout_lines", "stderr", "stderr_lines", "changed"];
    let result: Dict =
        kept.into_iter().filter_map(|key| Some((key.to_owned(), ran.result.get(key)?.clone()))).collect();
    assert_eq!(encode_dict(&result), expect);
    assert!(!ran.result.contains_key("cmd") && !ran.result.contains_key("start"));
    assert_eq!(task("script: s.sh$ args: {creates: /m/other}").text("skipped"), "true");
    assert_eq!(task("script: s.sh$ args: {removes: /m/none}").text("skipped"), "true");
    fails("script: {cmd: s.sh, chdir: x}", "", "chdir x must be an absolute path");
    fails("script: none.sh", "", "Could not find or access 'none.sh'");
    let ran = task("raw: echo x$ args: {executable: /bin/bash}");
    let expect =
        r#"{"_raw_params": "echo x", "_uses_shell": true, "strip_empty_ends": false, "executable": "/bin/bash"}"#;
    assert_eq!(ran.args(), expect);
}

#[test]
fn fetch_writes_by_a_module() {
    let ran = task("fetch: {src: /m/other, dest: out}");
    assert_eq!(ran.calls(), "stat slurp stat stat file copy stat");
    // The machine in memory does not keep what is written.
    assert_eq!((ran.text("failed").as_str(), ran.text("msg").as_str()), ("true", "\"checksum mismatch\""));
    let ran_without = task("fetch: {src: /m/other, dest: out, validate_checksum: false}");
    assert_eq!(ran_without.text("changed"), "true");
    assert_eq!(ran.text("dest"), "\"/p/out/localhost/m/other\"");
    assert_eq!(task("fetch: {src: /m/other, dest: /m/other, flat: true}").text("changed"), "false");
    fails("fetch: {src: /m/other, dest: /m/dir, flat: true}", "stat slurp stat", "dest is an existing directory");
    fails("fetch: {src: /m/none, dest: x}", "stat slurp", "the remote file does not exist, not transferring, ignored");
    fails("fetch: {src: /m/dir, dest: x}", "stat", "fetch cannot work on directories");
    fails("fetch: {src: /m/other}", "", "src and dest are required");
}

#[test]
fn assemble_joins_files_of_the_play() {
    let ran = task("assemble: {src: frag, dest: /m/a, remote_src: false, delimiter: '--', ignore_hidden: true}");
    assert_eq!((ran.calls().as_str(), ran.content().as_str()), ("copy", "A\n--\nB\n"));
    assert_eq!(ran.args(), r#"{"dest": "/m/a"}"#);
    assert_eq!(task("assemble: {src: /m/f, dest: /m/a}").args(), r#"{"src": "/m/f", "dest": "/m/a"}"#);
    fails("assemble: {src: a.txt, dest: /m/a, remote_src: false}", "", "is not a directory");
    fails("assemble: {src: frag, dest: /m/a, remote_src: false, regexp: '('}", "", "Invalid regexp");
}

#[test]
fn backends_are_chosen_by_facts() {
    let ran = task("package: {name: x}");
    assert_eq!((ran.calls().as_str(), ran.last().name.as_str()), ("setup apt", "ansible.legacy.apt"));
    assert_eq!(task("package: {name: x}$ vars: {ansible_facts: {pkg_mgr: dnf}}").calls(), "dnf");
    assert_eq!(task("package: {name: x, use: dnf}").args(), r#"{"name": "x"}"#);
    fails(
        "package: {name: x, use: brew}",
        "",
        "Could not find a matching action for the \\\"brew\\\" package manager.",
    );
    let ran =
        task("service: {name: x, sleep: 1}$ module_defaults: {systemd: {scope: user}, service: {state: started}}");
    assert_eq!(ran.calls(), "setup systemd");
    assert_eq!(ran.args(), r#"{"scope": "user", "state": "started", "name": "x"}"#);
    assert_eq!(task("service: {name: x, use: other}").last().name, "ansible.legacy.service");
    assert_eq!(task("dnf: {name: x, use_backend: dnf4}").args(), r#"{"name": "x"}"#);
    fails("dnf: {name: x}", "setup", "Could not detect which major revision of dnf is in use");
}

#[test]
fn files_of_requests_and_archives_are_private() {
    let ran = task("unarchive: {src: a.txt, dest: /m/dir}");
    assert_eq!((ran.calls().as_str(), ran.content().as_str()), ("stat unarchive", "hello {{ x }}\n"));
    assert_eq!(task("unarchive: {src: /m/a, dest: /m/dir, copy: false}").last().files.len(), 0);
    assert_eq!(task("unarchive: {src: a.txt, dest: /m/dir, creates: /m/other}").text("skipped"), "true");
    fails("unarchive: {src: a.txt, dest: /m/none}", "stat", "must be an existing dir");
    fails("unarchive: {src: 'http://x', dest: /m/dir}", "", "is only supported when remote_src is True");
    let ran = task("uri: {url: u, src: a.txt}");
    assert_eq!((ran.args().as_str(), ran.content().as_str()), (r#"{"url": "u"}"#, "hello {{ x }}\n"));
    let ran = task("uri: {url: u, body_format: form-multipart, body: {f: {filename: a.txt}, g: x}}");
    assert_eq!(ran.last().files[0].argument, ["body", "f", "filename"]);
    fails("uri: {url: u, body_format: form-multipart, body: x}", "", "body must be mapping, cannot be type str");
}

#[test]
fn other_actions_answer() {
    let ran = task("gather_facts: {gather_subset: min, filter: null}");
    assert_eq!((ran.calls().as_str(), ran.args().as_str()), ("setup", r#"{"gather_subset": "min"}"#));
    fails("async_status: {jid: '7'}", "", "could not find job");
    fails("async_status: {jid: '7', mode: x}", "", "value of mode must be one of: status, cleanup, got: x");
    let spec = "validate_argument_spec: {argument_spec: {o: {type: int}, n: {required: true}}, provided_arguments: ";
    assert_eq!(task(&format!("{spec}{{n: x}}}}")).text("msg"), r#""The arg spec validation passed""#);
    fails(&format!("{spec}{{}}}}"), "", "missing required arguments: n");
    fails(&format!("{spec}{{n: x, q: 1}}}}"), "", "q. Supported parameters include: n, o.");
}
