//! Plays by the real ansible-core, and the results that it registers.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::install::tool;
use crate::oracle::ansible;
use crate::{TestDir, fixture};

/// Time limit for a play. One of seventy tasks takes half a minute, and many times that on a busy machine.
const PLAY: Duration = Duration::from_secs(600);

/// Runs tasks on this machine, with the modules in `library/` of the test's directory, and returns the registered
/// result of each. A failed task does not end the play.
#[track_caller]
pub fn play(dir: &TestDir, tasks: &[Value], options: &[&str]) -> Vec<Value> {
    let text = play_to_text(dir, tasks, options);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("strict JSON was registered: {error}\n{text}"))
}

/// Runs tasks like [`play`] and returns one list in Python's JSON, for results with `NaN` or lone surrogates.
#[track_caller]
pub fn play_to_text(dir: &TestDir, tasks: &[Value], options: &[&str]) -> String {
    play_by(ansible(dir, "playbook"), dir, tasks, options)
}

/// Runs tasks like [`play_to_text`], with the given command, to which only the options and the play are added.
#[track_caller]
pub fn play_by(mut playbook: Command, dir: &TestDir, tasks: &[Value], options: &[&str]) -> String {
    let named = |(index, task): (usize, &Value)| {
        let mut task = task.clone();
        let task_object = task.as_object_mut().expect("a task is an object");
        task_object.insert("register".into(), json!(format!("task_{index}")));
        task_object.insert("ignore_errors".into(), json!(true));
        task
    };
    let mut all: Vec<Value> = tasks.iter().enumerate().map(named).collect();
    let names: Vec<String> = (0..tasks.len()).map(|index| format!("task_{index}")).collect();
    let registered = dir.join("registered");
    let _ = fs::remove_file(&registered);
    all.push(keep(dir, &names.join(", "), &registered));
    let play = json!([{"hosts": "localhost", "connection": "local", "gather_facts": false, "tasks": all}]);
    let file = dir.write("play.yml", play.to_string());
    let output = tool(playbook.args(options).arg(file), PLAY).unwrap_or_else(|output| output);
    fs::read_to_string(&registered).unwrap_or_else(|error| panic!("nothing was registered: {error}\n{output}"))
}

/// Returns a task that writes a list into a file. Puts the plugin for it beside the play.
fn keep(dir: &TestDir, items: &str, file: &Path) -> Value {
    let plugin = fs::read(fixture("oracle/keep.py")).expect("the repository has it");
    dir.write("action_plugins/keep.py", plugin);
    json!({"keep": {"content": format!("{{{{ [{items}] | to_json }}}}"), "dest": file}})
}

/// Runs tasks on the hosts of an inventory, which are named with their variables. Returns the registered results of each
/// host, in the order of the tasks. The play goes on after a task that fails, and after a host that is not reached.
#[track_caller]
pub fn play_on(mut playbook: Command, dir: &TestDir, hosts: &Map<String, Value>, tasks: &[Value]) -> Vec<Vec<Value>> {
    let inventory = dir.write("inventory.json", json!({"all": {"hosts": hosts}}).to_string());
    let named = |(index, task): (usize, &Value)| {
        let mut task = task.clone();
        let task_object = task.as_object_mut().expect("a task is an object");
        task_object.insert("register".into(), json!(format!("task_{index}")));
        for key in ["ignore_errors", "ignore_unreachable"] {
            task_object.insert(key.into(), json!(true));
        }
        task
    };
    let tasks: Vec<Value> = tasks.iter().enumerate().map(named).collect();
    let names: Vec<&String> = hosts.keys().collect();
    let of_task = |index| format!("{} | map('extract', hostvars, 'task_{index}') | list", json!(names));
    let results: Vec<String> = (0..tasks.len()).map(of_task).collect();
    let registered = dir.join("registered");
    let _ = fs::remove_file(&registered);
    let write = keep(dir, &results.join(", "), &registered);
    let play = json!([
        {"hosts": "all", "gather_facts": false, "tasks": tasks},
        {"hosts": "localhost", "connection": "local", "gather_facts": false, "tasks": [write]},
    ]);
    let file = dir.write("play.yml", play.to_string());
    let output = tool(playbook.arg("-i").arg(inventory).arg(file), PLAY).unwrap_or_else(|output| output);
    let text =
        fs::read_to_string(&registered).unwrap_or_else(|error| panic!("nothing was registered: {error}\n{output}"));
    let by_task: Vec<Vec<Value>> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (0..names.len()).map(|host| by_task.iter().map(|results| results[host].clone()).collect()).collect()
}
