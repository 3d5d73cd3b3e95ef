//! `cargo bench --bench fleet`: tasks on a host over ssh, by Ansible's own module, by Mitogen, by the collection's module and
//! by `modbox-python`; and the first contact with a host that has nothing.
//!
//! Each round runs every peer once, in turn, so that what else the machine does falls on all of them. A play asks for the
//! time before and after its tasks, so the start of Ansible and the connection do not count. `raw: "true"` starts a shell
//! on the host and nothing else, so it is the floor of Ansible itself.
//!
//! It needs root, for hosts in namespaces, and the first time PyPI.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use modbox_test_support as support;

#[path = "builds.rs"]
mod builds;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use support::{HostNetwork, Modbox, TestDir, module, oracle};

/// Each takes minutes on a busy machine, most of them for Ansible's own module.
const ROUNDS: usize = 3;

/// Tasks of a play that count.
const TASKS: usize = 30;

/// The host of most plays.
const KNOWN: usize = 1;

/// The host that has nothing at first contact.
const NEW: usize = 2;

/// Plays of one task with a loop, and of many tasks.
const SHAPES: [&str; 2] = ["a loop", "many tasks"];

/// A way to run a task.
struct Peer {
    name: String,
    module: &'static str,
    python: PathBuf,
    variables: Value,
    environment: Vec<(&'static str, String)>,
    /// Seconds that the tasks of plays of each shape took.
    times: [Vec<f64>; 2],
}

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    let Some(network) = HostNetwork::start(&dir, NEW) else { return };
    let builds = builds::builds(&dir);
    install(&dir);
    let mut peers = peers(&dir, &builds);
    for round in 0..ROUNDS {
        for peer in &mut peers {
            for shape in 0..SHAPES.len() {
                let play = play(peer.module, shape, round);
                let (_, output) = run(&dir, &network, KNOWN, peer, &play);
                peer.times[shape].push(between(&output));
            }
        }
    }
    print_rates(&mut peers);
    print_first_contacts(&dir, &network, &builds);
}

/// Installs the collection for all plays.
fn install(dir: &TestDir) {
    let build = Modbox::new(dir).args(["collection", "build", "--output", "out"]);
    let archive = build.arg(module("lineinfile")).arg(module("ping")).run().exits_with(0).stdout_text().to_owned();
    let mut galaxy = oracle::ansible(dir, "galaxy");
    galaxy.args(["collection", "install", "--offline", "-p", "collections"]).arg(archive.trim_end());
    assert!(galaxy.output().expect("Python starts").status.success());
}

/// Makes the folder of the controller that has a build for hosts.
fn runners(dir: &TestDir, name: &str, program: &Path) -> PathBuf {
    let folder = dir.mkdir(&format!("for hosts/{name}"));
    let file = folder.join(format!("modbox-linux-{}", std::env::consts::ARCH));
    if !file.exists() {
        symlink(program, file).expect("the folder is new");
    }
    folder
}

