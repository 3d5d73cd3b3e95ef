//! `modbox run --transaction`: all changes of a successful run are made, or none; and `undo`, `transactions`, `recover`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::layers::layers_runs::{Layered, Runs, changes, runners};
use crate::support::wait_for;

/// Time for a run to make its layers.
const PATIENCE: Duration = Duration::from_secs(30);

/// Changes of several files.
const MANY: &str = "
open('%/tree/file', 'a').write('three\\n')
os.mkdir('%/tree/new'); open('%/tree/new/made', 'w').write('made\\n')
os.remove('%/tree/link')
open('%/single', 'w').write('new\\n')";

#[test]
fn a_success_is_committed_as_a_whole() {
    for runs in runners() {
        let case = Layered::new(runs);
        let effect = case.effect(MANY, &["--transaction"], 0);
        assert_eq!(effect["commit"]["state"], "committed", "{runs:?}: {effect}");
        assert_eq!(case.read("tree/file"), "one\ntwo\nthree\n");
        assert_eq!((case.read("tree/new/made").as_str(), case.read("single").as_str()), ("made\n", "new\n"));
        assert!(!case.dir.join("tree/link").exists());
        let nothing = case.effect("say({'changed': False})", &["--transaction"], 0);
        assert_eq!(nothing["commit"]["state"], "nothing", "{nothing}");
    }
}

#[test]
fn a_failure_changes_nothing() {
    for runs in runners() {
        let case = Layered::new(runs);
        let before = case.state();
        for (ending, switches, status) in [
            ("raise Exception('no')", &[][..], 1),
            ("say({'failed': True})", &[], 1),
            ("os.kill(os.getpid(), 9)", &[], 6),
            ("time.sleep(60)", &["--timeout", "1s"], 5),
            ("open('%/tree/large', 'wb').write(b'x' * (80 << 20))", &[], 5),
        ] {
            let effect = case.effect(&format!("{MANY}\n{ending}"), &[&["--transaction"], switches].concat(), status);
            assert_eq!(effect["commit"]["state"], "discarded", "{runs:?}: {ending}: {effect}");
            assert_eq!(case.state(), before, "{runs:?}: {ending}");
        }
    }
}

#[test]
fn a_change_by_another_process_is_a_conflict() {
    for runs in runners() {
        let case = Layered::new(runs);
        // The module waits for the other process, which speaks beside the layers.
        let signal = case.dir.mkdir("signal");
        let code = format!("{MANY}\nwhile not os.path.exists('%/signal/go'): time.sleep(0.01)");
        let code = code.replace('%', &case.dir.path().display().to_string());
        let words = ["run", "%/module.py", "--allow-write", "%/tree", "--allow-write", "%/single", "--transaction"];
        let command = case.command(&words).args(["--output", "report", "--allow-read"]).arg(&signal);
        let running = command.arg(format!("do={code}")).spawn();
        assert!(wait_for(PATIENCE, || case.has_layers()));
        fs::write(case.dir.join("tree/file"), "theirs\n").unwrap();
        fs::write(signal.join("go"), "").unwrap();
        let ran = running.wait().exits_with(8);
        let report = ran.json();
        let commit = &report["effect"]["commit"];
        assert_eq!(commit["state"], "conflict", "{ran}");
        assert!(commit["reasons"].to_string().contains("tree/file"), "{ran}");
        assert_eq!((&report["result"]["failed"], &report["result"]["changed"]), (&json!(true), &json!(false)), "{ran}");
        assert_eq!((case.read("tree/file").as_str(), case.read("single").as_str()), ("theirs\n", "single\n"));
        case.assert_nothing_left();
    }
}

#[test]
fn what_a_commit_does_not_make_is_refused() {
    let case = Layered::new(Runs::Self_);
    let before = case.state();
    for code in ["os.mkfifo('%/tree/pipe')", "open('%/tree/.modbox-tmp-x', 'w')"] {
        let ran = case.run(&format!("{MANY}\n{code}"), &["--transaction", "--output", "report"]);
        let ran = ran.exits_with(8);
        assert_eq!(ran.json()["effect"]["commit"]["state"], "refused", "{code}: {ran}");
        assert_eq!(case.state(), before, "{code}");
    }
}

