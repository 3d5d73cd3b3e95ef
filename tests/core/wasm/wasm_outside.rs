//! Commands of guests that run outside: what they get, what is told of them, how they end, and what a guest that asks for too much
//! gets. As root and as an ordinary user. `wasm_outside_words.rs` has words that no rule covers; the commands of native modules are
//! in `core/native/native_outside.rs`.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Stdio;

use rustix::process::{Signal, test_kill_process};
use serde_json::{Value, json};

use crate::core::native::native_outside::{denied, is_gone, noted_pid, program, words};
use crate::core::native::native_place::{Ended, Place};
use crate::support::{Modbox, TestDir, guest};

/// Runs commands in a guest. Returns the outcome of each, and the report.
#[track_caller]
fn seen(place: &Place, commands: &Value, switches: &[&str]) -> (Vec<Value>, Ended) {
    seen_with(place, json!({"commands": commands}), switches)
}

#[track_caller]
fn seen_with(place: &Place, args: Value, switches: &[&str]) -> (Vec<Value>, Ended) {
    let ended = place.guest(&args, switches);
    assert_eq!(ended.exit, Some(0), "{:#}", ended.report);
    (ended.report["result"]["seen"].as_array().unwrap().clone(), ended)
}

fn ends(report: &Value) -> Vec<Value> {
    report["outside"].as_array().into_iter().flatten().map(|ran| ran["end"].clone()).collect()
}

#[test]
fn a_covered_command_runs_outside_and_the_guest_sees_its_end_and_its_streams() {
    for place in Place::all() {
        let tool = program(&place, "tool", "cat > $d/data/input; echo out; echo err >&2; exit 7");
        let rule = format!("{tool} {{-v}} <name>");
        let commands = json!([{"argv": [tool, "-v", "app"], "input": "text"}]);
        let (seen, ended) = seen(&place, &commands, &["--allow-outside", &rule]);
        let report = &ended.report;
        assert_eq!(
            (&seen[0]["end"], &seen[0]["stdout"], &seen[0]["stderr"]),
            (&json!(7), &json!("out\n"), &json!("err\n"))
        );
        assert_eq!((words(&place), place.read("data/input").as_str()), (vec!["-v app".to_owned()], "text"));
        let ran = &report["outside"];
        assert_eq!(ran[0]["command"], format!("{tool} -v app"), "{report:#}");
        assert_eq!((&ran[0]["rule"], &ran[0]["source"]), (&json!(rule), &json!("--allow-outside")), "{report:#}");
        assert_eq!(ran[0]["end"], json!({"exit": 7}), "{report:#}");
        assert!(ran[0]["as"].is_string() && ran[0]["wall_us"].as_u64() > Some(0) && ran[1].is_null(), "{report:#}");
        assert_eq!(&ended.audit["outside"], ran, "{report:#}");
        assert!(denied(&ended).is_empty(), "{report:#}");
        let own = place.user.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        assert_eq!(place.at("data/words").metadata().unwrap().uid(), own);
    }
}

#[test]
fn a_command_that_no_rule_covers_is_denied_or_runs_in_the_sandbox() {
    for place in Place::all() {
        let tool = program(&place, "tool", "echo inside $? >&2; exit 3");
        let commands = json!([{"argv": [tool, "-f", "a b"]}, {"argv": [tool, "app"]}, {"argv": ["/bin/true"]}]);
        let rule = format!("{tool} <name>");
        let (refused, ended) = seen(&place, &commands, &["--allow-outside", &rule]);
        let allow = refused[0]["denied"].as_str().unwrap();
        assert!(allow.starts_with("--allow-outside ") && allow.contains("-f"), "{allow}");
        // The rules are for another program.
        assert_eq!((&refused[1]["end"], &refused[2]["denied"]), (&json!(3), &json!("--allow-run /bin/true")));
        let denials = denied(&ended);
        assert_eq!((denials[0]["allow"].as_str(), denials.len()), (Some(allow), 1), "{:#}", ended.report);
        assert_eq!((ends(&ended.report), words(&place).len()), (vec![json!({"exit": 3})], 1));
        // In the sandbox, it cannot write where it notes its words; the denial is told all the same.
        let (inside, ended) =
            seen(&place, &commands, &["--allow-outside", &rule, "--allow-run", &format!("{tool} -f *")]);
        assert_eq!((&inside[0]["end"], denied(&ended).len()), (&json!(3), 1), "{:#}", ended.report);
        assert!(inside[0]["stderr"].as_str().unwrap().contains("inside 2"), "{inside:?}");
        assert_eq!(words(&place).len(), 2);
        let again = modbox_vocabulary::quoting::split(allow).unwrap();
        let (covered, _) = seen(&place, &commands, &[&again[0], &again[1]]);
        assert_eq!((&covered[0]["end"], words(&place).last().unwrap().as_str()), (&json!(3), "-f a b"));
    }
}

