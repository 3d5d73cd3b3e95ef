//! Modules in C, Go, Python and JavaScript: `modbox build` builds them where their tools are installed, and names a
//! remedy where they are not.
//!
//! `polyglot.rs` tests that they all return the same result.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use modbox_authoring::PROJECT_FILES;

use crate::support::{LANGUAGES, Modbox, TestDir, example, language, tools_path};

/// Time limit on two busy cores.
const BUILD: Duration = Duration::from_secs(600);

#[test]
fn what_is_built_is_what_is_found() {
    assert_eq!(PROJECT_FILES, modbox_run::library::PROJECT_FILES);
}

#[test]
fn a_language_without_its_tools_says_how_to_get_them() {
    for (marker, remedy) in [
        ("main.c", "failed to find the tools that build a module in C: install zig (`pip install ziglang`"),
        ("go.mod", "failed to find the tools that build a module in Go: install Go 1.21 or newer"),
        ("main.py", "failed to find the tools that build a module in Python: run `pip install componentize-py`"),
        ("main.js", "failed to find the tools that build a module in JavaScript: install node"),
    ] {
        let dir = TestDir::new();
        dir.write(&format!("greet/{marker}"), "");
        let ran = Modbox::new(&dir).env("PATH", dir.join("nothing")).arg("build").arg(dir.join("greet")).run();
        let told = ran.exits_with(3).stderr_text();
        assert!(told.contains(remedy), "{marker}: {told}");
    }
}

#[test]
fn a_project_says_what_its_module_is() {
    for (name, kind) in LANGUAGES {
        let Some(module) = language(name) else { continue };
        let dir = TestDir::new();
        let doc = Modbox::new(&dir).arg("doc").arg(&module).run().exits_with(0).stdout_text();
        assert!(doc.contains("Returns a greeting") && doc.contains("path"), "{name}: {doc}");
        let told = Modbox::new(&dir).arg("inspect").arg(&module).run().exits_with(0).stdout_text();
        assert!(told.contains(kind), "{name}: {told}");
        let wrong = Modbox::new(&dir).arg("validate").arg(&module).arg("n=x").run().exits_with(1);
        assert!(wrong.stdout_text().contains("missing required arguments: name"), "{name}: {wrong}");
    }
}

