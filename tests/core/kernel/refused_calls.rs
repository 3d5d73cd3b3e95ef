//! System calls that a guest worker is refused after its guest has taken it over: the report names them, and each run ends
//! within its limits.
//!
//! The workers are real: a library that is loaded with the program makes the calls, from inside the confined process.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use modbox_cleanup::Cleanup;
use modbox_contract::{Dict, InternalArgs};
use modbox_policy::Policy;
use modbox_run::batch::{
    Batch, BatchConfig, GrantedPlaces, Host, Job, PoolConfig, Progress, ResolvedJob, Setup, Walls,
};
use modbox_run::{Arguments, Module, ModuleFile, Report, RunForm, RunRequest, Runner, RunnerConfig};
use modbox_vocabulary::Limits;
use modbox_wasm::CompileCache;
use modbox_worker::Workers;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, guest, native_library};

const MODBOX: &str = env!("CARGO_BIN_EXE_modbox");

/// Time after which a run counts as not bounded.
const BOUND: Duration = Duration::from_secs(12);

/// Runs `modbox run`, whose worker is a fork. The worker makes the calls of `attack`.
fn run(dir: &TestDir, attack: &str, switches: &[&str]) -> RunOutput {
    let run = Modbox::run_module(dir, guest("hello"))
        .env("LD_PRELOAD", native_library("core/native/programs/refused_calls.c"));
    run.json_args(&json!({"name": attack})).args(switches).report().run()
}

fn calls(numbers: &[i64]) -> String {
    numbers.iter().map(|number| format!("call {number}")).collect::<Vec<_>>().join(", ")
}

fn denial(name: &str) -> Value {
    json!({"capability": "confinement", "subject": name, "operation": "call", "allow": "--allow-all"})
}

#[test]
fn a_refused_call_is_named() {
    let dir = TestDir::new();
    for (number, name) in [(libc::SYS_io_uring_setup, "io_uring_setup"), (libc::SYS_unshare, "unshare")] {
        let ran = run(&dir, &calls(&[number]), &[]).exits_with(0);
        let report = ran.json();
        assert_eq!((&report["status"], &report["confinement"]["level"]), (&json!("ok"), &json!(2)), "{ran}");
        assert_eq!((&report["denials"], &report["notes"]), (&json!([denial(name)]), &Value::Null), "{ran}");
    }
    dir.assert_nothing_left();
}

#[test]
fn an_ordinary_run_is_refused_nothing() {
    let dir = TestDir::new();
    let ran = run(&dir, "x", &[]).exits_with(0);
    assert_eq!(ran.json()["denials"], json!([]), "{ran}");
}

#[test]
fn calls_without_end_are_listed_up_to_a_bound_and_end_at_the_limit() {
    let dir = TestDir::new();
    let ran = run(&dir, "flood", &["--timeout", "1s"]).exits_with(5).within(BOUND);
    let report = ran.json();
    assert_eq!((&report["status"], &report["limit"]["kind"]), (&json!("limit"), &json!("wall")), "{ran}");
    let denials = report["denials"].as_array().unwrap();
    assert_eq!((denials.len(), &denials[1]), (64, &denial("call 0x40000001")), "{ran}");
    assert!(report["denials_omitted"].as_u64() > Some(400), "{ran}");
    dir.assert_nothing_left();
}

#[test]
fn a_worker_that_dies_in_a_call_is_a_crash() {
    let dir = TestDir::new();
    for _ in 0..5 {
        let ran = run(&dir, &format!("die {}", libc::SYS_io_uring_setup), &[]).exits_with(6).within(BOUND);
        assert!(ran.json()["result"]["msg"].as_str().unwrap().contains("SIGKILL"), "{ran}");
    }
    dir.assert_nothing_left();
}

