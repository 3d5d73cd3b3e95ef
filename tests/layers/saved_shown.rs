//! `modbox apply --show` and `--list`: what a person sees of saved previews before one is applied; and jobs that save theirs.

#![expect(clippy::disallowed_methods, reason = "tests read and damage files of their own making")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::layers::layers_runs::{Layered, Runs, runners};
use crate::support::{RunOutput, guest, module};

/// Changes of every kind.
const MANY: &str = "
open('%/tree/file', 'a').write('three\\n')
os.mkdir('%/tree/new'); open('%/tree/new/made', 'w').write('made\\n'); os.symlink('made', '%/tree/new/link')
os.link('%/tree/new/made', '%/tree/new/twin')
os.remove('%/tree/link')
os.rename('%/tree/sub', '%/tree/moved'); open('%/tree/moved/inner', 'a').write('more\\n')
open('%/tree/sparse', 'wb').truncate(70000); open('%/tree/sparse', 'r+b').write(b'text')
open('%/tree/binary', 'wb').write(bytes(range(256)))
os.chmod('%/tree/other', 0o600); open('%/single', 'w').write('new\\n')";

const SAVE: [&str; 3] = ["--preview", "--save", "%/saved"];
const SHOW: [&str; 3] = ["apply", "--show", "%/saved"];

/// Characters that a terminal acts upon, or that turn the direction of writing.
const HIDDEN: [char; 5] = ['\u{1b}', '\r', '\u{202e}', '\u{9b}', '\u{2066}'];

#[track_caller]
fn shows_nothing_hidden(text: &str) {
    let found = text.chars().find(|c| HIDDEN.contains(c));
    assert_eq!(found, None, "{text:?}");
}

#[test]
fn a_saved_preview_shows_what_the_preview_showed() {
    for runs in runners() {
        for switches in [&[][..], &["--diff"]] {
            let case = Layered::new(runs);
            let effect = case.effect(MANY, &[&SAVE[..], switches].concat(), 0);
            let before = case.state();
            let shown = case.command(&[&SHOW[..], &["--json"], switches].concat()).run().exits_with(0).json();
            for key in ["changes", "totals", "changed", "mode"] {
                assert_eq!(shown[key], effect[key], "{runs:?} {key}");
            }
            assert_eq!(shown["commit"], effect["commit"]);
            let human = case.command(&[&SHOW[..], switches].concat()).run().exits_with(0);
            let text = human.stdout_text();
            for part in ["modified ", "tree/file", "+three", "renamed ", "the content is not text", "modbox apply "] {
                assert!(text.contains(part), "{part}: {human}");
            }
            assert_eq!(text.contains("lines are hidden"), switches.is_empty() && text.contains("mode 0600"), "{human}");
            assert_eq!(case.state(), before);
            case.command(&["apply", "%/saved"]).run().exits_with(0);
        }
    }
}

