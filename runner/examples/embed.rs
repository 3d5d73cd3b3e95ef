//! Runs a module from a program of your own: loaded once, run many times, from several threads.
//!
//! `cargo run --release --example embed -- MODULE.wasm [KEY=VALUE]...`

use std::env;
use std::path::Path;

use modbox_contract::{Dict, InternalArgs, args};
use modbox_policy::{Designated, Policy};
use modbox_run::{Arguments, Module, RunRequest, Runner, RunnerConfig, locate};
use modbox_vocabulary::Limits;
use modbox_wasm::{CompileCache, Instances};

/// Runs of each thread.
const RUNS: usize = 100;

#[expect(clippy::disallowed_methods, reason = "an example reads its own command line")]
#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() -> anyhow::Result<()> {
    let mut words = env::args().skip(1);
    let path = words.next().unwrap_or_else(|| "module.wasm".to_owned());
    let given = words.map(|word| args::parse_pair(word.as_bytes())).collect::<Result<Dict, _>>()?;

    // Compiled code is kept in a folder of this user's; compiling happens in this process, unless `worker` names a modbox.
    let folder = env::temp_dir().join("modbox-embed-example");
    let runner = Runner::new(RunnerConfig {
        cache: Some(CompileCache::new(folder)),
        directory: env::current_dir()?,
        instances: Instances::Pooled,
        ..RunnerConfig::new(env::temp_dir())
    });

    // Nothing is granted but what the arguments name.
    let mut policy = Policy::default();
    policy.set_designated(Designated::Write);
    let limits = Limits::default();
    let module = Module::new(locate::read(Path::new(&path))?, None);
    runner.load(&module, &limits)?;

    let run = || {
        let internal = Box::new(InternalArgs::new("example"));
        runner.run(
            &module,
            &RunRequest::new("example", Arguments::Task { args: given.clone(), internal }, &policy, &limits),
        )
    };
    println!("{}", run().result.to_json());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..RUNS).for_each(|_| drop(run())));
        }
    });
    println!("and {} more times from two threads", 2 * RUNS);
    Ok(())
}
