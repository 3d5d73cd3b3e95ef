//! Files that Python modules embed in their payloads, since ansible-core 2.21: modbox packs the same files or refuses, as
//! ansible-core does, and modules find them, confined, by each way to run them.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::python::python_closure::{Case, compare, package};
use crate::support::{Modbox, TestDir, modbox, oracle};

/// Folder of the collection.
const COLLECTION: &str = "collections/ansible_collections/a/b";

const IMPORT: &str = "from ansible.module_utils.embed import EmbedManager\n";

/// What ansible-core packs, and what it refuses.
const RIGHT: [&str; 14] = [
    "{import}x = EmbedManager.embed('..module_utils.d', 'data.txt')",
    "{import}x = EmbedManager.embed('ansible_collections.a.b.plugins.module_utils.d', 'data.txt')",
    "{import}x = EmbedManager.embed('.', 'beside.txt')",
    "{import}x = EmbedManager.embed('.sub.deep', 'z-1.0.tar.gz')",
    "{import}x = EmbedManager.embed('ansible_collections.o.d.plugins.files', 'f')",
    "{import}x = EmbedManager.embed('ansible.module_utils._embed', 'dnf.py')",
    "{import}x = EmbedManager.embed('ansible.config', 'base.yml')",
    "{import}x = y = EmbedManager.embed('.', 'beside.txt')\nz = EmbedManager.embed('..module_utils.d', 'data.txt')",
    "from ansible.module_utils import embed as e\nx = e.EmbedManager.embed('.', 'beside.txt')",
    "from ansible.module_utils.embed import EmbedManager as E\nx = E.embed('.', 'beside.txt',)",
    "from ..module_utils.u import x",
    "try:\n    from ansible.module_utils.embed import EmbedManager\nexcept ImportError:\n    pass",
    "import ansible.module_utils.embed\nx = ansible.module_utils.embed.EmbedManager.embed('.', 'nowhere')",
    "{import}x = EmbedManager.embed('..module_utils', 'u.py')\nfrom ..module_utils import u",
];
const WRONG: [&str; 12] = [
    "{import}",
    "{import}EmbedManager.embed('.', 'beside.txt')",
    "{import}def f():\n    x = EmbedManager.embed('.', 'beside.txt')",
    "{import}x: object = EmbedManager.embed('.', 'beside.txt')",
    "{import}x = EmbedManager.embed('.', f'beside.txt')",
    "{import}x = EmbedManager.embed('.', resource='beside.txt')",
    "{import}x = EmbedManager.embed('.')",
    "{import}x = EmbedManager.embed('.', 'nowhere.txt')",
    "{import}x = EmbedManager.embed('.', 'sub')",
    "{import}x = EmbedManager.embed('.nowhere', 'beside.txt')",
    "{import}x = EmbedManager.embed('json', 'decoder.py')",
    "from ..module_utils.broken import x",
];

/// Writes the collection with its files.
fn collection(dir: &TestDir) {
    let write = |path: &str, text: &str| drop(dir.write(&format!("{COLLECTION}/{path}"), text));
    write("galaxy.yml", "");
    write("plugins/module_utils/d/data.txt", "words in a file\n");
    write("plugins/module_utils/d/script.py", "import sys\nprint('script', sys.argv[1:])\n");
    write("plugins/module_utils/u.py", &format!("{IMPORT}x = EmbedManager.embed('.d', 'data.txt')\n"));
    write("plugins/module_utils/broken.py", IMPORT);
    write("plugins/modules/beside.txt", "beside");
    write("plugins/modules/sub/deep/z-1.0.tar.gz", "\u{1}\u{0}");
    dir.write("collections/ansible_collections/o/d/plugins/files/f", "f");
}

/// Returns the interpreter of an environment with the newest release, if this machine has a Python for it.
fn newest() -> Option<std::path::PathBuf> {
    oracle::newest().map(oracle::python_of)
}

#[test]
fn dnf_is_packed_with_its_script() {
    let Some(python) = newest() else { return };
    let dir = TestDir::new();
    let dnf = package(&python).join("modules/dnf.py");
    let case = Case::new(&dir, &dnf, &python, &[]);
    assert_eq!(compare(&dir, &python, None, &[case]), 1, "`dnf` embeds a file");
}

#[test]
fn every_form_of_embed_is_packed_or_refused_as_by_ansible() {
    let Some(python) = newest() else { return };
    let dir = TestDir::new();
    collection(&dir);
    let collections = dir.join("collections");
    let case = |(number, text): (usize, &&str)| {
        let text =
            format!("from ansible.module_utils.basic import AnsibleModule\n{}\n", text.replace("{import}", IMPORT));
        let path = dir.write(&format!("{COLLECTION}/plugins/modules/m{number}.py"), text);
        Case::new(&dir, &path, &python, &["--module-utils", collections.to_str().unwrap()])
    };
    let cases: Vec<Case> = RIGHT.iter().chain(&WRONG).enumerate().map(case).collect();
    assert_eq!(compare(&dir, &python, None, &cases), RIGHT.len());
}