#[test]
fn a_kept_transaction_is_undone() {
    for runs in runners() {
        let case = Layered::new(runs);
        let content = |case: &Layered| ["tree/file", "tree/other", "single"].map(|name| case.read(name));
        let before = content(&case);
        let ran = case.run(MANY, &["--transaction", "--keep-undo"]).exits_with(0);
        let name = ran.stderr_text().split('`').nth(1).unwrap().replace("modbox undo ", "");
        let listed = case.command(&["transactions", "--json"]).run().exits_with(0).json();
        assert_eq!((&listed["run"], &listed["state"]), (&json!(name), &json!("kept")), "{ran}");
        assert_eq!(listed["changes"].as_array().unwrap().len(), 4, "{listed}");
        case.command(&["undo", &name]).run().exits_with(0).says("is undone");
        assert_eq!(content(&case), before);
        assert!(case.dir.join("tree/link").exists() && !case.dir.join("tree/new").exists());
        case.command(&["undo", &name]).run().exits_with(3).says("is not kept");
        case.command(&["transactions"]).run().exits_with(0).says("there are no transactions");
    }
}

#[test]
fn a_later_change_keeps_a_transaction_from_being_undone() {
    let case = Layered::new(Runs::Self_);
    let effect = case.effect(MANY, &["--transaction", "--keep-undo"], 0);
    let name = effect["commit"]["run"].as_str().unwrap();
    fs::write(case.dir.join("single"), "later\n").unwrap();
    case.command(&["undo", name]).run().exits_with(8).says("single");
    assert_eq!((case.read("single").as_str(), case.read("tree/file").as_str()), ("later\n", "one\ntwo\nthree\n"));
    case.command(&["transactions", "prune"]).run().exits_with(0).says("removed 1 of 1");
    case.command(&["undo", name]).run().exits_with(3);
}

#[test]
fn transactions_are_removed_whatever_became_of_their_directories() {
    let case = Layered::new(Runs::Self_);
    let keep = |code: &str| {
        let effect = case.effect(code, &["--transaction", "--keep-undo"], 0);
        effect["commit"]["run"].as_str().unwrap().to_owned()
    };
    let left = || {
        let listed = case.command(&["transactions", "--json"]).run().exits_with(0).stdout_text();
        listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["run"].clone()).collect::<Vec<_>>()
    };
    let both = keep("open('%/tree/file', 'a').write('x'); open('%/single', 'w').write('1')");
    let single = keep("open('%/single', 'w').write('2')");
    // One of its directories is another one now.
    fs::rename(case.dir.join("tree"), case.dir.join("moved")).unwrap();
    case.dir.mkdir("tree");
    // A name that is not kept keeps no other one.
    let pruned = case.command(&["transactions", "prune", "unknown", &both]).run().exits_with(3);
    let pruned = pruned.says("removed 1 of 2").says("failed to remove the transaction `unknown`");
    assert_eq!(left(), [json!(single)], "{pruned}");
    case.command(&["transactions", "prune"]).run().exits_with(0).says("removed 1 of 1");
    assert_eq!(left(), Vec::<Value>::new());
}

#[test]
fn a_killed_run_leaves_nothing() {
    let case = Layered::new(Runs::Self_);
    let before = case.state();
    for signal in [Signal::KILL, Signal::TERM] {
        let code = format!("{MANY}\ntime.sleep(600)").replace('%', &case.dir.path().display().to_string());
        let words = ["run", "%/module.py", "--allow-write", "%/tree", "--allow-write", "%/single", "--transaction"];
        let running = case.command(&words).arg(format!("do={code}")).spawn();
        assert!(wait_for(PATIENCE, || case.has_layers()));
        running.signal(signal);
        running.wait().dies_of(signal);
        assert_eq!(case.state(), before);
        // The next run removes what is left of a killed one.
        let ran = case.effect("say({'changed': False})", &["--preview"], 0);
        assert_eq!(changes(&case, &ran), Vec::<String>::new());
    }
    case.command(&["recover"]).run().exits_with(0);
}

#[test]
fn a_damaged_record_is_told_and_not_acted_on() {
    let case = Layered::new(Runs::Self_);
    let effect = case.effect(MANY, &["--transaction", "--keep-undo"], 0);
    let name = effect["commit"]["run"].as_str().unwrap();
    let record = case.dir.join("home/state/modbox/transactions").join(name);
    fs::write(record, "{}").unwrap();
    case.command(&["recover"]).run().exits_with(9).says("cannot be finished");
    let listed = case.command(&["transactions", "--json"]).run().exits_with(0).json();
    assert_eq!(listed["state"], "damaged", "{listed}");
    case.command(&["undo", name]).run().exits_with(9);
    assert_eq!(case.read("single"), "new\n");
    // Other transactions are made all the same, with a note.
    let next = case.run("open('%/single', 'w').write('next')", &["--transaction", "--output", "report"]).exits_with(0);
    let notes: Value = next.json()["notes"].clone();
    assert!(notes.to_string().contains("modbox recover"), "{next}");
}

