//! Compares the contracts of all releases that modbox knows with these releases: the reserved arguments, the files that are made
//! from modules, and the result registered for an output.

use std::sync::Arc;

use modbox_contract::{
    CallerChoices, Dict, GivenSecrets, ModuleArgs, ModuleResult, RawOutput, Release, ResultLines, Value, decode, encode,
};
use modbox_kinds::detect::detect;
use modbox_kinds::powershell::NoPowershell;
use modbox_kinds::{Kind, PrepareError, PreparedInvocation, Request};

use crate::core::contract::oracle_contract::{ask_with, base64};
use crate::core::contract::oracle_results::{OUTPUTS, questions};
use crate::support::oracle;
use crate::support::sample::Random;

/// Pieces of modules: every token, what is almost one, and what stands around them.
const PIECES: &[&str] = &[
    "\"<<ANSIBLE_VERSION>>\"",
    "<<ANSIBLE_VERSION>>",
    "\"<<INCLUDE_ANSIBLE_MODULE_COMPLEX_ARGS>>\"",
    "<<INCLUDE_ANSIBLE_MODULE_COMPLEX_ARGS>>",
    "<<SELINUX_SPECIAL_FILESYSTEMS>>",
    "<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>",
    "<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>",
    "<<INCLUDE_ANSIBLE_MODULE_WINDOWS_ARGS>>",
    "\"<<INCLUDE_ANSIBLE_MODULE_ARGS>>\"",
    "syslog.LOG_USER",
    "syslog.LOG_USERS",
    "WANT_JSON",
    "\"",
    "'",
    "\\",
    "\n",
    "\r\n",
    " x = ",
    "é",
];

const LINES: &[&str] = &[
    "#!/bin/sh",
    "#!/bin/sh -e",
    "#! /usr/bin/perl  -w 'a b'",
    "#!/usr/bin/python3",
    "#!/usr/bin/python3  -u\r",
    "#!/usr/bin/env python3",
    "#!python",
];

const VALUES: &[&str] = &[
    r#""plain""#,
    r#""it's \"é\" \\ \n \u2028 \ud83d\ude00""#,
    r#""\udcff lone""#,
    r#""syslog.LOG_USER <<SELINUX_SPECIAL_FILESYSTEMS>> <<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>""#,
    r#""\"<<ANSIBLE_VERSION>>\" <<ANSIBLE_VERSION>>""#,
    "[1, 2.50, true, null, 123456789012345678901234567890]",
    r#"{"z": {"b": 1, "a": []}, "a": -0.0}"#,
];

fn dict(value: Value) -> Dict {
    match value {
        Value::Dict(dict) => dict,
        other => panic!("{other:?}"),
    }
}