#[test]
fn every_form_for_people_escapes_what_a_terminal_acts_upon() {
    let case = Layered::new(Runs::Self_);
    let code = "name = '%/tree/a\\x1b[2J\\u202eb'; open(name, 'w').write('x\\x1b]0;t\\x07\\r\\u202e\\u2066y\\x9b\\n')
open('%/single', 'w').write('safe\\rreal\\n')";
    let human = case.run(code, &[&SAVE[..], &["--output", "human"]].concat()).exits_with(0).stdout_text();
    let raw = case.command(&[&SHOW[..], &["--json"]].concat()).run().exits_with(0).json();
    let diffs = raw["changes"].as_array().unwrap().iter().map(|change| change["diff"].as_str().unwrap());
    let diffs: String = diffs.collect();
    // Data stays data.
    assert!(HIDDEN.iter().all(|c| diffs.contains(*c)), "{diffs:?}");
    let shown = case.command(&SHOW).run().exits_with(0).stdout_text();
    let listed = case.command(&["apply", "--list", "%"]).run().exits_with(0).stdout_text();
    for text in [human, shown] {
        shows_nothing_hidden(&text);
        for part in ["\\u{1b}]0;t\\u{7}\\u{d}\\u{202e}\\u{2066}y\\u{9b}", "+safe\\u{d}real\n", "a\\u{1b}[2J\\u{202e}b"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    shows_nothing_hidden(&listed);
    assert!(listed.contains("a\\u{1b}[2J"), "{listed}");
}

#[test]
fn a_change_since_the_preview_is_shown_before_it_is_a_conflict() {
    type Edit = fn(&Layered);
    let edits: [(&str, Edit); 4] = [
        ("tree/file", |case| fs::write(case.dir.join("tree/file"), "theirs\n").unwrap()),
        ("tree/file", |case| {
            fs::set_permissions(case.dir.join("tree/file"), fs::Permissions::from_mode(0o640)).unwrap();
        }),
        ("tree/new", |case| fs::create_dir(case.dir.join("tree/new")).unwrap()),
        ("single", |case| fs::remove_file(case.dir.join("single")).unwrap()),
    ];
    for (path, edit) in edits {
        let case = Layered::new(Runs::Self_);
        case.effect(MANY, &SAVE, 0);
        edit(&case);
        let before = case.state();
        let shown = case.command(&SHOW).run().exits_with(8);
        let line = format!("not now: {}", case.dir.join(path).display());
        assert!(shown.stdout_text().contains(&line), "{line}: {shown}");
        assert_eq!(case.state(), before);
        case.command(&["apply", "%/saved"]).run().exits_with(8);
    }
}

#[test]
fn a_file_that_shows_less_than_it_changes_is_refused() {
    let case = Layered::new(Runs::Self_);
    case.effect("open('%/single', 'w').write('other!\\n')", &SAVE, 0);
    let path = case.dir.join("saved");
    let whole = fs::read(&path).unwrap();
    let parts: Vec<&[u8]> = whole.splitn(3, |byte| *byte == b'\n').collect();
    let forged = |edit: fn(&mut Value)| {
        let mut manifest: Value = serde_json::from_slice(parts[1]).unwrap();
        let grants = manifest["grants"].as_array_mut().unwrap();
        let grant = grants.iter_mut().find(|grant| grant["changes"] != json!([])).unwrap();
        edit(&mut grant["changes"][0]);
        let contents = &parts[2][..parts[2].len() - 32];
        let mut bytes = [parts[0], b"\n", manifest.to_string().as_bytes(), b"\n", contents].concat();
        bytes.extend(Sha256::digest(&bytes));
        fs::write(&path, bytes).unwrap();
    };
    forged(|_| {});
    case.command(&SHOW).run().exits_with(0);
    // A change of times alone has no lines.
    forged(|change| {
        change["kind"] = json!("times");
        change["after"]["digest"] = change["before"]["digest"].clone();
    });
    case.command(&SHOW).run().exits_with(3).says("its digest is not that of its content");
    forged(|change| change["after"]["mode"] = json!(0o600));
    case.command(&SHOW).run().exits_with(3).says("another state of the entry");
    case.command(&["apply", "%/saved"]).run().exits_with(3).says("another state of the entry");
    assert_eq!(case.read("single"), "single\n");
}

#[test]
fn secrets_of_the_preview_stay_hidden() {
    let word = "Zq81vWxy";
    for switches in [&["--no-log"][..], &["--secret", "token"]] {
        let case = Layered::new(Runs::Self_);
        let code = "open('%/tree/file', 'a').write(args['token']); open('%/single', 'w').write('open\\n')";
        case.run(code, &[&SAVE[..], switches, &["token=Zq81vWxy"]].concat()).exits_with(0);
        for form in [&["--diff"][..], &["--diff", "--json"]] {
            let shown = case.command(&[&SHOW[..], form].concat()).run().exits_with(0);
            assert!(!shown.stdout_text().contains(word), "{switches:?}: {shown}");
            assert!(shown.stdout_text().contains("tree/file"), "{shown}");
        }
        let shown = case.command(&[&SHOW[..], &["--diff", "--json"]].concat()).run().json();
        let of = |end: &str| {
            let all = shown["changes"].as_array().unwrap();
            all.iter().find(|change| change["path"].as_str().unwrap().ends_with(end)).unwrap().clone()
        };
        assert_eq!(of("file")["content"], "no-log", "{shown}");
        // Without `no_log`, only the file with the secret is hidden.
        assert_eq!(of("single")["content"] == "no-log", switches == ["--no-log"], "{shown}");
    }
}

#[test]
fn saved_previews_of_a_folder_are_listed() {
    let case = Layered::new(Runs::Self_);
    case.dir.mkdir("plans");
    for (name, code) in [("one", MANY), ("two", "open('%/single', 'w').write('2')"), ("three", "say({})")] {
        let file = format!("%/plans/{name}");
        case.effect(code, &["--preview", "--save", &file], 0);
    }
    let plan = |name: &str| case.dir.join(&format!("plans/{name}"));
    case.dir.write("plans/other", "modbox saved nothing");
    let mut bytes = fs::read(plan("two")).unwrap();
    bytes[60] ^= 1;
    fs::write(plan("four"), bytes).unwrap();
    fs::set_permissions(plan("four"), fs::Permissions::from_mode(0o600)).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        plan("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let listed = case.command(&["apply", "--list", "%/plans", "--json"]).run().exits_with(0).stdout_text();
    let listed: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let files: Vec<&str> = listed.iter().map(|one| one["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["one", "two", "three", "four"].map(|name| plan(name).to_str().unwrap().to_owned()));
    let single = case.dir.join("single");
    assert_eq!(listed[1]["changes"], json!([{"kind": "modified", "path": single.to_str().unwrap()}]));
    assert!(listed[3]["error"].as_str().unwrap().contains("damaged"), "{listed:?}");
    let human = case.command(&["apply", "--list", "%/plans"]).run().exits_with(0);
    human.stdout_text().lines().zip(["more", "modified ", "no change", "not usable: "]).for_each(|(line, part)| {
        assert!(line.contains(part), "{part}: {human}");
    });
    case.command(&["apply", "--list", "%/tree"]).run().exits_with(0).says("there are no saved previews");
    for path in ["%/single", "%/missing"] {
        case.command(&["apply", "--list", path]).run().exits_with(3).says("failed to list");
    }
    case.command(&["apply", "--list"]).run().exits_with(0).says("there are no saved previews");
    case.command(&["apply"]).run().exits_with(2);
    case.command(&["apply", "--show", "--keep-undo", "%/plans/one"]).run().exits_with(2).says("cannot be used with");
}

#[track_caller]
fn reports(ran: &RunOutput) -> Vec<Value> {
    ran.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn jobs_save_their_previews_in_the_plan_store() {
    let case = Layered::new(Runs::Self_);
    let job = |id: usize, save: Value, effect: &str| {
        let ops = json!([["append", case.dir.join("tree/file"), format!("{id}\n")]]);
        json!({"id": id, "module": guest("drive"), "args": {"ops": ops}, "effect": effect, "save": save}).to_string()
    };
    let mut jobs: Vec<String> = (0..4).map(|id| job(id, json!(true), "preview")).collect();
    jobs.push(job(4, json!(case.dir.join("mine")), "preview"));
    jobs.push(job(5, json!(false), "preview"));
    jobs.push(job(6, json!(true), "transaction"));
    jobs.push(job(7, json!(3), "preview"));
    let words = ["batch", "--ordered", "--jobs", "1", "--allow-write", "%/tree"];
    let ran = case.command(&words).stdin(jobs.join("\n")).run().exits_with(1);
    let reports = reports(&ran);
    let file = |id: usize| reports[id]["effect"]["commit"]["file"].as_str().map(PathBuf::from);
    let store = case.dir.join("home/state/modbox/plans");
    for id in 0..4 {
        let file = file(id).unwrap();
        assert_eq!((file.parent().unwrap(), file.metadata().unwrap().mode() & 0o7777), (store.as_path(), 0o600));
        assert_eq!(file.file_stem().unwrap().len(), 32, "{}", file.display());
    }
    assert_eq!(store.metadata().unwrap().mode() & 0o7777, 0o700);
    assert_eq!((file(4).unwrap(), file(5)), (case.dir.join("mine"), None));
    assert!(reports[6].to_string().contains("`save` needs the effect `preview`"), "{ran}");
    assert!(reports[7].to_string().contains("`save` must be `true`"), "{ran}");
    assert_eq!(case.read("tree/file"), "one\ntwo\n");
    // Jobs that save share a worker.
    let loads = reports[..4].iter().filter(|report| report["timing"]["load_us"] != 0).count();
    assert!(!rustix::process::geteuid().is_root() || loads <= 1, "{loads} loads: {ran}");

    let listed = case.command(&["apply", "--list"]).run().exits_with(0);
    assert_eq!(listed.stdout_text().lines().count(), 4, "{listed}");
    let second = file(1).unwrap();
    let second = second.to_str().unwrap();
    assert!(case.command(&["apply", "--show", second]).run().exits_with(0).stdout_text().contains("+1"));
    case.command(&["apply", second]).run().exits_with(0).says("is applied");
    assert_eq!(case.read("tree/file"), "one\ntwo\n1\n");
    // An applied plan is removed; what conflicts with it stays.
    let listed = case.command(&["apply", "--list"]).run().exits_with(0);
    assert!(!listed.stdout_text().contains(second) && listed.stdout_text().lines().count() == 3, "{listed}");
    case.command(&["apply", file(0).unwrap().to_str().unwrap()]).run().exits_with(8);
    assert!(file(0).unwrap().exists());
    case.command(&["apply", "%/mine"]).run().exits_with(8);
    assert!(case.dir.join("mine").exists());
}

#[test]
fn a_guest_is_shown_like_a_native_module() {
    let case = Layered::new(Runs::Self_);
    let lineinfile = module("lineinfile");
    let words = ["run", lineinfile.to_str().unwrap(), "path=%/single", "line=new"];
    case.command(&[&words[..], &SAVE].concat()).run().exits_with(0);
    let shown = case.command(&SHOW).run().exits_with(0).stdout_text();
    assert!(shown.contains("preview: 1 modified; lines +1 -0") && shown.contains("+new"), "{shown}");
}
