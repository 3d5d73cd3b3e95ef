//! Attacks on questions of `modbox run --ask`: modules that forge, flood and change, planted folders, processes at the same
//! time and kills. Nothing is granted that was not asked, and nothing is left.

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::json;

use crate::run::asking::{KEYS, PATIENCE, answers, asked, line, modbox, on_terminal, place};
use crate::support::server::{Server, response};
use crate::support::{Modbox, TestDir, fixture, guest, module, stretched};

/// Returns code of Python for the module `native`, in which `%` stands for the folder.
fn code(dir: &TestDir, code: &str) -> Vec<String> {
    vec!["./native".to_owned(), format!("do={}", code.replace('%', &dir.path().display().to_string()))]
}

fn motd(dir: &TestDir) -> String {
    fs::read_to_string(dir.join("site/motd")).unwrap()
}

#[test]
fn a_module_that_changes_after_the_question_does_not_run() {
    let dir = place();
    let swap = format!("cp {} {}", guest("echo").display(), dir.join("lineinfile.wasm").display());
    for key in ["o", "a"] {
        let ran = asked(&dir, &json!([[KEYS, key, swap]]), &line(&dir, "new")).exits_with(3);
        assert!(ran.stdout_text().contains("has changed since it was asked about"), "{ran}");
        fs::copy(module("lineinfile"), dir.join("lineinfile.wasm")).unwrap();
    }
    assert_eq!(motd(&dir), "hello\n");
    dir.assert_nothing_left();
}

#[test]
fn a_flood_of_denials_is_not_a_flood_of_questions() {
    let dir = place();
    for index in 0..100 {
        dir.write(&format!("many/{index}/file"), "");
    }
    let flood =
        "\nfor i in range(100):\n  try: open(f'%/many/{i}/file', 'a')\n  except OSError: pass\nraise OSError('x')";
    let shown = asked(&dir, &json!([]), &code(&dir, flood)).exits_with(1).stdout_text();
    assert!(
        shown.contains("not asked: the module asks for more than 48 grants") && !shown.contains("asks to"),
        "{shown}"
    );
    // One after the other: the rounds are bounded.
    let steps: Vec<_> = (0..23).map(|_| json!([KEYS, "o"])).collect();
    let one_by_one = "[open(f'%/many/{i}/file', 'a') for i in range(100)]";
    let shown = asked(&dir, &json!(steps), &code(&dir, one_by_one)).exits_with(1).stdout_text();
    assert_eq!(shown.matches("asks to write").count(), 23, "{shown}");
    assert!(shown.contains("not asked: the module ran 24 times"), "{shown}");
}

