//! What runs is what was verified, in every kind: payloads that Ansible sends, providers, documentation, and what `inspect` shows.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use modbox_closure::Part;
use modbox_kinds::ansiballz::{DottedName, Payload, zip_text};
use modbox_trust::statement::Statement;
use serde_json::Value;

use crate::supply::trust::trust_parts::{BASIC, BASIC_NAME, HOSTILE, MODULE, OWN, OWN_NAME, Parts, REQUIRED, core};
use crate::supply::trust::trust_place::{digest, signed, statement};
use crate::support::{Modbox, modbox};

/// The program that ansible-core would send.
pub(crate) fn packed(files: &[(&str, &str)]) -> String {
    let module = DottedName::parse("ansible.modules.m");
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), Arc::from(text.as_bytes()))).collect();
    let zip = zip_text(&Payload { module, has_loader: false, files }).unwrap();
    let params = "'{\"ANSIBLE_MODULE_ARGS\": {\"_ansible_module_name\": \"m\"}}'";
    format!(
        "_ANSIBALLZ_WRAPPER = True\ndef _ansiballz_main(zip_data):\n    pass\nif __name__ == \"__main__\":\n    \
         _ansiballz_main(ansible_module='m', module_fqn='ansible.modules.m', profile='legacy', rlimit_nofile=0, \
         params={params}, extensions={{}}, zip_data='{zip}')\n"
    )
}

