//! What runs is what was verified, in every kind: payloads that Ansible sends, providers, documentation, and what `inspect` shows.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use modbox_kinds::ansiballz::{DottedName, Payload, zip_text};
use modbox_trust::closure::Part;
use modbox_trust::statement::Statement;
use serde_json::Value;

use crate::support::{Modbox, modbox};
use crate::trust_parts::{BASIC, BASIC_NAME, HOSTILE, MODULE, OWN, OWN_NAME, Parts, REQUIRED};
use crate::trust_place::{digest, signed, statement};

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
