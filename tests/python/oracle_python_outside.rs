//! Ansible's own modules that start programs of the system, in Python in the sandbox, with commands outside: results and files of plain
//! Ansible. And where such modules run under `python: auto`.
//!
//! Each side runs in a mount namespace in which `/etc` is a copy; see `core/native/oracle_outside.rs`.

use serde_json::{Value, json};

use crate::core::oracle_outside::{MAKING, compare, sides};
use crate::python::oracle_python_places::{INSTALLED, modbox, module};
use crate::support::{TestDir, oracle, prefixed};

/// Tasks that go on without homes, and remove all: what the sandbox sees is granted when a task starts.
const REST: &str = r#"    - {name: another group, user: {name: outsider, groups: [mail], append: true, create_home: false}, register: g}
    - {name: a password, user: {name: outsider, password: $6$abc$IB2mjUgCHjWNlkpsLHOXcnMqKwLdZVlq, create_home: false}, register: l}
    - {name: the same password, user: {name: outsider, password: $6$abc$IB2mjUgCHjWNlkpsLHOXcnMqKwLdZVlq, create_home: false}, register: m}
    - {name: no user, user: {name: outsider, state: absent}, register: h}
    - {name: no group, group: {name: outsiders, state: absent}, register: i}
    - {name: still none, group: {name: outsiders, state: absent}, register: j}
    - {name: left, group: {name: lefts, gid: 23459}, register: k}
    - name: results
      copy: {dest: "{{ results }}", content: "{{ [a, b, c, d, e, f, g, h, i, j, k, l, m] | to_json }}"}
"#;

#[test]
fn users_and_groups_are_those_of_plain_ansible() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (dir, python) = (TestDir::new(), &INSTALLED.python);
    let play = dir.write("play.yml", [MAKING, REST].concat());
    let plain = sides(&dir, "plain", |own, results| {
        let mut playbook = oracle::ansible_by(python, &dir, "playbook");
        playbook.arg(&play).args(["-i", "localhost,", "-c", "local", "-e", &format!("results={results}"), "-e"]);
        let ran = prefixed(own, playbook.arg(format!("ansible_python_interpreter={}", python.display()))).output();
        let ran = ran.unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    });
    let names = "[outsider, outsiders, lefts, mail]";
    let rules = format!("{{profiles: [{{manage-users: {names}}}]}}");
    let policy = dir.write("policy.yaml", format!("tasks: {{'*': {rules}}}\n"));
    let events = dir.join("events");
    let ours = sides(&dir, "ours", |own, results| {
        let folder = results.strip_suffix("/results").unwrap();
        let ran = modbox(python, &INSTALLED.dir)
            .arg("play")
            .arg(&play)
            .arg("--policy")
            .arg(&policy)
            .args([
                "--python",
                "wasm",
                "--allow-write",
                folder,
                "-e",
                &format!("results={results}"),
                "--output",
                "jsonl",
            ])
            .behind(|command| prefixed(own, &command))
            .run();
        std::fs::write(&events, ran.stdout_text()).unwrap();
        assert!(ran.status.success(), "{ran}");
    });
    compare(&plain, &ours);
    let places: Vec<String> = std::fs::read_to_string(&events)
        .unwrap()
        .lines()
        .filter_map(|line| {
            Some(serde_json::from_str::<Value>(line).ok()?["reports"][0]["python"]["place"].as_str()?.to_owned())
        })
        .collect();
    assert!(places.iter().filter(|place| *place == "wasm").count() >= 11, "{places:?}");
}

/// A module that runs commands and returns their ends.
const RUNS: &str = "    tool = module.params['path']\n    found['path'] = module.get_bin_path('modbox-test-tool', opt_dirs=[os.path.dirname(tool)]) == tool\n    \
                    found['ends'] = [module.run_command(words, data=data)[:2] for words, data in (\n        ([tool, 'ok'], None), ([tool, 'ok'], 'text'), ([tool, '/tmp/input'], None))]\n    \
                    try:\n        module.run_command([tool, 'no'], handle_exceptions=False)\n    except OSError as error:\n        found['other'] = error.errno\n    \
                    import subprocess\n    try:\n        subprocess.run([tool, b'o\\xff'])\n    except OSError as error:\n        found['bytes'] = error.errno\n    \
                    try:\n        subprocess.run([tool, 'slow'], timeout=1)\n    except subprocess.TimeoutExpired:\n        found['late'] = True";

#[test]
fn a_module_in_the_sandbox_runs_commands_outside() {
    let dir = TestDir::new();
    let noted = dir.join("noted");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" != slow ] || {{ trap 'echo asked >> {0}; exit 0' TERM; while :; do sleep 0.05; done; }}\n\
         echo \"$LC_ALL ${{LANG:-none}} $(pwd)\" >> {0}\n[ \"${{1#/}}\" = \"$1\" ] && cat || cat \"$1\"\n",
        noted.display()
    );
    let tool = dir.write_executable("theirs/modbox-test-tool", script);
    let text = module(&format!("    with open('/tmp/input', 'w') as file:\n        file.write('of a file')\n{RUNS}"));
    let source = dir.write("runs_outside.py", text);
    let rule = format!("{} (ok|slow|<input>)", tool.display());
    let run = |place: &str, words: &[&str]| {
        let run = modbox(&INSTALLED.python, &INSTALLED.dir).arg("run").arg(&source).report();
        run.args(["--python", place]).args(words).arg(format!("path={}", tool.display())).run()
    };
    let report = run("wasm", &["--allow-outside", &rule]).exits_with(0).json();
    let found = &report["result"]["found"];
    assert_eq!(found["ends"], json!([[0, ""], [0, "text\n"], [0, "of a file"]]), "{report:#}");
    // ENOENT, EILSEQ.
    let not_covered = json!([2, 84, true]);
    assert_eq!(json!([found["other"], found["bytes"], found["late"]]), not_covered, "{report:#}");
    assert_eq!((&found["path"], &report["python"]["place"]), (&json!(true), &json!("wasm")), "{report:#}");
    assert_eq!(report["outside"].as_array().unwrap().len(), 4, "{report:#}");
    let lines = std::fs::read_to_string(&noted).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(lines[3], "asked");
    assert!(lines[..3].iter().all(|line| line.ends_with(" /") && !line.contains("none")), "{lines:?}");
    // Natively, what no rule covers runs in the room, so `auto` does not change that.
    let native = run("auto", &["--allow-outside", &rule]).json();
    assert_eq!(native["python"]["place"], "native", "{native:#}");
}

#[test]
fn auto_runs_proven_modules_beside_rules_outside_in_the_sandbox() {
    let target = INSTALLED.dir.write("outside/target", "one\n");
    let place = |words: &[&str]| {
        let run =
            modbox(&INSTALLED.python, &INSTALLED.dir).args(["run", "--python", "auto", "--allow-outside", "true <n>"]);
        let run = run.args(["ansible.builtin.lineinfile", "line=two"]).args(words);
        let report = run.arg(format!("path={}", target.display())).report().run().json();
        let text = |key: &str| report["python"][key].as_str().unwrap_or_else(|| panic!("{report:#}")).to_owned();
        (text("place"), text("reason"))
    };
    assert_eq!(place(&[]).0, "wasm");
    // It may run a command that no rule covers, which runs in a native sandbox.
    let (native, reason) = place(&["validate=true %s"]);
    assert_eq!(native, "native");
    assert!(reason.contains("those that no rule covers run in native sandboxes alone"), "{reason}");
}