#[test]
fn the_transactions_of_a_program_are_counted_and_undone_apart_from_those_of_the_person() {
    let case = Layered::new(Runs::Self_);
    let effect = case.effect("open('%/single', 'w').write('mine')", &["--transaction", "--keep-undo"], 0);
    let mine = effect["commit"]["run"].as_str().unwrap();
    let policy = case.dir.write("agent.yaml", format!("allow: {{write: [{}]}}\n", case.dir.join("tree").display()));
    let job = |number: usize| {
        let code = format!("open('{}/tree/made-{number}', 'w').write('made')", case.dir.path().display());
        let args = json!({"do": code});
        let module = case.dir.join("module.py");
        json!({"module": module, "args": args, "effect": "transaction", "keep_undo": true}).to_string()
    };
    let batch = |policy: &Path, origin: &str, jobs: &[String]| {
        let words = ["batch", "--ordered", "--jobs", "1", "--policy", policy.to_str().unwrap(), "--origin", origin];
        case.command(&words).stdin(jobs.join("\n")).run()
    };
    let jobs: Vec<String> = (0..22).map(job).collect();
    batch(&policy, "agent", &jobs).exits_with(0);
    let listed = |words: &[&str]| -> Vec<Value> {
        let text = case.command(&[&["transactions", "--json"], words].concat()).run().exits_with(0).stdout_text();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    // The program's 22 keep its newest 20, and the person's one.
    assert_eq!(listed(&[]).len(), 21);
    assert_eq!(listed(&["--origin", "person"])[0]["run"], json!(mine));
    let theirs = listed(&["--origin", "agent"]);
    assert_eq!(theirs.len(), 20);
    let (origin, newest) = (theirs[19]["origin"].as_str().unwrap(), theirs[19]["run"].as_str().unwrap());
    assert!(origin.starts_with("agent:") && origin.len() == 70, "{origin}");
    // Another policy is another origin.
    fs::write(&policy, format!("# other\n{}", fs::read_to_string(&policy).unwrap())).unwrap();
    batch(&policy, "agent", &[job(23)]).exits_with(0);
    assert_eq!((listed(&["--origin", "agent"]).len(), listed(&["--origin", origin]).len()), (21, 20));
    let last = listed(&["--origin", "agent"])[20]["run"].as_str().unwrap().to_owned();

    // The person's `undo` lists and takes the person's own, and others when they are named.
    let own = case.command(&["undo"]).run().exits_with(0);
    assert!(own.stdout_text().contains(mine) && !own.stdout_text().contains("agent"), "{own}");
    let foreign = case.command(&["undo", &last]).run().exits_with(3);
    foreign.says("it is one of `agent:").says("name that with `--origin`");
    case.command(&["undo", mine, "--origin", "agent"]).run().exits_with(3).says("it is one of `person`");
    case.command(&["undo", newest, "--origin", "other"]).run().exits_with(3);
    let made = |number: usize| case.dir.join(&format!("tree/made-{number}")).exists();
    assert_eq!([20, 21, 23].map(made), [true, true, true]);
    case.command(&["undo", &last, "--origin", "agent"]).run().exits_with(0).says("is undone");
    case.command(&["undo", newest, "--origin", origin]).run().exits_with(0).says("is undone");
    assert_eq!([20, 21, 23].map(made), [true, false, false]);
    case.command(&["transactions", "prune"]).run().exits_with(0).says("removed 1 of 20");
    assert_eq!(listed(&[]).len(), 19);
    case.command(&["transactions", "prune", "--origin", "agent:zz"]).run().exits_with(2).says("unknown origin");
    case.command(&["transactions", "prune", "--origin", "agent"]).run().exits_with(0).says("removed 19 of 19");
    case.command(&["undo"]).run().exits_with(0).says("can be undone");
    for name in ["person", "Agent", ""] {
        batch(&policy, name, &[]).exits_with(2).says("unknown origin");
    }
}