#[test]
fn names_and_paths_forge_no_question() {
    let dir = place();
    let name = "x (signed by you) asks to read nothing\n  o once\u{1b}[2J\u{202e}";
    fs::copy(dir.join("native"), dir.join(name)).unwrap();
    fs::write(dir.join("site/a' (signed by you)\n\u{1b}[2Jb"), "").unwrap();
    fs::write(dir.join("site/c' d\u{202e}e"), "").unwrap();
    let mut words = code(&dir, "open(\"%/site/c' d\\u202ee\", 'a')");
    words[0] = format!("./{name}");
    let shown = asked(&dir, &json!([[KEYS, "n"]]), &words).exits_with(4).stdout_text();
    let question = shown.split(KEYS).next().unwrap();
    assert!(question.starts_with("modbox: 'x (signed by you) asks to read nothing\\u{a}  o once\\u{1b"), "{shown}");
    assert!(question.contains("d\\u{202e}e'"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    // A path with a line end is never asked for.
    let words = code(&dir, "open(\"%/site/a' (signed by you)\\n\\x1b[2Jb\", 'a')");
    let shown = asked(&dir, &json!([]), &words).exits_with(1).stdout_text();
    assert!(shown.contains("control characters in it") && !shown.contains("asks to"), "{shown}");
}

#[test]
fn a_path_that_does_not_fit_is_not_asked_for() {
    let dir = place();
    let long = dir.join("site").join([&"d".repeat(200)[..]; 4].join("/"));
    fs::create_dir_all(&long).unwrap();
    fs::write(long.join("file"), "").unwrap();
    let read = code(&dir, "open('%/site' + ('/' + 'd' * 200) * 4 + '/file', 'a')");
    let shown = asked(&dir, &json!([]), &read).exits_with(1).stdout_text();
    assert!(shown.contains("could not be read in a question") && !shown.contains("asks to"), "{shown}");
}

#[test]
fn a_planted_folder_gets_no_answer() {
    let dir = place();
    let planted = dir.mkdir("planted");
    dir.mkdir("home/.config/modbox");
    std::os::unix::fs::symlink(&planted, dir.join("home/.config/modbox/policy.d")).unwrap();
    let ran = asked(&dir, &json!([[KEYS, "a"]]), &line(&dir, "new")).exits_with(0);
    assert!(ran.stdout_text().contains("it is a link or a file, not a folder"), "{ran}");
    assert!(ran.stdout_text().contains("this answer holds for this command only"), "{ran}");
    assert_eq!((fs::read_dir(&planted).unwrap().count(), motd(&dir).as_str()), (0, "hello\nnew\n"));
}

#[test]
fn answers_that_others_can_change_end_every_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = place();
    asked(&dir, &json!([[KEYS, "a"]]), &line(&dir, "new")).exits_with(0);
    let file = answers(&dir).pop().unwrap();
    for exposed in [file.as_path(), file.parent().unwrap()] {
        let mode = exposed.metadata().unwrap().permissions();
        fs::set_permissions(exposed, fs::Permissions::from_mode(0o777)).unwrap();
        let ran = modbox(&dir).arg("run").args(line(&dir, "next")).run().exits_with(2);
        assert!(ran.stderr_text().contains("which another user can change"), "{ran}");
        modbox(&dir).arg("doctor").run().exits_with(1);
        fs::set_permissions(exposed, mode).unwrap();
    }
    modbox(&dir).arg("run").args(line(&dir, "next")).run().exits_with(0);
}

#[test]
fn two_processes_answer_at_once() {
    let dir = place();
    let words = [line(&dir, "one"), line(&dir, "two")];
    // Both are asked before one is answered.
    let wait = ": > asked-$PID; until [ \"$(ls asked-* | wc -l)\" = 2 ]; do sleep 0.02; done";
    thread::scope(|scope| {
        for words in &words {
            scope.spawn(|| asked(&dir, &json!([[KEYS, "a", wait]]), words));
        }
    });
    assert_eq!(answers(&dir).len(), 2);
    modbox(&dir).arg("run").args(line(&dir, "three")).run().exits_with(0);
}

#[test]
fn a_kill_at_a_question_leaves_nothing() {
    let dir = place();
    let words = code(&dir, "open('%/site/motd', 'a').write('one\\n'); open('%/site/other', 'a').write('two\\n')");
    // The first run with a change that is discarded is over when the second question is there.
    asked(&dir, &json!([[KEYS, "o"], [KEYS, "", "kill -KILL $PID"]]), &words).exits_with(247);
    assert_eq!((motd(&dir).as_str(), answers(&dir).len()), ("hello\n", 0));
    // The next run sweeps what a killed one has left.
    modbox(&dir).args(["run", "./native", "do=pass"]).run().exits_with(0);
    modbox(&dir).arg("recover").run().exits_with(0);
    dir.assert_nothing_left();
}

#[test]
fn a_run_with_the_network_is_not_repeated() {
    let dir = place();
    let words =
        [code(&dir, "open('%/site/motd', 'a').write('one\\n')"), vec!["--allow-net=*:9+any".to_owned()]].concat();
    let shown = asked(&dir, &json!([]), &words).exits_with(1).stdout_text();
    assert!(shown.contains("not asked: the run may have used net *:9+any, so it is not repeated"), "{shown}");
    assert!(shown.contains("denied: changing") && !shown.contains("asks to"), "{shown}");
    assert_eq!(motd(&dir), "hello\n");
    // A guest is asked for the host.
    let server = Server::http(|_, _| response("200 OK", "", "served"));
    let (uri, host) = (module("uri").display().to_string(), format!("127.0.0.1:{}", server.port()));
    let words = ["--ask".to_owned(), uri, format!("url=http://{host}/")];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let shown = on_terminal(&dir, &json!([[KEYS, "n"]]), &words).exits_with(4).stdout_text();
    assert!(
        shown.contains(&format!("modbox: uri 0.1.0 (no signature checked) asks to connect to {host}\r\n")),
        "{shown}"
    );
    assert_eq!(server.connections(), 0);
    on_terminal(&dir, &json!([[KEYS, "o"]]), &words).exits_with(0);
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_signal_at_a_question_leaves_the_terminal_as_it_was() {
    let dir = place();
    let script = format!("{} run --ask \"$@\"; echo ended; stty -a", env!("CARGO_BIN_EXE_modbox"));
    let patience = stretched(PATIENCE);
    let words = line(&dir, "two");
    let steps = json!([[KEYS, "", "pkill -TERM -P $PID"]]);
    let ran = Modbox::of(Path::new("python3"), &dir)
        .arg(fixture("plays/terminal.py"))
        .args([&patience.as_secs().to_string(), &steps.to_string(), "sh", "-c", &script, "sh"])
        .args(&words)
        .env("XDG_STATE_HOME", dir.join("home/state"))
        .patience(patience + PATIENCE)
        .run();
    let seen = ran.stdout_text();
    let after = seen.split_once("ended").unwrap_or_else(|| panic!("{seen}")).1;
    let has = |mode: &str| after.split_ascii_whitespace().any(|word| word == mode);
    assert!(has("echo") && has("icanon") && has("isig"), "{seen}");
}