#[test]
fn a_module_that_ansible_sends_is_verified_with_its_payload() {
    let parts = Parts::new(REQUIRED);
    let program = parts.dir.mkdir("bin").join("modbox-python");
    symlink(modbox(), &program).unwrap();
    let config = parts.dir.join("home/.config/modbox/policy.yaml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::copy(parts.dir.join("policy.yaml"), &config).unwrap();
    parts.dir.write("m.py", MODULE);
    let own = Part::of(OWN_NAME, OWN.as_bytes());
    let statement = Statement { parts: vec![own], ..statement(&parts.dir.join("m.py"), Some("acme/m"), None) };
    parts.dir.write(&format!("signatures/{}.sig", statement.digest), signed(statement, &[1]));
    parts.sign_core(2);
    let marker = "from pkgutil import extend_path\n__path__=extend_path(__path__,__name__)\n";
    let root = format!("{marker}__version__=\"2.19.99\"\n__author__=\"test\"\n");
    let payload = |basic: &str, own: &str, more: &[(&str, &str)]| {
        let files = [
            ("ansible/__init__.py", root.as_str()),
            ("ansible/modules/__init__.py", ""),
            ("ansible/module_utils/__init__.py", marker),
            (BASIC_NAME, basic),
            (OWN_NAME, own),
            ("ansible/modules/m.py", MODULE),
        ];
        let path = parts.dir.write("sent.py", packed(&[&files[..], more].concat()));
        Modbox::of(&program, &parts.dir).own_cache(&parts.dir).arg(path).run()
    };
    let honest = payload(BASIC, OWN, &[]);
    assert_eq!(honest.exits_with(0).json()["word"], "honest");
    for (basic, own, more, because) in [
        (HOSTILE, OWN, &[][..], BASIC_NAME),
        (BASIC, HOSTILE, &[], OWN_NAME),
        (BASIC, OWN, &[("ansible/module_utils/more.py", HOSTILE)], "more.py"),
        (BASIC, OWN, &[("json/__init__.py", HOSTILE)], "json/__init__.py"),
        (BASIC, OWN, &[("ansible/module_utils/own/__init__.py", "")], "own/__init__.py"),
        (BASIC, OWN, &[("ansible/module_utils/basic/__init__.py", "")], "basic/__init__.py"),
    ] {
        let ran = payload(basic, own, more).exits_with(4);
        let message = ran.json()["msg"].as_str().unwrap().to_owned();
        assert!(message.contains("requires a signature") && message.contains(because), "{because}: {message}");
    }
}

#[test]
fn the_metadata_beside_a_provider_is_signed_with_it() {
    let parts = Parts::new("  require-signature: true\n");
    let yaml =
        "provider:\n  type: thing\n  invoke: json\n  actions: [list]\n  suitable: true\n  attributes:\n    name: {}\n";
    let provider = parts.dir.write("data/providers/thing.prov", "#!/bin/sh\necho '{\"resources\": []}'\n");
    fs::set_permissions(&provider, fs::Permissions::from_mode(0o755)).unwrap();
    let beside = parts.dir.write("data/providers/thing.yaml", yaml);
    let list =
        || Modbox::new(&parts.dir).args(["resource", "--policy", "policy.yaml", "--include", "data", "thing"]).run();
    let sign = |listed: Vec<Part>| {
        let statement = Statement { parts: listed, ..statement(&provider, None, None) };
        parts.dir.write("data/providers/thing.prov.sig", signed(statement, &[1]));
    };
    sign(vec![]);
    let told = list().stderr_text();
    assert!(told.contains("does not cover the part `thing.yaml`"), "{told}");
    sign(vec![Part::of("thing.yaml", yaml.as_bytes())]);
    list().exits_with(0);
    fs::write(&beside, yaml.replace("name: {}", "name: {access: write}")).unwrap();
    assert!(list().stderr_text().contains("does not cover the part `thing.yaml`"));
    fs::remove_file(&beside).unwrap();
    assert!(list().stderr_text().contains("lacks the part `thing.yaml`"));
}

#[test]
fn documentation_that_makes_options_paths_is_signed_with_the_module() {
    let parts = Parts::new("  require-signature: true\n");
    parts.dir.write("lib/m.py", "#!/bin/sh\necho '{\"word\": \"honest\"}'\n");
    parts.sign(&[]);
    parts.runs();
    parts.dir.write("lib/m.yml", "DOCUMENTATION:\n  options:\n    text: {type: path, access: write}\n");
    parts.refuses("does not cover the part `m.yml`");
    parts.sign(&["m.yml"]);
    parts.runs();
    parts.dir.write("lib/m.yml", "DOCUMENTATION:\n  options:\n    other: {type: path, access: write}\n");
    parts.refuses("does not cover the part `m.yml`");
}

#[test]
fn inspect_shows_the_parts_of_what_runs() {
    let parts = Parts::new("");
    let facts = parts.facts();
    let names: Vec<&str> =
        facts["parts"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert!(names.contains(&BASIC_NAME) && names.contains(&OWN_NAME), "{names:?}");
    assert_eq!(facts["digest"], parts.run(&[]).json()["module"]["digest"]);
    // `sha256sum` of what `inspect` shows is the digest.
    let line = |part: &Value| format!("{}  {}\n", part["digest"].as_str().unwrap(), part["name"].as_str().unwrap());
    let own = format!("{}  ansible/legacy/m.py\n", facts["file_digest"].as_str().unwrap());
    let listed: String = facts["parts"].as_array().unwrap().iter().map(line).collect();
    let text = format!("modbox-closure-v1\n{own}{listed}");
    assert_eq!(facts["digest"], format!("sha256:{}", digest(text.as_bytes())));
}

/// Signs a module with all parts that `inspect` shows.
fn sign_whole(parts: &Parts, module: &str) {
    let facts = parts.command(&["inspect", "--json", module]).run().exits_with(0).json();
    let part = |part: &Value| {
        let digest = part["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
        Part { name: part["name"].as_str().unwrap().to_owned(), digest }
    };
    let listed = facts["parts"].as_array().unwrap().iter().map(part).collect();
    let statement = Statement { parts: listed, ..statement(&parts.dir.join(module), Some("acme/m"), None) };
    parts.dir.write(&format!("{module}.sig"), signed(statement, &[1]));
}

/// Each of these files is covered by the signature: with other bytes, or without it, the module does not run.
#[track_caller]
fn is_covered(parts: &Parts, module: &str, files: &[(&str, &str)], env: (&str, &str)) {
    let run = || parts.command(&["run", "--policy", "policy.yaml", module]).env(env.0, env.1).run();
    assert_eq!(run().exits_with(0).json()["word"], "honest");
    for (path, name) in files {
        let honest = fs::read(parts.dir.join(path)).unwrap();
        parts.dir.write(path, [&honest[..], b"\n# more\n"].concat());
        let message = run().exits_with(4).json()["msg"].as_str().unwrap().to_owned();
        assert!(message.contains(&format!("does not cover the part `{name}`")), "{name}: {message}");
        parts.dir.write(path, honest);
    }
    assert_eq!(run().exits_with(0).json()["word"], "honest");
}

#[test]
fn utilities_and_fragments_of_a_collection_are_signed_with_its_modules() {
    let parts = Parts::new(REQUIRED);
    let root = "ansible_collections/a/b/plugins";
    let documentation =
        "DOCUMENTATION = '''\nmodule: m\nextends_documentation_fragment: a.b.shared\noptions: {}\n'''\n";
    let imports = "from ansible.module_utils.basic import tell\nfrom ansible_collections.a.b.plugins.module_utils.word import WORD\n";
    let module = format!("{root}/modules/m.py");
    parts.dir.write(&module, format!("{documentation}{imports}tell(WORD)\n"));
    parts.dir.write(&format!("{root}/module_utils/word.py"), OWN);
    let fragment = "class ModuleDocFragment:\n    DOCUMENTATION = '''\noptions:\n  path: {type: path}\n'''\n";
    parts.dir.write(&format!("{root}/doc_fragments/shared.py"), fragment);
    sign_whole(&parts, &module);
    let [word, shared] = ["module_utils/word.py", "doc_fragments/shared.py"].map(|file| format!("{root}/{file}"));
    is_covered(&parts, &module, &[(&word, &word), (&shared, &shared)], ("STAGE", "test"));
}

#[test]
fn the_scripts_of_a_powershell_module_are_signed_with_it() {
    let parts = Parts::new(REQUIRED);
    for name in ["bootstrap_wrapper", "exec_wrapper", "module_wrapper"] {
        parts.dir.write(&core(&format!("executor/powershell/{name}.ps1")), "# honest\n");
    }
    let program = "#!/bin/sh\ncat > /dev/null\necho '{\"changed\": false, \"word\": \"honest\"}'\n";
    let folder = parts.dir.write_executable("bin/pwsh", program).parent().unwrap().display().to_string();
    parts.dir.write("lib/w.ps1", "#!powershell\n#AnsibleRequires -PowerShell Ansible.ModuleUtils.Own\n");
    let own = "Ansible.ModuleUtils.Own.psm1";
    parts.dir.write(&format!("lib/module_utils/{own}"), "Function Get-Word {}\n");
    sign_whole(&parts, "lib/w.ps1");
    let wrapper = "executor/powershell/exec_wrapper.ps1";
    let files = [
        (format!("lib/module_utils/{own}"), format!("module_utils/{own}")),
        (core(wrapper), format!("ansible/{wrapper}")),
    ];
    let files = files.each_ref().map(|(path, name)| (path.as_str(), name.as_str()));
    let path = format!("{folder}:/usr/bin:/bin");
    is_covered(&parts, "lib/w.ps1", &files, ("PATH", &path));
}
