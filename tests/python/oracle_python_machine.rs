//! What Python modules in the sandbox see of the machine: its file systems, its log, and temporary files that they share with
//! commands.

use std::os::unix::net::UnixDatagram;

use serde_json::json;

use crate::python::oracle_python_places::{INSTALLED, modbox, module, run};
use crate::support::{NO_SMALL_DISK, with_small_disk};

#[test]
fn a_module_asks_how_much_space_there_is_where_it_may_look() {
    let dir = &INSTALLED.dir;
    let (granted, single, other) = (dir.mkdir("space"), dir.write("single/file", ""), dir.write("kept/file", ""));
    let statements = "    found['spaces'] = []\n    for path in module.params['path'].split(':') + [module.tmpdir, '/']:\n        \
         try:\n            space = os.statvfs(path)\n            \
         found['spaces'].append([space.f_blocks, space.f_frsize, space.f_files, space.f_namemax, space.f_fsid])\n        \
         except OSError as error:\n            found['spaces'].append(type(error).__name__)";
    let paths = [&granted, &single, &other, &dir.join("space/none")].map(|path| path.display().to_string());
    let grants = ["--allow-read", &paths[0], "--allow-write", &paths[1], "--python", "wasm"];
    let report =
        run("space", &module(statements), &[&grants[..], &[&format!("path={}", paths.join(":"))]].concat()).json();
    let space = rustix::fs::statvfs(&granted).unwrap();
    let there = json!([space.f_blocks, space.f_frsize, space.f_files, space.f_namemax, space.f_fsid]);
    let found = &report["result"]["found"]["spaces"];
    assert_eq!((&found[0], &found[1]), (&there, &there), "{report}");
    let (refused, missing) = (json!("PermissionError"), json!("FileNotFoundError"));
    assert_eq!((&found[2], &found[3]), (&refused, &missing), "{report}");
    assert!(found[4][0].as_u64() > Some(0), "its own directory: {report}");
    assert_eq!(found[5], "OSError", "{report}");
    let denials = report["denials"].as_array().unwrap();
    assert!(denials.iter().any(|denial| denial["subject"] == paths[2].as_str()), "{report}");
}

#[test]
fn a_full_disk_is_the_cause_of_a_failed_write() {
    let data = INSTALLED.dir.mkdir("full");
    for statements in [
        "    with open(module.params['path'], 'a') as file:\n        file.write('x' * 200000)",
        "    os.write(os.open(module.params['path'], os.O_WRONLY), b'x' * 200000)",
    ] {
        let module = INSTALLED.dir.write("fill.py", module(statements));
        let run = modbox(&INSTALLED.python, &INSTALLED.dir).arg("run").arg(module).report();
        let run =
            run.args(["--python", "wasm", "--allow-write"]).arg(&data).arg(format!("path={}/file", data.display()));
        let ran = run.behind(|run| with_small_disk(&data, &run)).run();
        if ran.status.code() != Some(NO_SMALL_DISK) {
            let report = ran.exits_with(1).json();
            let message = report["result"]["msg"].as_str().unwrap();
            assert!(message.ends_with("[Errno 28] No space left on device"), "{report:#}");
        }
    }
}

#[test]
fn what_a_module_logs_reaches_a_granted_log_in_both_places() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("log");
    let log = UnixDatagram::bind(&path).unwrap();
    log.set_nonblocking(true).unwrap();
    let receive = || {
        let mut bytes = [0; 4096];
        log.recv(&mut bytes).ok().map(|length| String::from_utf8_lossy(&bytes[..length]).into_owned())
    };
    let grant = format!("{}::/dev/log", path.display());
    let text = module("    module.log('something \\u00fc')");
    for place in ["wasm", "native"] {
        let words = ["--python", place, "path=/given", "--syslog-facility", "LOG_LOCAL0"];
        let report = run("logs", &text, &words).json();
        assert_eq!((&report["denials"], receive()), (&json!([]), None), "nothing is granted: {report}");
        run("logs", &text, &[&words[..], &["--allow-write", &grant]].concat()).exits_with(0);
        let (first, second) = (receive().unwrap(), receive().unwrap());
        // LOG_LOCAL0 and LOG_INFO. Natively, the C library adds the time.
        assert!(first.starts_with("<134>") && first.ends_with("ansible-logs: Invoked with path=/given"), "{first}");
        assert!(second.ends_with("ansible-logs: something \u{fc}"), "{second}");
        assert_eq!(receive(), None);
        run("logs", &text, &[&words[..], &["--no-target-syslog", "--allow-write", &grant]].concat()).exits_with(0);
        assert_eq!(receive(), None, "the caller said so");
    }
}

