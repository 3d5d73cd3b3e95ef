//! Secrets of Python modules are in nothing that modbox tells: modules of ansible-core's class, natively and in the sandbox,
//! whose spec is in their source or made while they run.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::python::oracle_python_places::INSTALLED;
use crate::secret_hunt::{Teller, hunt};
use crate::support::{TestDir, modbox, oracle};

/// A module that tells its secrets in all ways, and comes to the end that it is told.
const TEXT: &str = r#"#!/usr/bin/python
import os, sys
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r'''
module: teller
options:
  token: {type: str, description: x}
  d: {type: str, description: x}
'''

def tell(text, tree):
    with open(tree + '/f', 'a') as file:
        file.write('a %s b\n' % text)
    os.symlink(text, tree + '/l-' + text)
    os.mkdir(tree + '/d-' + text)
    try:
        os.setxattr(tree + '/f', 'user.' + text, text.encode())
    except (OSError, AttributeError):
        pass
    sys.stderr.write('E: %s\n' % text)

def main():
    module = AnsibleModule(argument_spec=SPEC)
    p = module.params
    secrets = [p['token']] + p['codes'] + [login['pin'] for login in p['logins']]
    for secret in secrets:
        if not os.path.lexists(p['d'] + '/l-' + secret):
            tell(secret, p['d'])
        module.log('L: ' + secret)
    said = dict(msg='M: %s' % secrets, changed=True, values=secrets)
    if p['end'] == 'fail':
        module.fail_json(**said)
    if p['end'] == 'raise':
        raise ValueError(repr(secrets))
    if p['end'] == 'junk':
        print('no result: %s' % secrets)
        sys.exit(4)
    if p['end'] == 'denied':
        open('/srv/' + secrets[0])
    print('junk before: %s' % secrets)
    module.warn('W: ' + secrets[0])
    module.exit_json(**said)

if __name__ == '__main__':
    main()
"#;

/// Options with secrets in their source.
const LITERAL: &str = "dict(token=dict(no_log=True, aliases=['key']), codes=dict(type='list', elements='str', no_log=True), \
    logins=dict(type='list', elements='dict', options=dict(name=dict(), pin=dict(no_log=True))), d=dict(), end=dict())";

/// The same, of which nothing in the source says that they are secret.
const MADE: &str = "dict((name, dict(option, **({'no' + '_log': True} if name in ('token', 'codes') else {}))) for name, option in \
    dict(token=dict(aliases=['key']), codes=dict(type='list', elements='str'), d=dict(), end=dict(), \
    logins=dict(type='list', elements='dict', options=dict(name=dict(), pin=dict(**{'no' + '_log': True})))).items())";

fn arguments(secret: &str, end: &str, tree: &Path) -> Value {
    let logins = json!([{"name": "n", "pin": format!("{secret}pin")}]);
    json!({"key": secret, "codes": [format!("c{secret}"), secret], "logins": logins, "d": tree, "end": end})
}

fn module(dir: &TestDir, spec: &str) -> PathBuf {
    dir.write("modules/teller.py", TEXT.replace("SPEC", spec))
}

fn switches(python: &Path, place: &str) -> Vec<String> {
    ["--interpreter", python.to_str().unwrap(), "--python", place].map(str::to_owned).to_vec()
}

#[test]
fn secrets_in_the_source_of_a_module_are_told_nowhere() {
    let dir = TestDir::new();
    let (module, variables) = (module(&dir, LITERAL), Vec::new());
    let switches = switches(&oracle::python(), "native");
    let ends = &["ok", "fail", "raise", "junk", "denied"];
    hunt(&Teller { module, arguments, ends, switches, variables, no_log: false }, 0x5ec3);
}

#[test]
fn secrets_that_the_result_tells_are_told_nowhere_else() {
    let dir = TestDir::new();
    let (module, variables) = (module(&dir, MADE), Vec::new());
    let switches = switches(&oracle::python(), "native");
    hunt(&Teller { module, arguments, ends: &["ok", "fail"], switches, variables, no_log: false }, 0x5ec4);
}

#[test]
fn secrets_of_a_module_in_the_sandbox_are_told_nowhere() {
    let dir = TestDir::new();
    let module = module(&dir, LITERAL);
    let variables = vec![("XDG_CACHE_HOME".to_owned(), INSTALLED.dir.join("home/.cache"))];
    let switches = switches(&INSTALLED.python, "wasm");
    let ends = &["ok", "fail", "raise", "junk", "denied"];
    hunt(&Teller { module, arguments, ends, switches, variables, no_log: false }, 0x5ec5);
}

/// Since ansible-core 2.21, a result repeats the arguments only where its controller asks for that. modbox asks always, since it
/// learns there which of them are secrets, and returns what the controller asked for.
#[test]
fn a_result_repeats_the_arguments_for_those_who_ask() {
    const SECRET: &str = "Wq8x5Lr2";
    let dir = TestDir::new();
    let (_, tree) = (module(&dir, MADE), dir.mkdir("tree"));
    let link = dir.mkdir("bin").join("modbox-python");
    symlink(modbox(), &link).unwrap();
    dir.write("home/.config/modbox/policy.yaml", json!({"allow": {"write": [tree]}}).to_string());
    for version in [oracle::version(), oracle::SETTLED] {
        // Of results that repeat them always, ansible-core 2.19 drops them in registered variables.
        let is_kept = version != oracle::SETTLED;
        for asks in [false, true] {
            let run = |python: &Path| -> Value {
                std::fs::remove_dir_all(&tree).unwrap();
                dir.mkdir("tree");
                let task = json!({
                    "teller": arguments(SECRET, "ok", &tree),
                    "vars": {"ansible_python_interpreter": python, "ansible_inject_invocation": asks},
                });
                let mut play = oracle::ansible_of(version, &dir, "playbook");
                play.env("ANSIBLE_LIBRARY", dir.join("modules"));
                let text = oracle::play_by(play, &dir, &[task], &[]);
                serde_json::from_str::<Value>(&text).unwrap()[0].clone()
            };
            let (ours, theirs) = (run(&link), run(&oracle::python_of(version)));
            for key in ["invocation", "msg", "values", "changed"] {
                assert_eq!(ours.get(key), theirs.get(key), "{version}, {key}: {ours}");
            }
            assert_eq!(ours.get("invocation").is_some(), asks && is_kept, "{version}: {ours}");
            assert!(ours["warnings"].to_string().contains("W: ********"), "{version}: {ours}");
            assert!(!ours.to_string().contains(SECRET), "{version}: {ours}");
        }
    }
    dir.assert_nothing_left();
}