/// A module, its arguments and variables of its host.
fn generated(random: &mut Random) -> (Vec<u8>, Dict, Dict) {
    let mut module = (*random.pick(LINES)).to_owned();
    if random.below(12) > 0 {
        module.push('\n');
    }
    for _ in 0..random.below(9) {
        module += *random.pick(PIECES);
    }
    let mut args: Vec<String> = (0..random.below(4)).map(|n| format!("\"k{n}\": {}", random.pick(VALUES))).collect();
    let mut vars = vec![r#""ansible_python_interpreter": "/opt/python3""#.to_owned()];
    if random.below(3) == 0 {
        let facility = random.pick(&["LOG_LOCAL7", "LOG_USER", "LOG_é"]);
        args.push(format!(r#""_ansible_syslog_facility": "{facility}""#));
        vars.push(format!(r#""ansible_syslog_facility": "{facility}""#));
    }
    if random.below(2) == 0 {
        vars.push(r#""ansible_perl_interpreter": " /opt/perl ", "ansible_env_interpreter": "/opt/env""#.to_owned());
    }
    let object = |entries: Vec<String>| dict(decode(&format!("{{{}}}", entries.join(", "))).unwrap());
    (module.into_bytes(), object(args), object(vars))
}

fn kind_of(answer: &Dict) -> Kind {
    match answer["style"].as_str().unwrap() {
        "new" => Kind::Jsonargs,
        "non_native_want_json" => Kind::WantJson,
        "old" => Kind::OldStyle,
        other => panic!("no module is {other}"),
    }
}

fn prepare(
    release: Release,
    kind: Kind,
    module: &[u8],
    args: &Dict,
    vars: &Dict,
) -> Result<PreparedInvocation, PrepareError> {
    let interpreters = vars.iter().filter_map(|(key, value)| {
        let name = key.strip_prefix("ansible_")?.strip_suffix("_interpreter")?;
        Some((name.to_owned(), value.as_str()?.to_owned()))
    });
    let request = Request {
        module_name: "module",
        file_name: "module",
        path: "/library/module",
        bytes: &Arc::from(module),
        args: ModuleArgs::Complete(args),
        tmpdir: "/t",
        interpreters: &interpreters.collect(),
        default_python: None,
        python: None,
        release,
        pipelining: false,
        powershell: &NoPowershell,
        secrets: &GivenSecrets::default(),
        open_files: 0,
    };
    modbox_kinds::prepare(kind, &request)
}

/// Returns the releases that this machine has a Python for.
fn testable() -> impl Iterator<Item = Release> {
    Release::ALL.into_iter().filter(|release| oracle::is_testable(release.version()))
}

#[test]
fn what_is_made_of_a_module_agrees_with_every_release() {
    let mut random = Random::new(0x7e91ace5);
    let cases: Vec<_> = (0..1500).map(|_| generated(&mut random)).collect();
    let asked: Vec<_> = cases
        .iter()
        .map(|(module, args, vars)| {
            let parts = [("bytes", base64(module).into()), ("args", Value::Dict(args.clone()))];
            let mut question = dict(Value::from(parts));
            question.insert("vars".to_owned(), Value::Dict(vars.clone()));
            Value::Dict(question)
        })
        .collect();
    for release in testable() {
        let answers = ask_with(&oracle::python_of(release.version()), "replacer.py", &asked);
        let mut replaced = 0;
        for ((module, args, vars), answer) in cases.iter().zip(answers) {
            let Some(theirs) = answer.get("bytes").and_then(Value::as_str) else {
                // An open quote in the first line.
                assert_eq!(answer["error"].as_str(), Some("ValueError"));
                let kind = detect(module).expect("it is text").kind;
                assert!(prepare(release, kind, module, args, vars).is_err());
                continue;
            };
            let prepared = prepare(release, kind_of(&answer), module, args, vars)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(module)));
            let ours = &prepared.invocation.files[0].contents;
            assert_eq!(
                theirs,
                base64(ours),
                "{release}: {:?} became {:?}",
                String::from_utf8_lossy(module),
                String::from_utf8_lossy(ours)
            );
            replaced += usize::from(**ours != **module);
        }
        assert!(replaced > 500, "{replaced} of {} modules were changed", cases.len());
    }
}

#[test]
fn reserved_arguments_agree_with_every_release() {
    let settings = [
        r#"{}"#,
        r#"{"debug": true, "module_name": "ansible.builtin.ping"}"#,
        r#"{"shell_executable": "/bin/bash", "selinux_special_fs": ["x", "y"]}"#,
        r#"{"selinux_special_fs": []}"#,
    ];
    let vars = r#"{"ansible_syslog_facility": "LOG_LOCAL0", "ansible_socket": "/run/s"}"#;
    for release in testable() {
        let mut asked = Vec::new();
        let mut expected = Vec::new();
        for setting in settings {
            for (check, vars) in [(false, "{}"), (true, vars)] {
                let mut internal = dict(decode(setting).unwrap());
                let mut choices: CallerChoices = serde_json::from_str(setting).unwrap();
                choices.contract = release;
                let vars = dict(decode(vars).unwrap());
                if !vars.is_empty() {
                    choices.syslog_facility = Some("LOG_LOCAL0".to_owned());
                    choices.socket = Some("/run/s".to_owned());
                }
                if release >= Release::V2_19 {
                    internal.insert("ignore_unknown_opts".to_owned(), check.into());
                    choices.ignore_unknown_opts = check;
                }
                for key in ["check", "diff", "no_log"] {
                    internal.insert(key.to_owned(), check.into());
                }
                internal.insert("tmpdir".to_owned(), "/t/".into());
                let args = dict(decode(r#"{"a": 1, "b": {"z": 2, "y": 3}}"#).unwrap());
                let mut question = dict(Value::from([("args", Value::Dict(args.clone())), ("vars", vars.into())]));
                question.insert("internal".to_owned(), internal.into());
                asked.push(Value::Dict(question));
                let mut ours = choices.internal_args(choices.module_name.as_deref().unwrap_or("module"));
                (ours.check_mode, ours.diff, ours.no_log) = (check, check, check);
                ours.tmpdir = Some("/t/".to_owned());
                expected.push(encode(&Value::Dict(ours.append_to(args))));
            }
        }
        let answers = ask_with(&oracle::python_of(release.version()), "replacer.py", &asked);
        for (ours, answer) in expected.iter().zip(answers) {
            assert_eq!(Some(ours.as_str()), answer["args"].as_str(), "{release}");
        }
    }
}

#[test]
fn results_agree_with_older_releases() {
    for release in [Release::V2_9, Release::V2_14] {
        let answers = ask_with(&oracle::python_of(release.version()), "registered.py", &questions());
        for ((stdout, stderr, rc), answer) in OUTPUTS.iter().zip(answers) {
            let raw = RawOutput { stdout, stderr, rc: *rc, shebang: Some("/bin/sh") };
            let mut ours = ModuleResult::parse_as(&raw, ResultLines::Ansible, release).into_dict();
            let registered = decode(answer["registered"].as_str().unwrap_or_default());
            let mut registered = match registered {
                Ok(Value::Dict(registered)) => registered,
                // Python keeps such a key, but output that contains one is never accepted as a result.
                Err(error) if error.surrogate_key().is_some() => continue,
                other => panic!("{release}: {other:?}"),
            };
            comparable(&mut ours, &mut registered);
            for dict in [&mut ours, &mut registered] {
                dict.sort_unstable_keys();
            }
            let (ours, registered) = (encode(&Value::Dict(ours)), encode(&Value::Dict(registered)));
            assert_eq!(ours, registered, "{release}: {:?}", String::from_utf8_lossy(stdout));
        }
    }
}

/// Removes intended differences, and values that differ from run to run.
fn comparable(ours: &mut Dict, registered: &mut Dict) {
    // These releases only show it to the user, in the controller's words.
    let own = ["Module invocation had junk", "Removed unexpected internal key", "Found internal 'results' key"];
    let of_runner =
        |warning: &Value| warning.as_str().is_some_and(|warning| own.iter().any(|start| warning.starts_with(start)));
    if let Some(Value::List(warnings)) = ours.get_mut("warnings") {
        let had = warnings.len();
        warnings.retain(|warning| !of_runner(warning));
        if warnings.is_empty() && had > 0 {
            ours.shift_remove("warnings");
        } else if let ([only], true) =
            (&warnings[..], registered.get("warnings").is_some_and(|sent| sent.as_list().is_none()))
        {
            // A value that is not a list becomes a list when an item is added to it.
            let only = only.clone();
            ours.insert("warnings".to_owned(), only);
        }
    }
    // A crash of Ansible has Ansible's traceback, not the module's output.
    if registered.get("msg").and_then(Value::as_str).is_some_and(|msg| msg.starts_with("Unexpected failure")) {
        registered.retain(|key, _| ["msg", "failed"].contains(&key.as_str()));
        ours.retain(|key, _| ["msg", "failed"].contains(&key.as_str()));
    }
    for key in ["module_stdout", "module_stderr"] {
        if let Some(shown) = registered.get_mut(key)
            && let Value::Surrogates(text) = shown
        {
            let bytes = text.to_bytes().expect("they come from bytes");
            *shown = String::from_utf8_lossy(&bytes).into();
        }
    }
}