fn peers(dir: &TestDir, builds: &[(&'static str, PathBuf)]) -> Vec<Peer> {
    let peer = |name: &str, module| Peer {
        name: name.to_owned(),
        module,
        python: oracle::python(),
        variables: json!({}),
        environment: Vec::new(),
        times: Default::default(),
    };
    let lineinfile = "ansible.builtin.lineinfile";
    let mitogen = oracle::python_with_mitogen();
    let plugins = oracle::packages_of(&mitogen).join("ansible_mitogen/plugins/strategy").display().to_string();
    let mut peers = vec![
        peer("raw: true, the floor", "ansible.builtin.raw"),
        peer("Ansible, pipelined", lineinfile),
        Peer {
            python: mitogen,
            environment: vec![("ANSIBLE_STRATEGY_PLUGINS", plugins), ("ANSIBLE_STRATEGY", "mitogen_linear".to_owned())],
            ..peer("Mitogen", lineinfile)
        },
        Peer {
            variables: json!({"ansible_python_interpreter": "/usr/local/bin/modbox-python"}),
            ..peer("modbox-python, pipelined", lineinfile)
        },
    ];
    peers.extend(builds.iter().map(|(name, program)| Peer {
        variables: json!({"modbox_runner_dir": runners(dir, name, program)}),
        ..peer(&format!("modbox.modbox, {name}"), "modbox.modbox.lineinfile")
    }));
    peers
}

/// Returns the tasks of a play. Every task changes the file, and the time is asked for twice.
fn play(module: &str, shape: usize, round: usize) -> Vec<Value> {
    let task = |line: String| match module {
        "ansible.builtin.raw" => json!({module: "true"}),
        _ => json!({module: {"path": "/srv/root/file", "create": true, "line": line}}),
    };
    let name = format!("{module} {shape} {round}");
    let mut timed = match shape {
        0 => {
            let mut task = task(format!("{name} {{{{ item }}}}"));
            task["loop"] = (0..TASKS).collect();
            vec![task]
        }
        _ => (0..TASKS).map(|number| task(format!("{name} {number}"))).collect(),
    };
    let now = json!({"ansible.builtin.debug": {"msg": format!("{NOW}{{{{ lookup('pipe', 'date +%s.%N') }}}}")}});
    // The first task opens the connection, and fills caches.
    timed.splice(0..0, [task(name), now.clone()]);
    timed.push(now);
    timed
}

/// What comes before the time in the output of a play.
const NOW: &str = "now: ";

/// Returns the seconds between the times in the output of a play.
fn between(output: &str) -> f64 {
    let times = output.split(NOW).skip(1).map(|rest| rest.split('"').next().and_then(|time| time.parse::<f64>().ok()));
    let times: Vec<f64> = times.flatten().collect();
    assert_eq!(times.len(), 2, "{output}");
    times[1] - times[0]
}

/// Runs a play on a host. Returns the seconds that it took, and what it printed.
fn run(dir: &TestDir, network: &HostNetwork, host: usize, peer: &Peer, tasks: &[Value]) -> (f64, String) {
    network.shell(host, "rm -f /srv/root/file");
    let mut variables = network.variables(host);
    variables["ansible_user"] = "root".into();
    variables.as_object_mut().expect("it is one").extend(peer.variables.as_object().expect("it is one").clone());
    let inventory = dir.write("inventory.json", json!({"all": {"hosts": {"host": variables}}}).to_string());
    let play = json!([{"hosts": "all", "gather_facts": false, "tasks": tasks}]);
    let file = dir.write("play.yml", play.to_string());
    let mut command = oracle::ansible_by(&peer.python, dir, "playbook");
    command.arg("-i").arg(inventory).arg(file).env_remove("ANSIBLE_REMOTE_TEMP").env("ANSIBLE_PIPELINING", "1");
    command.env("XDG_CACHE_HOME", dir.join("cache")).env("ANSIBLE_COLLECTIONS_PATH", dir.join("collections"));
    command.envs(peer.environment.iter().map(|(key, value)| (*key, value)));
    let started = Instant::now();
    let output = network.beside(&command).output().expect("nsenter starts");
    let seconds = started.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    (seconds, text)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn print_rates(peers: &mut [Peer]) {
    println!("tasks on one host over ssh, in a second (median of {ROUNDS})");
    println!("{:<28} {:>12} {:>12} {:>12} {:>12}", "", SHAPES[0], SHAPES[1], "/ Ansible", "/ Mitogen");
    let tasks = f64::from(u32::try_from(TASKS).expect("it is small"));
    let rates = |peer: &mut Peer| peer.times.each_mut().map(|times| tasks / median(times));
    let all: Vec<[f64; 2]> = peers.iter_mut().map(rates).collect();
    for (peer, rates) in peers.iter().zip(&all) {
        let [ansible, mitogen] =
            [all[1], all[2]].map(|other| format!("{:.1}, {:.1}", rates[0] / other[0], rates[1] / other[1]));
        println!("{:<28} {:>12.1} {:>12.1} {ansible:>12} {mitogen:>12}", peer.name, rates[0], rates[1]);
    }
}

/// Prints the time of a first task on a host that has nothing, and of the next one.
fn print_first_contacts(dir: &TestDir, network: &HostNetwork, builds: &[(&'static str, PathBuf)]) {
    println!("\nfirst contact, seconds (median of {ROUNDS})");
    println!("{:<28} {:>14} {:>14} {:>14}", "", "not compressed", "compressed", "next contact");
    for (name, program) in builds {
        let peer = Peer {
            name: String::new(),
            module: "modbox.modbox.lineinfile",
            python: oracle::python(),
            variables: json!({"modbox_runner_dir": runners(dir, name, program)}),
            environment: Vec::new(),
            times: Default::default(),
        };
        let mut times: [Vec<f64>; 3] = Default::default();
        for round in 0..ROUNDS {
            // The controller compresses modbox once, and keeps that.
            let _ = fs::remove_dir_all(dir.join("cache/modbox"));
            for (number, times) in times.iter_mut().enumerate() {
                if number < 2 {
                    network.shell(NEW, "rm -rf /srv/root/.cache");
                }
                let one = &play(peer.module, 1, round)[..1];
                times.push(run(dir, network, NEW, &peer, one).0);
            }
        }
        let [cold, warm, next] = times.each_mut().map(|times| median(times));
        println!("{name:<28} {cold:>14.2} {warm:>14.2} {next:>14.2}");
    }
}
