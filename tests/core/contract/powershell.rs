//! New-style PowerShell modules get the same input as from the real ansible-core on Windows.
//!
//! These tests run without PowerShell. A stand-in stores its input, which is compared. That the wrappers then work is
//! ansible-core's responsibility, and not tested here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use modbox_contract::decode;
use serde_json::{Value, json};

use crate::core::contract::oracle_contract::ask_with;
use crate::support::{Modbox, TestDir, oracle};

/// Stand-in for PowerShell, which stores its arguments and its input.
const STAND_IN: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" > argv\ncat > payload\necho '{\"changed\": true}'\n";

/// Modules by path, with every form of a requirement, in every combination that Ansible treats differently.
const MODULES: &[(&str, &str)] = &[
    ("library/plain.ps1", "#!powershell\n#Requires -Version 5\n$complex_args.Keys\n"),
    (
        "library/legacy.ps1",
        "#!powershell\n#Requires -Module Ansible.ModuleUtils.Legacy\n#Requires -Module Ansible.ModuleUtils.SID\n",
    ),
    ("library/old.ps1", "#!powershell\n# POWERSHELL_COMMON\n$x = '# POWERSHELL_COMMON'\n"),
    (
        "library/crlf.ps1",
        "#!powershell\r\n#requires -module Ansible.ModuleUtils.FileUtil\r\n#Requires -Version 5.1\r\n\u{e9}\r\n",
    ),
    ("library/csharp.ps1", "#AnsibleRequires -CSharpUtil Ansible.Basic\n#AnsibleRequires -CSharpUtil Ansible.Become\n"),
    ("library/new", "#AnsibleRequires -PowerShell Ansible.ModuleUtils.WebRequest\n#AnsibleRequires -OSVersion 6.2\n"),
    ("library/own.ps1", "#AnsibleRequires -PowerShell Ansible.ModuleUtils.Own\n"),
    ("library/optional.ps1", "#AnsibleRequires -PowerShell Ansible.ModuleUtils.Nowhere -Optional\n"),
    ("library/elevated.ps1", "#AnsibleRequires -Become\n#Requires -Module Ansible.ModuleUtils.CommandUtil\n"),
    (
        "ansible_collections/a/b/plugins/modules/c.ps1",
        "#AnsibleRequires -PowerShell ..module_utils.One\n#AnsibleRequires -CSharpUtil ansible_collections.a.b.plugins.module_utils.Two\n",
    ),
];

/// Module utils that do not come from ansible-core.
const UTILS: &[(&str, &str)] = &[
    (
        "library/module_utils/Ansible.ModuleUtils.Own.psm1",
        "#Requires -Module Ansible.ModuleUtils.AddType\nFunction X {}\n",
    ),
    (
        "ansible_collections/a/b/plugins/module_utils/One.psm1",
        "#AnsibleRequires -CSharpUtil .Two\n#Requires -Version 6.0\n",
    ),
    ("ansible_collections/a/b/plugins/module_utils/Two.cs", "using Ansible.Process;\nusing System;\nclass Two {}\n"),
];

fn ansible(version: &str) -> PathBuf {
    oracle::packages_of(&oracle::python_of(version)).join("ansible")
}

fn prepare() -> TestDir {
    let dir = TestDir::new();
    for (path, text) in MODULES.iter().chain(UTILS) {
        dir.write(path, text);
    }
    dir.write_executable("bin/pwsh", STAND_IN);
    dir
}

fn run(dir: &TestDir, module: &str, options: &[&str]) -> Modbox {
    run_by(oracle::version(), dir, module, options)
}

fn run_by(version: &str, dir: &TestDir, module: &str, options: &[&str]) -> Modbox {
    let path = format!("{}:/usr/bin:/bin", dir.join("bin").display());
    let run = Modbox::run_module(dir, dir.join(module)).env("PATH", path).arg("--allow-all").args(options);
    run.arg("--module-utils").arg(ansible(version))
}