#[test]
fn a_command_gets_a_fixed_environment_directory_and_umask() {
    for place in Place::all() {
        let rest = "env | sort >> $d/data/env; pwd >> $d/data/pwd; umask >> $d/data/umask; : > $d/data/made";
        let tool = program(&place, "tool", rest);
        let hostile = json!({
            "PATH": place.path("data"), "LD_LIBRARY_PATH": "/x", "LD_PRELOAD": "/x", "LC_ALL": "C.UTF-8", "TZ": "UTC", "IFS": "x",
            "HOME": "/x", "SECRET": "no", "GIVEN": "mine", "LC_": "x", "LC_x": "y", "LC_TIME": "/tmp/x", "LANGUAGE": "..", "": "x",
        });
        let many: Value = (0..5000).map(|number| (format!("LC_{number}"), json!("x"))).collect();
        let commands = json!([
            {"argv": [tool], "environment": hostile, "umask": 0, "directory": place.path("data")},
            {"argv": [tool], "environment": many, "umask": 0o077},
            {"argv": [tool], "umask": 0x1000},
        ]);
        let (seen, ended) = seen(&place, &commands, &["--allow-outside", &tool, "--allow-env", "GIVEN=theirs"]);
        assert!(seen.iter().all(|seen| seen["end"] == 0), "{seen:?}");
        let environment = place.read("data/env");
        for (expect, count) in [
            ("DEBIAN_FRONTEND=noninteractive\n", 3),
            ("GIVEN=theirs\n", 3),
            ("LC_ALL=C.UTF-8\n", 1),
            ("LANG=C.UTF-8\n", 3),
            ("TZ=UTC\n", 1),
            ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n", 3),
        ] {
            assert_eq!(environment.matches(expect).count(), count, "{expect}\n{environment}");
        }
        for absent in ["LD_", "SECRET", "HOME=/x", "mine", "/x\n", "LC_0", "LC_x", "LANGUAGE"] {
            assert!(!environment.contains(absent), "{absent}\n{environment}");
        }
        assert_eq!(
            (place.read("data/pwd").as_str(), place.read("data/umask").as_str()),
            ("/\n/\n/\n", "0022\n0077\n0022\n")
        );
        assert_eq!(place.at("data/made").metadata().unwrap().mode() & 0o777, 0o644, "{:#}", ended.report);
    }
}

#[test]
fn signals_much_input_and_much_output_reach_the_guest() {
    for place in Place::all() {
        let rest = "case $1 in kill) kill -$2 $$;; cat) wc -c;; much) head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2;; esac";
        let tool = program(&place, "tool", rest);
        let commands = json!([
            {"argv": [tool, "kill", "9"]}, {"argv": [tool, "kill", "15"]}, {"argv": [tool, "cat"]},
            {"argv": [tool, "cat"], "input_size": 1_500_000}, {"argv": [tool, "kill", "0"], "input_size": 1_500_000},
            {"argv": [tool, "much"]}, {"argv": [tool, "cat"], "input_size": 3_000_000}, {"argv": [tool, "a\0b"]},
            {"argv": [tool, "x".repeat(140_000)]},
        ]);
        let rule = format!("{tool} (kill <n>|cat|much)");
        let (seen, ended) = seen(&place, &commands, &["--allow-outside", &rule, "--max-output", "1MiB"]);
        assert_eq!((&seen[0]["end"], &seen[1]["end"]), (&json!("signal 9"), &json!("signal 15")), "{seen:?}");
        assert_eq!((&seen[2]["stdout"], &seen[3]["stdout"]), (&json!("0\n"), &json!("1500000\n")));
        // It does not read its input.
        assert_eq!(seen[4]["end"], 0, "{seen:?}");
        assert_eq!((&seen[5]["kept"], &seen[5]["length"]), (&json!(1 << 20), &json!(3_000_000)));
        assert_eq!(seen[6], "too long");
        assert_eq!(seen[7]["failed"], "a word of the command has a NUL byte in it");
        assert_eq!(seen[8]["end"], 126, "{:?}", seen[8]);
        assert!(seen[8]["stderr"].as_str().unwrap().contains("the command is too long"), "{:?}", seen[8]);
        assert_eq!(words(&place).len(), 6, "{:#}", ended.report);
    }
}

