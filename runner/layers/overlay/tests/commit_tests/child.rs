//! This test program as a child process: it commits or recovers, and is killed at a point.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use modbox_overlay::commit::{Start, Strength, recover, undo};
use rustix::process::{Signal, getpid, kill_process};

use crate::world::{At, World};

/// Name of the variable that tells a child what to do.
const TASK: &str = "MODBOX_TEST_COMMIT";

/// Work of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Commit,
    CommitDurably,
    CommitKept,
    /// A durable commit. The power is lost in place of SIGKILL.
    LosePower,
    Recover,
    Undo,
}

/// Runs a child that does this work, and is killed before its n-th call.
pub(crate) fn run(world: &World, work: Work, at: usize) -> ExitStatus {
    let task =
        format!("{work:?}\n{at}\n{}\n{}\n{}", world.start.realtime, world.start.offset, world.base.to_str().unwrap());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child::child", "--test-threads=1"]).env(TASK, task);
    command.stdout(std::process::Stdio::null()).status().unwrap()
}

/// Runs tests with a name as an ordinary user.
pub(crate) fn run_as_user(tests: &str) {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args([tests, "--skip", "as_user"]).uid(65534).gid(65534).current_dir("/").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("running 0 tests"), "{text}");
}

#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let mut lines = task.splitn(5, '\n');
    let mut next = || lines.next().unwrap();
    let (work, at) = (next(), next().parse().unwrap());
    let start = Start { realtime: next().parse().unwrap(), offset: next().parse().unwrap() };
    let world = World::open(PathBuf::from(next()), start);
    let kill = |_| {
        kill_process(getpid(), Signal::KILL).unwrap();
        Ok(())
    };
    let lose_power = |call| {
        crate::power::lose(&world.base);
        kill(call)
    };
    let fault = At::new(at, if work == "LosePower" { &lose_power } else { &kill });
    match work {
        "Commit" => drop(world.commit(&fault)),
        "CommitDurably" | "LosePower" => drop(world.commit_with(&fault, Strength::Power, false)),
        "CommitKept" => drop(world.commit_with(&fault, Strength::Process, true)),
        "Recover" => drop(recover(&world.state(), &fault)),
        "Undo" => drop(undo(&world.state(), &world.records()[0], |_| true, &fault)),
        other => panic!("{other}"),
    }
}