/// Returns the two documents of a payload. Lists that Ansible makes from sets are sorted.
fn documents(payload: &str) -> (Value, Value) {
    let (bootstrap, manifest) = payload.split_once("\n\0\0\0\0\n").expect("two documents");
    let mut manifest: Value = serde_json::from_str(manifest).unwrap();
    for action in manifest["actions"].as_array_mut().unwrap() {
        for key in ["CSharpModules", "PowerShellModules"] {
            if let Some(utils) = action["params"].get_mut(key) {
                let sorted: BTreeSet<String> = serde_json::from_value(utils.take()).unwrap();
                *utils = json!(sorted);
            }
        }
        // The order of the arguments in this text is that of the question.
        if let Some(args) = action["params"].get_mut("ArgumentJSON") {
            *args = serde_json::from_str(args.as_str().unwrap()).unwrap();
        }
    }
    (serde_json::from_str(bootstrap).unwrap(), manifest)
}

#[test]
fn what_powershell_is_handed_is_what_ansible_hands_to_it() {
    for version in [oracle::version(), oracle::SETTLED] {
        assert_handed(version);
    }
    oracle::warn_about_next(assert_handed);
}

fn assert_handed(version: &'static str) {
    let dir = prepare();
    let mut ours = Vec::new();
    let mut asked = Vec::new();
    for (module, _) in MODULES {
        let result = run_by(version, &dir, module, &["-a", r#"{"b": [1, null, "é"], "a": {"x": true}}"#])
            .run()
            .exits_with(0)
            .json();
        assert_eq!(result["changed"], true, "{module}");
        let (payload, argv) =
            (fs::read_to_string(dir.join("payload")).unwrap(), fs::read_to_string(dir.join("argv")).unwrap());
        let (_, manifest) = documents(&payload);
        let action = manifest["actions"].as_array().unwrap().last().unwrap();
        let params = &action["params"];
        // The name of the arguments since 2.22.
        let args = params.get("ArgumentJSON").unwrap_or_else(|| &params["Variables"][0]["Value"]);
        assert!(args["_ansible_tmpdir"].is_string(), "{args}");
        let name = match Path::new(module).file_stem().unwrap().to_str().unwrap() {
            "c" => "ansible_collections.a.b.plugins.modules.c".to_owned(),
            stem => format!("ansible.legacy.{stem}"),
        };
        let question = json!({"path": dir.join(module), "name": name, "args": args, "roots": [dir.path()]});
        asked.push(decode(&question.to_string()).unwrap());
        ours.push((payload, argv));
    }
    let answers = ask_with(&oracle::python_of(version), "powershell.py", &asked);
    for (((module, _), (payload, argv)), answer) in MODULES.iter().zip(ours).zip(answers) {
        assert!(answer.contains_key("payload"), "{module}: {answer:?}");
        let text = |key: &str| answer[key].as_str().unwrap().to_owned();
        let (bootstrap, manifest) = documents(&payload);
        let (their_bootstrap, their_manifest) = documents(&text("payload"));
        assert_eq!(bootstrap, their_bootstrap, "{version}, {module}");
        assert_eq!(manifest, their_manifest, "{version}, {module}");
        let command = format!("PowerShell {}", argv.trim_end().replace('\n', " "));
        assert_eq!(command, text("command"), "{version}, {module}");
    }
    dir.assert_nothing_left();
}

#[test]
fn the_payload_is_on_no_disk_unless_files_are_kept() {
    let dir = prepare();
    dir.write_executable("bin/pwsh", STAND_IN.replace("cat > payload", "readlink /proc/$$/fd/0 > payload"));
    run(&dir, "library/plain.ps1", &[]).run().exits_with(0);
    assert!(fs::read_to_string(dir.join("payload")).unwrap().starts_with("/memfd:"));
    dir.assert_nothing_left();
    let kept = run(&dir, "library/plain.ps1", &["--keep-files", "--output", "report"]).run().exits_with(0).json();
    let kept = kept["kept_files"].as_str().unwrap().to_owned();
    let file = format!("{kept}/AnsiballZ_plain.ps1");
    assert_eq!(fs::read_to_string(dir.join("payload")).unwrap().trim_end(), file);
    assert!(fs::read_to_string(file).unwrap().contains("complex_args"));
    fs::remove_dir_all(kept).unwrap();
}

#[test]
fn without_powershell_the_remedy_is_named() {
    let dir = prepare();
    let module = dir.join("library/legacy.ps1");
    let without = |path: &str| Modbox::run_module(&dir, &module).env("PATH", path).arg("--allow-all");
    let result = without("/nowhere").run().exits_with(3).json();
    assert!(result["msg"].as_str().unwrap().contains("--interpreter powershell=PATH"), "{result}");
    // With switches that name the interpreter and an ansible-core, it runs.
    let stand_in = format!("powershell={}", dir.join("bin/pwsh").display());
    without("/usr/bin:/bin")
        .args(["--interpreter", &stand_in])
        .arg("--module-utils")
        .arg(ansible(oracle::version()))
        .run()
        .exits_with(0);
    // Without a grant, the module runs, but reaches nothing.
    fs::remove_file(dir.join("payload")).unwrap();
    let confined = Modbox::run_module(&dir, &module)
        .args(["--interpreter", &stand_in, "--module-utils"])
        .arg(ansible(oracle::version()));
    let report = confined.report().run().json();
    assert!(report["confinement"]["level"].as_u64().unwrap() >= 2, "{report}");
    assert!(!dir.join("payload").exists());
    dir.assert_nothing_left();
}

#[test]
fn a_missing_util_is_named_with_the_places_that_were_searched() {
    let dir = prepare();
    dir.write("library/missing.ps1", "#AnsibleRequires -PowerShell Ansible.ModuleUtils.Nowhere\n");
    dir.write("library/outside.ps1", "#AnsibleRequires -PowerShell ansible_collections.a.b.plugins.module_utils...x\n");
    for module in ["library/missing.ps1", "library/outside.ps1"] {
        let result = run(&dir, module, &[]).run().exits_with(3).json();
        let msg = result["msg"].as_str().unwrap();
        assert!(msg.contains("which was not found") && msg.contains("library/module_utils"), "{msg}");
    }
}

/// An ansible-core whose wrapper needs more than modbox knows is refused before anything starts.
#[test]
fn a_wrapper_that_asks_for_more_is_refused_before_the_start() {
    let dir = prepare();
    let (core, newer) = (ansible(oracle::version()), dir.mkdir("newer/ansible"));
    fs::copy(core.join("release.py"), newer.join("release.py")).unwrap();
    std::os::unix::fs::symlink(core.join("module_utils"), newer.join("module_utils")).unwrap();
    let wrappers = dir.mkdir("newer/ansible/executor/powershell");
    for entry in fs::read_dir(core.join("executor/powershell")).unwrap().flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), wrappers.join(entry.file_name())).unwrap();
        }
    }
    let run = || {
        let path = format!("{}:/usr/bin:/bin", dir.join("bin").display());
        let run = Modbox::run_module(&dir, dir.join("library/plain.ps1")).env("PATH", path).arg("--allow-all");
        run.arg("--module-utils").arg(&newer).run()
    };
    run().exits_with(0);
    for (script, parameter) in [("module_wrapper.ps1", "Vaults"), ("exec_wrapper.ps1", "Depth")] {
        fs::remove_file(dir.join("payload")).unwrap();
        let path = wrappers.join(script);
        let (text, declared) = (fs::read_to_string(&path).unwrap(), format!("[Parameter(Mandatory)] ${parameter},"));
        let block = text.find("param").unwrap();
        let open = block + text[block..].find('(').unwrap() + 1;
        fs::write(&path, format!("{}{declared}{}", &text[..open], &text[open..])).unwrap();
        let result = run().exits_with(3).json();
        let msg = result["msg"].as_str().unwrap();
        assert!(msg.contains(&format!("`{script}` asks for `{parameter}`")) && msg.contains("update modbox"), "{msg}");
        assert!(!dir.join("payload").exists());
        fs::write(&path, text).unwrap();
        run().exits_with(0);
    }
    dir.assert_nothing_left();
}