#[test]
fn a_daemon_stays_and_the_run_does_not_wait_for_it() {
    for place in Place::all() {
        // One holds the streams of the command open.
        for streams in ["> /dev/null 2>&1 < /dev/null", ""] {
            let tool =
                program(&place, "tool", &format!("setsid sleep 600 {streams} & echo $! > $d/data/pid; echo out"));
            let (seen, ended) = seen(&place, &json!([{"argv": [tool]}]), &["--allow-outside", &tool]);
            assert_eq!((&seen[0]["end"], &seen[0]["stdout"]), (&json!(0), &json!("out\n")), "{:#}", ended.report);
            let daemon = noted_pid(&place, "data/pid");
            assert!(test_kill_process(daemon).is_ok(), "{:#}", ended.report);
            rustix::process::kill_process(daemon, Signal::KILL).unwrap();
            fs::remove_file(place.at("data/pid")).unwrap();
        }
    }
}

#[test]
fn the_timeout_stands_still_and_a_command_has_a_limit_of_its_own() {
    for place in Place::all() {
        let slow = program(
            &place,
            "slow",
            "end=$(($(date +%s) + 3)); until [ $(date +%s) -ge $end ]; do sleep 0.1; done; echo slow >> $d/data/done",
        );
        let endless =
            program(&place, "endless", "trap 'echo asked >> $d/data/done; exit 5' TERM; while :; do sleep 0.1; done");
        let commands = json!([{"argv": [slow]}, {"argv": [endless]}, {"argv": [slow]}]);
        let switches =
            ["--allow-outside", &slow, "--allow-outside", &endless, "--timeout", "2s", "--outside-time", "4s"];
        let (seen, ended) = seen(&place, &commands, &switches);
        let all: Vec<&Value> = seen.iter().map(|seen| &seen["end"]).collect();
        assert_eq!(all, [&json!(0), &json!(5), &json!(0)], "{:#}", ended.report);
        assert_eq!(place.read("data/done"), "slow\nasked\nslow\n");
        assert_eq!(ends(&ended.report), [json!({"exit": 0}), json!("limit"), json!({"exit": 0})]);
        // The guest's own time counts.
        let sleep = json!({"commands": [{"argv": [slow]}, {"argv": ["/bin/sleep", "60"]}], "fail": 1});
        let ended = place.guest(&sleep, &[&switches[..], &["--allow-run", "/bin/sleep *"]].concat());
        assert_eq!((ended.exit, &ended.report["limit"]["kind"]), (Some(5), &json!("wall")), "{:#}", ended.report);
    }
}