#[test]
fn a_file_is_written_as_the_argument_that_names_it_grants() {
    for (name, _) in LANGUAGES {
        let Some(module) = language(name) else { continue };
        let dir = TestDir::new();
        let file = dir.mkdir("data").join("greeting");
        let run = |options: &[&str], path: &PathBuf| {
            let run = Modbox::run_module(&dir, &module).args(["name=wörld", "loud=yes"]).args(options);
            run.arg(format!("path={}", path.display())).run()
        };
        let result = run(&["--check"], &file).exits_with(0).json();
        assert_eq!((&result["changed"], &result["check"]), (&true.into(), &true.into()), "{name}: {result}");
        assert!(!file.exists(), "{name}");
        assert_eq!(run(&[], &file).exits_with(0).json()["changed"], true, "{name}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "hello wörld!\n", "{name}");
        assert_eq!(run(&[], &file).exits_with(0).json()["changed"], false, "{name}");
        fs::write(&file, "something that is longer than the greeting\n").unwrap();
        assert_eq!(run(&[], &file).exits_with(0).json()["changed"], true, "{name}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "hello wörld!\n", "{name}");
        let failed = run(&[], &dir.join("data")).exits_with(1).json();
        assert_eq!(failed["msg"], format!("{} is a folder", dir.join("data").display()), "{name}: {failed}");
        dir.assert_nothing_left();
    }
}

#[test]
fn a_new_project_builds_and_passes_its_case() {
    for (name, kind) in LANGUAGES {
        // The tools are installed, and those of JavaScript in the folder around the example.
        let Some(example) = example(name).filter(|_| language(name).is_some()) else { continue };
        let dir = TestDir::new();
        let modbox = || Modbox::new(&dir).env("PATH", tools_path()).patience(BUILD);
        let made = modbox().args(["new", "--language", name, "my_module"]).run().exits_with(0);
        assert!(made.stdout_text().contains("modbox run . name=world"), "{made}");
        let tools = example.parent().expect("it lies in a folder").join("node_modules");
        if tools.exists() {
            std::os::unix::fs::symlink(tools, dir.join("my_module/node_modules")).unwrap();
        }
        let told = modbox().args(["run", "--compile-time", "10m", "./my_module", "name=world"]).run().exits_with(0);
        assert_eq!(told.json()["greeting"], "hello world", "{name}: {told}");
        let tested = modbox().args(["test", "my_module"]).run().exits_with(0);
        assert_eq!(tested.stdout_text(), "ok     writes\n1 passed, 0 failed\n", "{name}");
        let told = modbox().args(["inspect", "./my_module"]).run().exits_with(0).stdout_text();
        assert!(told.contains(kind) && told.contains("my_module"), "{name}: {told}");
    }
}

#[test]
fn failures_are_told_alike() {
    for (name, _) in LANGUAGES {
        let Some(module) = language(name) else { continue };
        let dir = TestDir::new();
        for (args, message) in [
            (vec!["n=1"], "missing required arguments: name"),
            (
                vec!["name=x", "n=1.5"],
                "argument 'n' is of type str and we were unable to convert to int: \"'1.5'\" cannot be converted to an int",
            ),
            (
                vec!["name=x", "m=1"],
                "Unsupported parameters for (NAME) module: m. Supported parameters include: loud, n, name, path.",
            ),
        ] {
            let result = Modbox::run_module(&dir, &module).args(args).run().exits_with(1).json();
            let task = module.file_stem().unwrap().to_string_lossy();
            assert_eq!(result["msg"], message.replace("NAME", &task), "{name}: {result}");
        }
    }
}

#[test]
fn a_project_is_built_again_when_it_has_changed_and_not_before() {
    let dir = TestDir::new();
    for file in ["main.c", "modbox.h", "module.json"] {
        dir.write(&format!("greet/{file}"), fs::read_to_string(example("c").unwrap().join(file)).unwrap());
    }
    let project = dir.join("greet");
    let run = || {
        let run = Modbox::new(&dir).env("PATH", tools_path()).arg("run").arg(&project).arg("name=x");
        run.patience(BUILD).run()
    };
    let built = |told: &str| told.contains("building `greet_c`, which is written in C");
    assert!(built(&run().exits_with(0).stderr_text()));
    assert!(!built(&run().exits_with(0).stderr_text()));
    dir.write("greet/more.c", "int more = 1;\n");
    assert!(built(&run().exits_with(0).stderr_text()), "a new file");
    fs::remove_file(dir.join("greet/more.c")).unwrap();
    assert!(built(&run().exits_with(0).stderr_text()), "a file less");
    dir.write("greet/main.c", "int main(void) { return no; }\n");
    let told = run().exits_with(3).stderr_text();
    assert!(told.contains("main.c") && told.contains("failed with exit status: 1; see its messages"), "{told}");
    dir.write("greet/module.json", "{\"name\": \"../evil\"}");
    let told = run().exits_with(3).stderr_text();
    assert!(told.contains("the module name `../evil` is invalid"), "{told}");
    dir.write("greet/module.json", "{\"name\": 1}");
    let told = run().exits_with(3).stderr_text();
    assert!(told.contains("greet/module.json`") && told.contains("`name` in the metadata must be a string"), "{told}");
}

#[test]
fn a_module_in_go_and_the_adapter_share_no_memory() {
    let dir = TestDir::new();
    dir.write("greedy/go.mod", "module greedy\n\ngo 1.21\n");
    let text = r#"package main

import (
	"fmt"
	"os"
)

func main() {
	keep := [][]byte{}
	for range [64]int{} {
		block := make([]byte, 1<<20)
		for index := range block {
			block[index] = 0xff
		}
		keep = append(keep, block)
	}
	args, err := os.ReadFile(os.Args[1])
	fmt.Printf("{\"changed\": %v, \"blocks\": %d}\n", err != nil || len(args) == 0, len(keep))
}
"#;
    dir.write("greedy/main.go", text);
    let run =
        Modbox::new(&dir).env("PATH", tools_path()).args(["run", "--compile-time", "10m"]).arg(dir.join("greedy"));
    let result = run.patience(BUILD).run().exits_with(0).json();
    assert_eq!((&result["changed"], &result["blocks"]), (&false.into(), &64.into()), "{result}");
    assert!(!dir.join("greedy/modbox_reserved.go").exists());
}
