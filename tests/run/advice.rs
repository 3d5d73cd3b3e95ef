//! What a failed run advises works when it is followed to the letter, and names no more than is needed.

use crate::support::{Modbox, TestDir, follow};

/// A module without documentation, so that nothing is designated. It runs the code in `do` with `path`.
const MODULE: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json, os, subprocess, sys, tempfile
args = json.load(open(sys.argv[1]))
try:
    exec(args["do"], {"path": args.get("path"), "os": os, "tempfile": tempfile, "sh": lambda line: subprocess.check_output(line, shell=True)})
    print(json.dumps({"changed": False}))
except Exception as error:
    print(json.dumps({"failed": True, "msg": repr(error)}))
"#;

fn prepared() -> TestDir {
    let dir = TestDir::new();
    dir.write("module.py", MODULE);
    dir.write("data/file", "text");
    dir.write("data/inner/file", "text");
    dir
}

/// Follows the advice for a piece of code with `path`, and compares the options of the last run. `%` is the test's
/// directory.
#[track_caller]
fn check(code: &str, path: Option<&str>, expect: &[&str]) {
    let dir = prepared();
    let root = dir.path().display().to_string();
    let args: Vec<String> = [Some(format!("do={code}")), path.map(|path| format!("path={path}"))]
        .into_iter()
        .flatten()
        .map(|word| word.replace('%', &root))
        .collect();
    let options = follow(&dir, &dir.join("module.py"), &args).unwrap_or_else(|error| panic!("{code}: {error}"));
    let pairs: Vec<String> = options.chunks(2).map(|pair| pair.join(" ").replace(&root, "%")).collect();
    assert_eq!(pairs, expect, "{code}");
}

#[test]
fn a_path_that_an_argument_names_is_designated() {
    check("open(path)", Some("%/data/file"), &["--designate path:read"]);
    check("open(path, 'w')", Some("%/data/file"), &["--designate path:write"]);
    check("open(path, 'w')", Some("%/data/new"), &["--designate path:write"]);
    check("os.listdir(path)", Some("%/data"), &["--designate path:read"]);
    check("open(path + '/inner/new', 'w')", Some("%/data"), &["--designate path:write"]);
}

#[test]
fn a_temporary_stands_for_the_file_that_it_replaces() {
    let replace = "name = tempfile.mkstemp(dir=os.path.dirname(path))[1]; os.rename(name, path)";
    check(replace, Some("%/data/file"), &["--designate path:write"]);
    check("sh('sed -i s/x/y/ %/data/file')", None, &["--allow-read %/data/file", "--allow-write %/data/file"]);
}

#[test]
fn looks_are_seen() {
    check("assert os.access(path, os.R_OK)", Some("%/data/file"), &["--designate path:read"]);
    let both = ["--allow-read %/data/file", "--allow-write %/data/file"];
    check("assert os.access('%/data/file', os.W_OK)", None, &both);
    check("assert os.stat(path)", Some("%/data/file"), &["--designate path:read"]);
    check("sh('test -e %/data/file')", None, &["--allow-read %/data/file"]);
    check("os.chdir(path)", Some("%/data"), &["--designate path:read"]);
    check("os.listxattr(path)", Some("%/data/file"), &["--designate path:read"]);
}

#[test]
fn a_change_by_name_needs_both_names() {
    check(
        "os.rename('%/data/file', '%/data/other')",
        None,
        &["--allow-write %/data/file", "--allow-write %/data/other"],
    );
    check("os.remove(path)", Some("%/data/file"), &["--designate path:write"]);
    let remove = "import shutil; shutil.rmtree(path)";
    check(remove, Some("%/data/inner"), &["--designate path:read", "--designate path:write", "--allow-write %/data"]);
}

#[test]
fn directories_that_exist_are_not_made() {
    let make = "os.makedirs(os.path.dirname(path), exist_ok=True); open(path, 'w')";
    check(make, Some("%/data/new"), &["--designate path:write"]);
    // Nothing below `new` can be granted before it exists.
    check(make, Some("%/data/new/deep/file"), &["--allow-write %/data"]);
}

#[test]
fn directories_and_links_need_the_directory_around_them() {
    check("os.mkdir(path)", Some("%/data/new"), &["--allow-write %/data"]);
    check("os.symlink('file', path)", Some("%/data/link"), &["--allow-write %/data"]);
}

#[test]
fn a_directory_for_writing_does_not_contradict_what_was_granted_inside_it() {
    let both = ["--allow-read %/data/file", "--allow-write %/data", "--allow-write %/data/file"];
    check("open('%/data/file').read(); os.mkdir('%/data/made')", None, &both);
}

#[test]
fn a_new_directory_that_an_option_names_needs_nothing_else() {
    let dir = prepared();
    let path = dir.join("data/new").display().to_string();
    let args = ["do=os.mkdir(path)", &format!("path={path}"), "--designate", "path:write"].map(str::to_owned);
    let options = follow(&dir, &dir.join("module.py"), &args).unwrap();
    assert!(options.is_empty(), "{options:?}");
    assert!(dir.join("data/new").is_dir());
}

#[test]
fn a_file_in_the_home_of_the_caller_is_granted_by_its_name() {
    check("open(os.path.expanduser('~/made'), 'w')", None, &["--allow-write %/home/made"]);
}

#[test]
fn what_no_option_allows_has_none() {
    let dir = prepared();
    let args = [format!("do=open('{}/no/such')", dir.path().display()), "path=/no/such".to_owned()];
    let stuck = follow(&dir, &dir.join("module.py"), &args).unwrap_err();
    assert!(stuck.contains("stuck after []"), "{stuck}");
}

#[test]
fn advice_is_where_people_look() {
    let dir = prepared();
    let file = dir.join("data/file").display().to_string();
    let run = |format: &str| {
        let args = ["do=open(path, 'w')".to_owned(), format!("path={file}"), "--output".to_owned(), format.to_owned()];
        Modbox::run_module(&dir, dir.join("module.py")).args(args).run()
    };
    let line = format!("changing `{file}` was denied; allow it with `--designate path:write`");
    assert_eq!(run("result").json()["warnings"], serde_json::json!([format!("modbox: {line}")]));
    let shown = run("human").stdout_text().to_owned();
    assert_eq!(shown.matches(&line).count(), 1, "{shown}");
    assert!(shown.contains("denied: "), "{shown}");
}