#[test]
fn a_command_for_which_the_guest_does_not_wait_is_asked_to_end() {
    for place in Place::all() {
        let rest = "trap 'echo asked > $d/data/asked; [ \"$1\" = stays ] || exit 5' TERM; : > $d/data/runs\n\
                    until [ -e $d/data/asked ] && [ -e $d/data/end ]; do sleep 0.05; done; echo done > $d/data/done";
        let tool = program(&place, "tool", rest);
        let quick = program(&place, "quick", ": > $d/data/end");
        let commands = json!([{"argv": [tool, "ends"], "timeout": 1500}, {"argv": [tool, "stays"], "timeout": 1500}, {"argv": [quick]}]);
        let switches = ["--allow-outside", &format!("{tool} <name>"), "--allow-outside", &quick];
        let (seen, ended) = seen(&place, &commands, &switches);
        let all: Vec<&Value> = seen.iter().map(|seen| &seen["end"]).collect();
        assert_eq!(all, [&json!("timed out"), &json!("timed out"), &json!(0)], "{:#}", ended.report);
        // What ignores the signal is not killed half-way, and the late answer is not taken for that of another command.
        assert_eq!(place.read("data/done"), "done\n");
        let mut ends = ends(&ended.report);
        ends.sort_by_key(Value::to_string);
        assert_eq!(ends, [json!({"exit": 0}), json!({"exit": 0}), json!({"exit": 5})], "{:#}", ended.report);
    }
}