/// A module that reads its embedded file, and starts its embedded script as `dnf` does.
const MODULE: &str = r"
import sys
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.respawn import get_env_with_pythonpath
from ansible.module_utils.embed import EmbedManager
from ..module_utils.u import x

data = EmbedManager.embed('..module_utils.d', 'data.txt')
script = EmbedManager.embed('..module_utils.d', 'script.py')


def main():
    module = AnsibleModule(argument_spec=dict(), supports_check_mode=True)
    with data.path_context_manager as path:
        text = path.read_text()
    with x.path_context_manager as path:
        again = path.read_text()
    ran = module.run_command(
        [sys.executable, '-m', script.python_module_ref, 'word'], environ_update=get_env_with_pythonpath())
    module.exit_json(text=text, again=again, ran=ran)


if __name__ == '__main__':
    main()
";

#[test]
fn modules_find_their_files_by_each_way_to_run_them() {
    let Some(python) = newest() else { return };
    let dir = TestDir::new();
    collection(&dir);
    let module = dir.write(&format!("{COLLECTION}/plugins/modules/emb.py"), MODULE);
    let expect = json!(["words in a file\n", "words in a file\n", [0, "script ['word']\n", ""]]);
    let seen = |result: &Value| json!([result["text"], result["again"], result["ran"]]);

    let link = dir.mkdir("bin").join("modbox-python");
    symlink(modbox(), &link).unwrap();
    let tasks: Vec<Value> = [python.as_path(), &link]
        .iter()
        .flat_map(|python| {
            let vars = json!({"ansible_python_interpreter": python});
            [json!({"a.b.emb": {}, "vars": vars}), json!({"a.b.emb": {}, "vars": vars, "async": 60, "poll": 1})]
        })
        .collect();
    let mut play = oracle::ansible_of(oracle::newest().unwrap(), &dir, "playbook");
    play.env("ANSIBLE_COLLECTIONS_PATH", dir.join("collections"));
    let results: Vec<Value> = serde_json::from_str(&oracle::play_by(play, &dir, &tasks, &[])).unwrap();
    for (result, task) in results.iter().zip(&tasks) {
        assert_eq!(seen(result), expect, "{task}: {result}");
    }

    for form in ["cached", "zip"] {
        let ran = Modbox::run_module(&dir, &module).args(["--ansiballz", form, "--interpreter"]).arg(&python);
        let ran = ran.arg("--collections-path").arg(dir.join("collections")).own_cache(&dir).run().exits_with(0);
        assert_eq!(seen(&ran.json()), expect, "{form}: {ran}");
    }
    let file = dir.join("packed.py");
    let assembled = Modbox::new(&dir).args(["assemble", "--interpreter"]).arg(&python).arg("--output").arg(&file);
    assembled.arg("--module-utils").arg(dir.join("collections")).arg(&module).run().exits_with(0);
    let packed = Command::new(&python).arg(&file).stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(seen(&serde_json::from_slice(&packed.stdout).unwrap()), expect);
    dir.assert_nothing_left();
}

#[test]
fn an_embedded_file_is_a_part_of_its_module() {
    let Some(python) = newest() else { return };
    let dir = TestDir::new();
    collection(&dir);
    let module = dir.write(&format!("{COLLECTION}/plugins/modules/emb.py"), MODULE);
    let run = || {
        let ran = Modbox::run_module(&dir, &module).args(["--output", "report", "--interpreter"]).arg(&python);
        ran.arg("--collections-path").arg(dir.join("collections")).own_cache(&dir).run().exits_with(0).json()
    };
    let digest = |report: &Value| report["module"]["digest"].as_str().unwrap().to_owned();
    let before = run();
    assert_eq!(digest(&before), digest(&run()));
    dir.write(&format!("{COLLECTION}/plugins/module_utils/d/data.txt"), "other words\n");
    let after = run();
    assert_ne!(digest(&before), digest(&after));
    assert_eq!(after["result"]["text"], "other words\n", "the cache has the new file");
    std::fs::remove_file(dir.join(&format!("{COLLECTION}/plugins/module_utils/d/data.txt"))).unwrap();
    let ran = Modbox::run_module(&dir, &module).arg("--interpreter").arg(&python).own_cache(&dir);
    let ran = ran.arg("--collections-path").arg(dir.join("collections")).run().exits_with(3);
    let message = ran.json()["msg"].as_str().unwrap().to_owned();
    let place = "failed to pack `ansible_collections.a.b.plugins.modul";
    assert!(message.contains(place) && message.contains("Embed resource 'data.txt' not found"), "{message}");
    dir.assert_nothing_left();
}
