//! Errors of modbox are in words: without the numbers that Rust adds to errors of the system.

use std::fs;

use crate::support::{Modbox, TestDir, repository};

/// Files of the command line that may format errors with their causes by themselves.
const FORMATTER: &str = "cli/exit.rs";

#[test]
fn no_message_has_the_number_of_an_error() {
    let dir = TestDir::new();
    dir.write("a-file", "text");
    dir.mkdir("a-folder");
    dir.write("play.yml", "- hosts: all\n  tasks: []\n");
    dir.write_executable("m", "#!/no/such/interpreter\n# WANT_JSON\n");
    dir.write_executable("data/providers/p.prov", "#!/no/such/interpreter\n");
    dir.write_executable("ok", "#!/bin/sh\n# WANT_JSON\necho '{}'\n");
    for words in [
        &["run", "./missing"][..],
        &["run", "./m"],
        &["run", "./a-folder/x"],
        &["run", "./a-file/x"],
        &["run", "./ok", "--policy", "missing.yaml"],
        &["run", "./ok", "--policy", "a-folder"],
        &["run", "./ok", "--audit", "a-folder"],
        &["run", "./ok", "--audit", "a-file/x"],
        &["run", "./ok", "--args", "@missing"],
        &["run", "./ok", "--allow-read", "missing/x"],
        &["run", "./ok", "--allow-write", "a-file/x"],
        &["run", "./ok", "--learn", "a-file/x.yaml"],
        &["inspect", "./missing"],
        &["doc", "./a-file"],
        &["validate", "./missing"],
        &["policy", "check", "missing.yaml"],
        &["policy", "check", "a-folder"],
        &["policy", "suggest", "missing"],
        &["audit", "missing"],
        &["audit", "a-folder"],
        &["batch", "missing"],
        &["batch", "a-folder"],
        &["play", "missing.yml"],
        &["play", "a-folder"],
        &["play", "play.yml", "-e", "@missing"],
        &["template", "@missing"],
        &["template", "@a-folder"],
        &["new", "a-file/x"],
        &["build", "./missing"],
        &["test", "./missing"],
        &["resource", "--data-dir", "data"],
        &["resource", "--data-dir", "a-file/x"],
        &["status", "missing"],
        &["missing", "missing"],
    ] {
        let ran = Modbox::new(&dir).args(words).run();
        let said = ran.stdout_text() + &ran.stderr_text();
        assert!(!said.contains("os error"), "{words:?}: {said}");
        assert!(!said.is_empty(), "{words:?}");
    }
}

/// Errors of the command line that are formatted with `:#` keep their numbers; one function takes them out.
#[test]
fn one_function_formats_errors_with_their_causes() {
    let mut waiting = vec![repository().join("runner/src"), repository().join("runner/run/src")];
    let mut seen = 0;
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            seen += 1;
            for line in code.lines().filter(|_| !path.ends_with(FORMATTER)) {
                let formats =
                    ["{error:#}", "{why:#}", "{failure:#}", "format!(\"{:#}\""].iter().any(|form| line.contains(form));
                assert!(!formats, "{}: {line}; use `error_words`", path.display());
            }
        }
    }
    assert!(seen > 100, "{seen} files");
}
