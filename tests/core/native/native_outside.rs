//! Commands of native modules that run outside of their rooms: what they get, what is told of them, how they end, and what keeps
//! them from starting. As root and as an ordinary user. `outside_attacks.rs` has modules that lie.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::{Value, json};

use crate::core::native::native_ladder::NO_MOUNTS;
use crate::core::native::native_place::{DONE, Ended, Place};
use crate::support::wait_for;

/// A program that notes its words, outside, where the module reaches nothing.
const NOTES: &str = "#!/bin/sh\nd=$(cd \"${0%/*}/..\" && pwd)\necho \"$*\" >> $d/data/words\n";

/// Returns a place with the program `theirs/NAME`, which root alone can change, and its path.
pub(crate) fn program(place: &Place, name: &str, rest: &str) -> String {
    let path = place.at("theirs").join(name);
    fs::write(&path, format!("{NOTES}{rest}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Returns the words of all commands that ran outside.
pub(crate) fn words(place: &Place) -> Vec<String> {
    let noted = fs::read_to_string(place.at("data/words")).unwrap_or_default();
    noted.lines().map(str::to_owned).collect()
}

pub(crate) fn denied(ended: &Ended) -> Vec<&Value> {
    let denials = ended.report["denials"].as_array().unwrap();
    denials.iter().filter(|denial| denial["capability"] == "outside").collect()
}

/// Waits for the end of a process of another parent.
pub(crate) fn is_gone(pid: Pid) -> bool {
    wait_for(Duration::from_secs(20), || test_kill_process(pid).is_err())
}

pub(crate) fn noted_pid(place: &Place, name: &str) -> Pid {
    let read = || fs::read_to_string(place.at(name)).ok()?.trim().parse().ok().and_then(Pid::from_raw);
    assert!(wait_for(Duration::from_secs(20), || read().is_some()), "no {name}");
    read().unwrap()
}

#[test]
fn a_covered_command_runs_outside_and_the_module_sees_its_end_and_its_streams() {
    for place in Place::all() {
        let tool = program(&place, "tool", "cat > $d/data/input; echo out; echo err >&2; exit 7");
        let rule = format!("{tool} {{-v}} <name>");
        let code = format!(
            "import subprocess\nr = subprocess.run([{tool:?}, '-v', 'app'], input=b'text', capture_output=True)\n\
             result['seen'] = [r.returncode, r.stdout.decode(), r.stderr.decode()]\n\
             try: open(d + '/data/words')\nexcept OSError as error: result['own'] = error.errno"
        );
        let ended = place.python(&code, &["--allow-outside", &rule]);
        let report = &ended.report;
        assert_eq!(report["result"]["seen"], json!([7, "out\n", "err\n"]), "{report:#}");
        assert!(report["result"]["own"].is_i64(), "the module does not reach what the command does: {report:#}");
        assert_eq!((words(&place), place.read("data/input").as_str()), (vec!["-v app".to_owned()], "text"));
        let ran = &report["outside"];
        assert_eq!(ran[0]["command"], format!("{tool} -v app"), "{report:#}");
        assert_eq!((&ran[0]["rule"], &ran[0]["source"]), (&json!(rule), &json!("--allow-outside")), "{report:#}");
        assert_eq!(ran[0]["end"], json!({"exit": 7}), "{report:#}");
        assert!(ran[0]["as"].is_string() && ran[0]["wall_us"].as_u64() > Some(0) && ran[1].is_null(), "{report:#}");
        assert_eq!((&ended.audit["outside"], &report["confinement"]["level"]), (ran, &json!(3)), "{report:#}");
        assert!(denied(&ended).is_empty(), "{report:#}");
        assert_eq!(
            place.at("data/words").metadata().unwrap().uid(),
            place.user.unwrap_or_else(|| rustix::process::geteuid().as_raw())
        );
    }
}

#[test]
fn a_command_that_no_rule_covers_runs_in_the_room_and_the_denial_names_the_rule() {
    for place in Place::all() {
        let tool = program(&place, "tool", "echo inside $? >&2; exit 3");
        let script = format!("{tool} -f 'a b'; echo \"{{\\\"changed\\\": true, \\\"status\\\": $?}}\"");
        let ended = place.run(&script, &["--allow-outside", &format!("{tool} <name>")]);
        let report = &ended.report;
        // It cannot write where it notes its words.
        assert_eq!((&report["result"]["status"], words(&place).len()), (&json!(3), 0), "{report:#}");
        assert!(report["stderr"].as_str().unwrap().contains("inside 2"), "{report:#}");
        assert_eq!(report["outside"], Value::Null, "{report:#}");
        let allow =
            format!("--allow-outside '{tool} '\"'\"'-f'\"'\"''").replace("'\"'\"'-f'\"'\"''", "-f '\"'\"'a b'\"'\"''");
        let denials = denied(&ended);
        assert_eq!(denials[0]["subject"], format!("{tool} -f 'a b'"), "{report:#}");
        assert_eq!((denials[0]["allow"].as_str().unwrap(), denials.len()), (allow.as_str(), 1), "{report:#}");
        let rule = format!("{tool} -f 'a b'");
        let report = place.run(&script, &["--allow-outside", &rule]).changed();
        assert_eq!((words(&place), &report["result"]["status"]), (vec!["-f a b".to_owned()], &json!(3)), "{report:#}");
    }
}

#[test]
fn a_command_gets_a_fixed_environment_directory_and_umask() {
    for place in Place::all() {
        let tool = program(
            &place,
            "tool",
            "env | sort > $d/data/env; pwd > $d/data/pwd; umask > $d/data/umask; : > $d/data/made",
        );
        let script = format!(
            "export PATH=$d/data LD_LIBRARY_PATH=/x LC_ALL=C.UTF-8 LANG=/x TZ=UTC IFS=x HOME=/x SECRET=no GIVEN=mine\numask 000\n\
             {tool}\numask 077\n{tool}\n{DONE}"
        );
        let report = place.run(&script, &["--allow-outside", &tool, "--allow-env", "GIVEN=theirs"]).changed();
        let environment = place.read("data/env");
        for expect in [
            "DEBIAN_FRONTEND=noninteractive\n",
            "GIVEN=theirs\n",
            "LC_ALL=C.UTF-8\n",
            "TZ=UTC\n",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
        ] {
            assert!(environment.contains(expect), "{expect}\n{environment}");
        }
        for absent in ["LD_LIBRARY_PATH", "LANG=", "SECRET", "HOME=/x", "mine"] {
            assert!(!environment.contains(absent), "{absent}\n{environment}");
        }
        assert_eq!(place.read("data/pwd"), "/\n", "{report:#}");
        assert_eq!(place.read("data/umask"), "0077\n", "{report:#}");
        // Made by the first command, under the module's umask with 022 added.
        assert_eq!(place.at("data/made").metadata().unwrap().mode() & 0o777, 0o644, "{report:#}");
    }
}

#[test]
fn a_signal_a_closed_input_and_much_output_reach_the_module() {
    for place in Place::all() {
        let tool = program(
            &place,
            "tool",
            "case $1 in kill) kill -$2 $$;; cat) wc -c;; much) head -c 30000000 /dev/zero;; esac",
        );
        let code = format!(
            "import subprocess\ndef call(*words, **more): return subprocess.run([{tool:?}, *words], stdout=-1, **more)\n\
             result['signals'] = [call('kill', n).returncode for n in ('15', '9', '6')]\n\
             result['sizes'] = [int(call('cat', input=b'x' * 5_000_000).stdout), len(call('much').stdout)]\n\
             result['closed'] = int(call('cat', preexec_fn=lambda: os.close(0)).stdout)\n\
             many = [subprocess.Popen([{tool:?}, 'cat'], stdin=-1, stdout=-1) for _ in range(12)]\n\
             result['many'] = sorted(int(p.communicate(b'x' * n)[0]) for n, p in enumerate(many))"
        );
        let rule = format!("{tool} (kill <n>|cat|much)");
        let report = place.python(&code, &["--allow-outside", &rule]).changed();
        let result = &report["result"];
        assert_eq!((&result["signals"], &result["closed"]), (&json!([-15, -9, -6]), &json!(0)), "{report:#}");
        assert_eq!(result["sizes"], json!([5_000_000, 30_000_000]), "{report:#}");
        assert_eq!(result["many"], json!((0..12).collect::<Vec<_>>()), "{report:#}");
        assert_eq!(
            (report["outside"].as_array().unwrap().len(), &report["outside"][0]["end"]),
            (18, &json!({"signal": 15}))
        );
    }
}

#[test]
fn a_daemon_stays_and_the_run_does_not_wait_for_it() {
    for place in Place::all() {
        let tool = program(&place, "tool", "setsid sleep 600 > /dev/null 2>&1 < /dev/null & echo $! > $d/data/pid");
        let report = place.run(&format!("{tool}\n{DONE}"), &["--allow-outside", &tool]).changed();
        let daemon = noted_pid(&place, "data/pid");
        assert!(test_kill_process(daemon).is_ok(), "{report:#}");
        rustix::process::kill_process(daemon, Signal::KILL).unwrap();
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
        let switches =
            ["--allow-outside", &slow, "--allow-outside", &endless, "--timeout", "2s", "--outside-time", "4s"];
        let ended = place.run(&format!("{slow}; {endless}; echo \"{{\\\"status\\\": $?}}\""), &switches);
        let report = &ended.report;
        assert_eq!((&report["status"], &report["result"]["status"]), (&json!("ok"), &json!(5)), "{report:#}");
        assert_eq!(place.read("data/done"), "slow\nasked\n", "{report:#}");
        assert_eq!(
            (&report["outside"][0]["end"], &report["outside"][1]["end"]),
            (&json!({"exit": 0}), &json!("limit"))
        );
    }
}

#[test]
fn a_command_is_asked_to_end_when_the_process_that_started_it_is_gone() {
    for place in Place::all() {
        let tool = program(
            &place,
            "tool",
            "trap 'echo asked > $d/data/done; exit 5' TERM; : > $d/data/runs; while :; do sleep 0.1; done",
        );
        let code = format!(
            "import subprocess\np = subprocess.Popen([{tool:?}])\nr, w = os.pipe()\nq = subprocess.Popen([{tool:?}, 'x'], stdout=w)\n\
             os.close(w)\nos.read(r, 1)\np.terminate()\nresult['killed'] = p.wait()"
        );
        // The second command says that both run, and is left when the module ends.
        let ready = program(
            &place,
            "tool",
            "if [ \"$1\" = x ]; then while [ ! -e $d/data/runs ]; do sleep 0.01; done; echo; fi\n\
            trap 'echo asked >> $d/data/done; exit 5' TERM; : > $d/data/runs; while :; do sleep 0.1; done",
        );
        let report = place.python(&code, &["--allow-outside", &format!("{ready} {{x}}")]).report;
        assert!(report["result"]["module_stdout"].as_str().unwrap().contains("\"killed\": -15"), "{report:#}");
        assert_eq!((&report["status"], &report["survivors"]), (&json!("failed"), &json!(["tool"])), "{report:#}");
        assert_eq!(place.read("data/done"), "asked\nasked\n", "{report:#}");
        assert_eq!(
            [0, 1].map(|index| report["outside"][index]["end"].clone()),
            [json!({"exit": 5}), json!({"exit": 5})]
        );
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
        let script = format!("#!/bin/sh\n# WANT_JSON\n{tool}\n{DONE}\n");
        fs::write(place.at("module"), script).unwrap();
        let mut command = place.command("module", &["--allow-outside", &tool]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let running = noted_pid(&place, "data/pid");
        child.kill().unwrap();
        child.wait().unwrap();
        // Nothing but the command is left of the run.
        let starter = || {
            let of = |entry: &fs::DirEntry| fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            let is_own = |entry: &fs::DirEntry| {
                fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == place.at("modbox"))
                    && !of(entry).is_empty()
            };
            fs::read_dir("/proc").unwrap().flatten().filter(is_own).count()
        };
        assert!(wait_for(Duration::from_secs(20), || starter() == 0), "{}", starter());
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
fn a_room_without_namespaces_starts_no_module_with_such_grants() {
    for place in Place::all() {
        let tool = program(&place, "tool", "");
        let ended = place.run_without(NO_MOUNTS, &format!("{tool}\n{DONE}"), &["--allow-outside", &tool]);
        assert_eq!((&ended.report["status"], ended.exit), (&json!("denied"), Some(4)), "{:#}", ended.report);
        let message = ended.report["result"]["msg"].as_str().unwrap();
        assert!(message.contains("no namespaces, which these commands need") && message.contains(&tool), "{message}");
        assert!(words(&place).is_empty());
    }
}

#[test]
fn a_name_and_a_link_in_the_path_reach_the_program_and_other_names_do_not() {
    let place = Place::new(None);
    let tool = program(&place, "real", "echo \"$0\" >> $d/data/names");
    std::os::unix::fs::symlink("real", place.at("theirs/link")).unwrap();
    let link = place.path("theirs/link");
    let script = format!(
        "cd $d/theirs; {link} one; ./link two; ../theirs/link three; PATH=$d/theirs link four; {tool} five; cp {tool} /tmp/copy && /tmp/copy six\n{DONE}"
    );
    place
        .run(&script, &["--allow-outside", &format!("{link} <name>"), "--allow-read", &place.path("theirs")])
        .changed();
    assert_eq!(words(&place), ["one", "two", "three", "four"]);
    assert_eq!(place.read("data/names"), format!("{link}\n").repeat(4));
}