#[test]
fn a_command_with_more_than_can_be_handed_over_is_explained() {
    let large = "    module.run_command(['head', '-c', '3000000', '/dev/zero'])";
    let words = ["--python", "wasm", "--max-output", "1MiB", "--allow-run", "head *", "--allow-run", "cat"];
    let report = run("output", &module(large), &words).exits_with(1).json();
    let reason =
        "the output of `head` is longer than the limit for outputs, 1048576 bytes; raise it with `--max-output`";
    assert_eq!(report["python"]["failure"], reason, "{report}");
    assert_eq!(report["result"]["warnings"], json!([format!("modbox: {reason}")]), "{report}");
    let large = "    module.run_command(['cat'], data='x' * (3 << 20))";
    let report = run("input", &module(large), &words).exits_with(1).json();
    assert_eq!(report["python"]["needs"], "an input of more than 2 MiB for a command", "{report}");
    assert!(report["result"]["warnings"][0].as_str().unwrap().contains("more than 2 MiB"), "{report}");
}

#[test]
fn a_module_with_megabytes_of_arguments_runs() {
    let args = INSTALLED.dir.write("large.json", json!({"path": "x".repeat(9_000_000)}).to_string());
    let text = module("    module.params, found['length'] = {}, len(module.params['path'])");
    let words = ["--python", "wasm", "--max-output", "64MiB", "--args", &format!("@{}", args.display())];
    let report = run("large", &text, &words).exits_with(0).json();
    assert_eq!(report["result"]["found"]["length"], 9_000_000, "{}", report["status"]);
}

#[test]
fn commands_see_the_temporary_files_of_a_module() {
    let statements = "    import tempfile\n    number, path = tempfile.mkstemp(dir=module.tmpdir)\n    \
         os.write(number, b'temporary')\n    found['cat'] = module.run_command(['cat', path])[1]\n    \
         module.run_command(['sh', '-c', 'echo more >> ' + path])\n    found['read'] = open(path).read()";
    let words = ["--python", "wasm", "--allow-run", "cat *", "--allow-run", "sh -c *"];
    let report = run("temporary", &module(statements), &words).exits_with(0).json();
    assert_eq!(report["result"]["found"], json!({"cat": "temporary", "read": "temporarymore\n"}), "{report}");
}

/// The values of an interpreter that is frozen would be the same in every run. Those that modules make secrets of are not;
/// hashes of texts are, since the frozen dicts are laid out by them.
#[test]
fn random_numbers_differ_from_run_to_run_and_hashes_do_not() {
    let statements = "    import random, tempfile, uuid\n    found['random'] = [random.random(), str(uuid.uuid4()), \
                      os.urandom(8).hex(), tempfile.mktemp()]\n    found['hash'] = hash('modbox')";
    let [one, other] = [(), ()].map(|()| run("numbers", &module(statements), &["--python", "wasm"]).json());
    let numbers = |report: &serde_json::Value| report["result"]["found"]["random"].as_array().unwrap().clone();
    let pairs: Vec<_> = numbers(&one).into_iter().zip(numbers(&other)).collect();
    assert!(pairs.len() == 4 && pairs.iter().all(|(one, other)| one != other), "{pairs:?}");
    assert!(one["result"]["found"]["hash"].is_i64(), "{one}");
    assert_eq!(one["result"]["found"]["hash"], other["result"]["found"]["hash"]);
}