#[test]
fn a_command_goes_on_when_modbox_is_killed() {
    for place in Place::all() {
        let tool = program(
            &place,
            "tool",
            "echo $$ > $d/data/pid; trap 'echo asked > $d/data/asked' TERM; while [ ! -e $d/signal/end ]; do sleep 0.05; done; echo done > $d/data/done",
        );
        let mut command = place.guest_command(&json!({"commands": [{"argv": [tool]}]}), &["--allow-outside", &tool]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let running = noted_pid(&place, "data/pid");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(test_kill_process(running).is_ok());
        fs::write(place.at("signal/end"), "").unwrap();
        assert!(is_gone(running));
        assert_eq!((place.read("data/done").as_str(), place.at("data/asked").exists()), ("done\n", false));
        for left in fs::read_dir(place.at("tmp")).unwrap().flatten() {
            fs::remove_dir_all(left.path()).unwrap();
        }
    }
}

#[test]
fn a_file_that_the_guest_sees_reaches_the_program_as_a_private_copy() {
    for place in Place::all() {
        let tool =
            program(&place, "tool", "echo \"$1\" > $d/data/name; stat -c %a:%u \"$1\" > $d/data/mode; cat \"$1\"");
        for (name, target) in [("out", "../theirs/secret"), ("within", "table"), ("device", "/dev/zero")] {
            symlink(target, place.at("signal").join(name)).unwrap();
        }
        place.write("theirs/secret", "secret");
        place.write("signal/table", "of a folder\n");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            place.at("signal/fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o644),
            0,
        )
        .unwrap();
        let folder = place.path("signal");
        let files = ["/tmp/table", "/tmp/none", "/tmp", "/etc/hostname", "/tmp/../etc/passwd"].map(str::to_owned);
        let inside =
            ["table", "within", "out", "device", "fifo", "../theirs/secret"].map(|name| format!("{folder}/{name}"));
        let commands: Vec<Value> = files.iter().chain(&inside).map(|file| json!({"argv": [tool, file]})).collect();
        let args = json!({"write": {"/tmp/table": "a\n"}, "commands": commands});
        let switches = ["--allow-outside", &format!("{tool} <input>"), "--allow-read", &folder];
        let (seen, ended) = seen_with(&place, args, &switches);
        let found = |seen: &Value| (seen["end"].as_i64(), seen["stdout"].as_str().unwrap_or_default().to_owned());
        let all: Vec<_> = seen.iter().map(found).collect();
        let copied = |text: &str| (Some(0), text.to_owned());
        // What is not a plain path, no rule covers.
        let (refused, not_covered) = ((Some(126), String::new()), (None, String::new()));
        let expect = [
            vec![copied("a\n"), refused.clone(), refused.clone(), refused.clone(), not_covered.clone()],
            vec![copied("of a folder\n"), copied("of a folder\n")],
            vec![refused.clone(), refused.clone(), refused, not_covered],
        ];
        assert_eq!(all, expect.concat(), "{:#}", ended.report);
        assert_eq!(words(&place).len(), 3);
        let own = place.user.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        assert_eq!(place.read("data/mode"), format!("600:{own}\n"));
        let name = place.read("data/name");
        assert!(name.starts_with(&place.path("tmp")) && name.ends_with("-within\n"), "{name}");
        let notes = ended.report["notes"].to_string();
        assert!(notes.contains("/theirs/tool` was not started outside: its argument 1: "), "{notes}");
    }
}

#[test]
fn what_the_guest_could_change_is_not_started() {
    let place = Place::new(None);
    let tool = program(&place, "tool", "");
    symlink(place.at("data"), place.at("theirs/way")).unwrap();
    fs::create_dir(place.at("theirs/home")).unwrap();
    let path = |name: &str| place.path(name);
    for (rule, words, write, starts) in [
        (tool.clone(), vec![], "signal", true),
        (tool.clone(), vec![], "theirs", false),
        (tool.clone(), vec![], "theirs/tool", false),
        (format!("{tool} <path>"), vec![path("theirs/home")], "data", true),
        (format!("{tool} <path>"), vec![path("data/new/home")], "data", false),
        (format!("{tool} <path>"), vec![path("theirs/way/x")], "data", false),
    ] {
        let argv: Vec<String> = std::iter::once(tool.clone()).chain(words).collect();
        let switches = ["--allow-outside", &rule, "--allow-write", &path(write)];
        let (seen, ended) = seen(&place, &json!([{"argv": argv}]), &switches);
        let is_told = ended.report["notes"].to_string().contains("was not started outside: the module may write");
        assert_eq!((seen[0]["end"] == 126, is_told), (!starts, !starts), "{argv:?} {write}: {:#}", ended.report);
    }
}

#[test]
fn ten_thousand_asks_are_the_most() {
    let place = Place::new(None);
    let tool = program(&place, "tool", "");
    let commands: Vec<Value> =
        (0..10_005).map(|number| json!({"argv": [tool, if number < 9_995 { "no" } else { "ok" }]})).collect();
    let (seen, ended) = seen(&place, &json!(commands), &["--allow-outside", &format!("{tool} ok")]);
    let count = |what: &dyn Fn(&Value) -> bool| seen.iter().filter(|seen| what(seen)).count();
    assert_eq!(count(&|seen| seen["denied"].is_string()), 9_995, "{:#}", ended.report);
    assert_eq!((count(&|seen| seen["end"] == 0), count(&|seen| seen["end"] == 126)), (5, 5));
    assert_eq!((words(&place).len(), denied(&ended).len()), (5, 1));
    assert!(ended.report["notes"].to_string().contains("more than 10000 commands outside"), "{:#}", ended.report);
}

#[test]
fn jobs_of_a_batch_run_commands_outside_by_their_own_rules() {
    let dir = TestDir::new();
    let noted = dir.join("noted");
    let tool = dir.write_executable("tool", format!("#!/bin/sh\necho \"$1\" >> {}\n", noted.display()));
    let tool = tool.display().to_string();
    for name in ["permitted.wasm", "other.wasm"] {
        fs::copy(guest("command"), dir.join(name)).unwrap();
    }
    let policy = json!({"modules": {"permitted": {"allow": {"outside": [format!("{tool} <n>")]}}}});
    dir.write("policy.yaml", policy.to_string());
    let lines: String = (0..6)
        .map(|id| {
            // Rules are for single modules, here by their files.
            let module = dir.join(if id % 2 == 0 { "permitted.wasm" } else { "other.wasm" });
            let args = json!({"commands": [{"argv": [tool, id.to_string()]}]});
            format!("{}\n", json!({"id": id, "module": module, "args": args}))
        })
        .collect();
    let ran =
        Modbox::new(&dir).arg("batch").args(["--jobs", "2", "--ordered", "--policy", "policy.yaml"]).stdin(lines).run();
    let reports: Vec<Value> = ran.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports.len(), 6, "{ran}");
    for (id, report) in reports.iter().enumerate() {
        let seen = &report["result"]["seen"][0];
        assert_eq!((seen["end"] == 0, seen["denied"].is_string()), (id % 2 == 0, id % 2 == 1), "{report:#}");
        assert_eq!(report["outside"].is_array(), id % 2 == 0, "{report:#}");
    }
    let mut noted: Vec<String> = fs::read_to_string(noted).unwrap().lines().map(str::to_owned).collect();
    noted.sort();
    assert_eq!(noted, ["0", "2", "4"]);
    dir.assert_nothing_left();
}