#[test]
fn a_kernel_that_reports_no_calls_refuses_them_and_the_report_says_so() {
    let dir = TestDir::new();
    let attack = calls(&[libc::SYS_io_uring_setup]);
    let ran = without_listeners(|| run(&dir, &attack, &[])).exits_with(0);
    let report = ran.json();
    assert_eq!((&report["confinement"]["level"], &report["denials"]), (&json!(2), &json!([])), "{ran}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("system calls that the module is refused are not named: Invalid argument"), "{ran}");
}

/// Runs an action as if on a kernel whose filters have no listeners.
fn without_listeners<T: Send>(action: impl FnOnce() -> T + Send) -> T {
    let with_listener = SeccompCmpOp::MaskedEq(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
    let value = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let condition = SeccompCondition::new(1, SeccompCmpArgLen::Dword, with_listener, value).unwrap();
    let filter = SeccompFilter::new(
        [(libc::SYS_seccomp, vec![SeccompRule::new(vec![condition]).unwrap()])].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EINVAL.cast_unsigned()),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    let behind = || {
        seccompiler::apply_filter(&program).unwrap();
        action()
    };
    thread::scope(|scope| scope.spawn(behind).join().unwrap())
}

/// A runner whose workers are started, and make the calls that a run asks for.
struct Attacked {
    dir: TestDir,
    runner: Arc<Runner>,
    workers: Workers,
    setup: Arc<Setup>,
}

impl Attacked {
    fn new(limits: Limits) -> Self {
        let dir = TestDir::new();
        let library = native_library("core/native/programs/refused_calls.c");
        let script = format!("#!/bin/sh\nLD_PRELOAD={} exec {MODBOX} \"$@\"\n", library.display());
        let workers = Workers::new(dir.write_executable("worker", script));
        let runner = Arc::new(Runner::new(RunnerConfig {
            cache: Some(CompileCache::new(dir.join("cache"))),
            workers: Some(workers.clone()),
            ..RunnerConfig::new(dir.mkdir("tmp"))
        }));
        let bytes = fs::read(guest("hello")).unwrap().into();
        let module = Arc::new(Module::new(ModuleFile { path: guest("hello"), bytes }, None));
        let setup = Arc::new(Setup {
            form: RunForm::of(&module),
            module,
            walls: Walls::of(&Policy::default(), &GrantedPlaces::of(&Policy::default())),
            places: GrantedPlaces::of(&Policy::default()),
            policy: Policy::default(),
            layers: None,
            limits,
            interpreters: Arc::default(),
            audit: None,
        });
        Self { dir, runner, workers, setup }
    }

    fn request(&self, args: Dict) -> RunRequest<'_> {
        let arguments = Arguments::Task { args, internal: Box::new(InternalArgs::new("hello")) };
        RunRequest::new("hello", arguments, &self.setup.policy, &self.setup.limits)
    }

    /// Runs a batch with one worker, and returns the reports in the order of the jobs.
    fn batch(&self, attacks: &[&str]) -> Vec<Value> {
        let job = |attack: &&str| format!("{}\n", json!({"module": "hello", "args": {"name": attack}}));
        let jobs = self.dir.write("jobs", attacks.iter().map(job).collect::<String>());
        let config = BatchConfig {
            ordered: true,
            pool: PoolConfig {
                jobs: 1,
                runner: Arc::clone(&self.runner),
                workers: self.workers.clone(),
                cleanup: Cleanup::default(),
            },
        };
        let (mut host, mut output) = (AttackedHost(self), Vec::new());
        let (stop, _never) = std::io::pipe().unwrap();
        let input = fs::File::open(jobs).unwrap();
        Batch::new(config, &mut host, &mut output).unwrap().run(input.as_fd(), stop.as_fd()).unwrap();
        let lines = String::from_utf8(output).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Resolves every job to the same module.
struct AttackedHost<'a>(&'a Attacked);

impl Host for AttackedHost<'_> {
    fn resolve(&mut self, job: &Job) -> Result<ResolvedJob, String> {
        let Self(Attacked { runner, setup, .. }) = self;
        let admission = runner.admit(&setup.module, &self.0.request(job.args.clone()));
        Ok(ResolvedJob { setup: Arc::clone(setup), name: "hello".to_owned(), admission })
    }

    fn progress(&mut self, _progress: &Progress) {}
}

#[test]
fn calls_of_a_started_worker_are_named() {
    let attacked = Attacked::new(Limits::default());
    let attack = calls(&[libc::SYS_bpf]);
    let args: Dict = [("name".to_owned(), attack.as_str().into())].into_iter().collect();
    let report: Report = attacked.runner.run(&attacked.setup.module, &attacked.request(args));
    let report: Value = serde_json::from_str(&modbox_contract::encode(&report.to_value())).unwrap();
    assert_eq!((&report["status"], &report["denials"]), (&json!("ok"), &json!([denial("bpf")])), "{report:#}");
}

#[test]
fn calls_belong_to_the_job_of_a_batch_that_made_them() {
    let attacked = Attacked::new(Limits::default());
    let [io_uring, bpf] = [libc::SYS_io_uring_setup, libc::SYS_bpf].map(|number| calls(&[number]));
    // Enough jobs that a worker gets several in advance.
    let attacks: Vec<&str> = (0..200)
        .map(|at| match at % 4 {
            1 => &*io_uring,
            2 => &*bpf,
            _ => "x",
        })
        .collect();
    let reports = attacked.batch(&attacks);
    assert_eq!(reports.len(), attacks.len());
    for (at, report) in reports.iter().enumerate() {
        let expect = match at % 4 {
            1 => json!([denial("io_uring_setup")]),
            2 => json!([denial("bpf")]),
            _ => json!([]),
        };
        assert_eq!((&report["status"], &report["denials"]), (&json!("ok"), &expect), "job {at}: {report:#}");
    }
}

#[test]
fn a_job_that_makes_calls_without_end_ends_alone() {
    let attacked = Attacked::new(Limits { timeout: Duration::from_secs(1), ..Limits::default() });
    let reports = attacked.batch(&["x", "flood", "x"]);
    let statuses: Vec<&Value> = reports.iter().map(|report| &report["status"]).collect();
    assert_eq!(statuses, ["ok", "limit", "ok"], "{reports:#?}");
    let listed = reports.iter().map(|report| report["denials"].as_array().unwrap().len()).collect::<Vec<_>>();
    assert_eq!(listed, [0, 64, 0], "{reports:#?}");
}
