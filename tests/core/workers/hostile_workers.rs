//! Workers that their guests have taken over: whatever they send, a run ends at its limit, its commands end with it, and
//! nothing is kept beyond the limits.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use modbox_cleanup::Cleanup;
use modbox_contract::{Dict, InternalArgs};
use modbox_policy::Policy;
use modbox_policy::run::RunGrant;
use modbox_run::batch::{
    Batch, BatchConfig, GrantedPlaces, Host, Job, PoolConfig, Progress, ResolvedJob, Setup, Walls,
};
use modbox_run::{Arguments, LayeredRun, Module, ModuleFile, Report, RunForm, RunRequest, Runner, RunnerConfig};
use modbox_vocabulary::{GrantSource, LimitKind, Limits};
use modbox_wasm::CompileCache;
use modbox_worker::Workers;
use serde_json::Value;

use crate::support::{TestDir, fixture, guest, stretched, wait_for};

/// Ways of a worker to break its bounds.
const MODES: [&str; 6] = ["confined", "commands", "command", "output", "length", "died"];

const TIMEOUT: Duration = Duration::from_millis(1500);

/// Time after which a run counts as not bounded, on a quiet machine.
const BOUND: Duration = Duration::from_secs(12);

const MODBOX: &str = env!("CARGO_BIN_EXE_modbox");

pub(crate) struct Attack {
    pub(crate) dir: TestDir,
    module: Arc<Module>,
    workers: Workers,
    pub(crate) policy: Policy,
    limits: Limits,
    /// Seconds that its commands sleep, by which their processes are recognised.
    sleep: String,
}

impl Attack {
    pub(crate) fn new(mode: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let dir = TestDir::new();
        let sleep = format!("36{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let script = fs::read_to_string(fixture("core/native/programs/hostile_worker.py")).unwrap();
        let script = script.replace("@MODE@", mode).replace("@MODBOX@", MODBOX).replace("@SLEEP@", &sleep);
        let program = dir.write("worker", script);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let bytes = fs::read(guest("hello")).unwrap().into();
        let module = Arc::new(Module::new(ModuleFile { path: guest("hello"), bytes }, None));
        let mut policy = Policy::default();
        let (rule, programs) = ("sleep *".parse().unwrap(), vec![PathBuf::from("/usr/bin/sleep")]);
        policy.allow_run(RunGrant { rule, programs, source: GrantSource::named("test") });
        let limits = Limits { timeout: TIMEOUT, max_output: 1000, ..Limits::default() };
        let attack = Self { dir, module, workers: Workers::new(program), policy, limits, sleep };
        // The hostile program compiles nothing.
        let honest = attack.runner(Workers::new(MODBOX.into()));
        assert!(honest.run(&attack.module, &attack.request()).status.is_success());
        attack
    }

    fn runner(&self, workers: Workers) -> Runner {
        Runner::new(RunnerConfig {
            cache: Some(CompileCache::new(self.dir.join("cache"))),
            workers: Some(workers),
            ..RunnerConfig::new(self.dir.mkdir("tmp"))
        })
    }

    fn request(&self) -> RunRequest<'_> {
        let args: Dict = [("name".to_owned(), "x".into())].into_iter().collect();
        let arguments = Arguments::Task { args, internal: Box::new(InternalArgs::new("hello")) };
        RunRequest::new("hello", arguments, &self.policy, &self.limits)
    }

    /// Returns the number of commands that run now.
    fn commands(&self) -> usize {
        let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read(entry.path().join("cmdline")));
        lines.flatten().filter(|line| String::from_utf8_lossy(line).contains(&self.sleep)).count()
    }

    fn assert_over(&self, mode: &str) {
        assert!(wait_for(Duration::from_secs(10), || self.commands() == 0), "{mode}: commands go on");
    }
}

