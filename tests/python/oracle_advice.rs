//! Tasks with ansible-core's own modules succeed when the advice of each failed run is followed to the letter.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::python::python_closure::package;
use crate::support::{TestDir, follow, oracle};

/// Modules and their arguments. `%` is the task's own directory.
const TASKS: &[(&str, &[&str])] = &[
    ("file", &["path=%/new", "state=touch"]),
    ("file", &["path=%/a/b/c", "state=directory"]),
    ("file", &["path=%/old", "state=absent"]),
    ("file", &["path=%/old", "mode=0600"]),
    ("file", &["path=%/folder", "state=directory", "mode=0700", "recurse=true"]),
    ("copy", &["src=%/old", "dest=%/copied", "remote_src=true"]),
    ("copy", &["src=%/old", "dest=%/folder/", "remote_src=true"]),
    ("copy", &["src=%/old", "dest=%/exists", "remote_src=true", "validate=/usr/bin/test -f %s"]),
    ("lineinfile", &["path=%/old", "line=x"]),
    ("lineinfile", &["path=%/none", "line=x", "create=true"]),
    ("lineinfile", &["path=%/link", "line=x"]),
    ("blockinfile", &["path=%/old", "block=x"]),
    ("replace", &["path=%/old", "regexp=old", "replace=new"]),
    ("assemble", &["src=%/folder", "dest=%/assembled"]),
    ("stat", &["path=%/old"]),
    ("slurp", &["src=%/old"]),
    ("find", &["paths=%/folder"]),
    ("tempfile", &["path=%/folder", "state=file"]),
    ("tempfile", &["state=directory"]),
    ("unarchive", &["src=%/x.tar.gz", "dest=%/folder", "remote_src=true"]),
    ("get_url", &["url=file://%/old", "dest=%/got"]),
    ("wait_for", &["path=%/old", "search_regex=old", "timeout=3"]),
    ("getent", &["database=passwd", "key=root"]),
    ("command", &["_raw_params=cat %/old"]),
    ("command", &["_raw_params=rm %/old"]),
    ("command", &["_raw_params=mkdir -p %/p/q"]),
    ("command", &["_raw_params=ls -l %/old"]),
    ("command", &["_raw_params=test -e %/old"]),
    ("command", &["_raw_params=cp %/old %/copied"]),
    ("command", &["_raw_params=mv %/old %/moved"]),
    ("command", &["_raw_params=sed -i s/old/new/ %/old"]),
    ("command", &["_raw_params=%/program"]),
    ("command", &["_raw_params=chmod 600 %/old"]),
    ("command", &["cmd=/bin/ls", "chdir=%/folder"]),
    ("command", &["cmd=/usr/bin/touch %/made", "creates=%/made"]),
];

fn prepared() -> TestDir {
    let dir = TestDir::new();
    for (name, text) in [("old", "old\n"), ("exists", "there\n"), ("folder/1", "1\n"), ("folder/2", "2\n")] {
        dir.write(name, text);
    }
    dir.write_executable("program", "#!/bin/sh\necho hi\n");
    symlink("old", dir.join("link")).unwrap();
    let packed = Command::new("tar").current_dir(dir.path()).args(["czf", "x.tar.gz", "exists"]).status().unwrap();
    assert!(packed.success());
    dir
}

#[test]
fn advice_leads_to_the_end() {
    let modules = package(&oracle::python()).join("modules");
    let one = |(module, args): &(&str, &[&str])| {
        let dir = prepared();
        let root = dir.path().display().to_string();
        let args: Vec<String> =
            args.iter().map(|arg| arg.replace('%', &root).replace(&format!("{root}s"), "%s")).collect();
        follow(&dir, &modules.join(format!("{module}.py")), &args)
            .err()
            .map(|error| format!("{module} {args:?}: {error}"))
    };
    let stuck: Vec<String> = TASKS.iter().filter_map(one).collect();
    assert!(stuck.is_empty(), "{} of {} are stuck:\n{}", stuck.len(), TASKS.len(), stuck.join("\n"));
}
