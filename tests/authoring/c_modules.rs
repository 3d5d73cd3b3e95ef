//! Core modules for WASI 0.1, built by a C compiler, get the same input as components and are guarded in the same way.

use std::fs;

use serde_json::json;

use crate::support::{Modbox, TestDir, c_core};

#[test]
fn a_core_module_is_given_what_a_component_is_given() {
    let dir = TestDir::new();
    let result =
        Modbox::run_module(&dir, c_core("authoring/kinds/hello.c")).json_args(&json!({"name": "core", "n": 2})).run();
    let expect = json!({"changed": false, "failed": false, "greeting": "hello core", "n": 2});
    assert_eq!(result.exits_with(0).json(), expect);
}

#[test]
fn a_core_module_replaces_a_granted_file_and_sees_no_other() {
    let dir = TestDir::new();
    let (motd, neighbour) = (dir.write("etc/motd", "old"), dir.write("etc/neighbour", "secret"));
    let ran = Modbox::run_module(&dir, c_core("authoring/kinds/replace.c"))
        .arg(format!("path={}", motd.display()))
        .arg("--allow-write")
        .arg(&motd)
        .run()
        .exits_with(0);
    assert_eq!(ran.json()["seen"], "replaced, neighbour: Permission denied");
    assert_eq!((fs::read(&motd).unwrap(), fs::read(&neighbour).unwrap()), (b"from C".to_vec(), b"secret".to_vec()));
    dir.assert_nothing_left();
}