#[track_caller]
fn check(mode: &str, status: &str, limit: Option<&str>, stdout: usize) {
    assert!(["limit", "crashed"].contains(&status), "{mode}: {status}");
    if ["commands", "command"].contains(&mode) {
        // Twenty commands break the protocol of a batch, where each is run by a thread.
        assert!(status == "crashed" || limit == Some(LimitKind::Wall.as_str()), "{mode}: {status} {limit:?}");
    }
    assert!(stdout <= 1000, "{mode}: {stdout} bytes were kept");
}

#[test]
fn a_run_ends_within_its_bounds_whatever_its_worker_sends() {
    for mode in MODES {
        let attack = Attack::new(mode);
        let (runner, started) = (attack.runner(attack.workers.clone()), Instant::now());
        let report: Report = runner.run(&attack.module, &attack.request());
        let elapsed = started.elapsed();
        assert!(elapsed < stretched(BOUND), "{mode} took {elapsed:?}");
        let report: Value = serde_json::from_str(&modbox_contract::encode(&report.to_value())).unwrap();
        let stdout = report["result"]["module_stdout"].as_str().unwrap_or_default().len();
        check(mode, report["status"].as_str().unwrap(), report["limit"]["kind"].as_str(), stdout);
        attack.assert_over(mode);
    }
}

/// Resolves every job to the attack's module.
struct OneModule<'a> {
    attack: &'a Attack,
    runner: Arc<Runner>,
    setup: Arc<Setup>,
}

impl Host for OneModule<'_> {
    fn resolve(&mut self, _job: &Job) -> Result<ResolvedJob, String> {
        let admission = self.runner.admit(&self.attack.module, &self.attack.request());
        Ok(ResolvedJob { setup: Arc::clone(&self.setup), name: "hello".to_owned(), admission })
    }

    fn progress(&mut self, _progress: &Progress) {}
}

impl Attack {
    /// Runs two jobs in a batch, and returns their reports.
    pub(crate) fn batch(&self, layers: Option<LayeredRun>) -> Vec<Value> {
        let runner = Arc::new(self.runner(self.workers.clone()));
        let setup = Setup {
            layers,
            module: Arc::clone(&self.module),
            form: RunForm::of(&self.module),
            walls: Walls::of(&self.policy, &GrantedPlaces::of(&self.policy)),
            places: GrantedPlaces::of(&self.policy),
            policy: self.policy.clone(),
            limits: self.limits,
            interpreters: Arc::default(),
            audit: None,
        };
        let mut host = OneModule { attack: self, runner: Arc::clone(&runner), setup: Arc::new(setup) };
        let jobs = self.dir.write("jobs", "{\"id\": 1, \"module\": \"hello\"}\n{\"id\": 2, \"module\": \"hello\"}\n");
        let config = BatchConfig {
            ordered: true,
            pool: PoolConfig { jobs: 1, runner, workers: self.workers.clone(), cleanup: Cleanup::default() },
        };
        let mut output = Vec::new();
        let (stop, _never) = std::io::pipe().unwrap();
        let batch = Batch::new(config, &mut host, &mut output).unwrap();
        let input = fs::File::open(jobs).unwrap();
        batch.run(std::os::fd::AsFd::as_fd(&input), std::os::fd::AsFd::as_fd(&stop)).unwrap();
        let lines = String::from_utf8(output).unwrap();
        let reports: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(reports.len(), 2, "{lines}");
        reports
    }
}

#[test]
fn a_batch_answers_its_jobs_within_their_bounds_whatever_its_workers_send() {
    for mode in MODES {
        let attack = Attack::new(mode);
        let started = Instant::now();
        let reports = attack.batch(None);
        let elapsed = started.elapsed();
        assert!(elapsed < stretched(2 * BOUND), "{mode} took {elapsed:?}");
        // No command goes on when its job is answered.
        attack.assert_over(mode);
        for report in reports {
            let stdout = report["result"]["module_stdout"].as_str().unwrap_or_default().len();
            check(mode, report["status"].as_str().unwrap(), report["limit"]["kind"].as_str(), stdout);
        }
    }
}
