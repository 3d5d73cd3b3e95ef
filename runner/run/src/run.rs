//! Runs a module from its request: with the effects that it asks for, or as the preview that a policy puts in place of check mode.

use tracing::info_span;

use crate::admission::Admission;
use crate::layered::LayeredRun;
use crate::modules::module::Module;
use crate::reports::report::Report;
use crate::request::run_request::RunRequest;
use crate::runner::Runner;
use crate::single_run::logged;

impl Runner {
    /// Runs a module once. In check mode, the policy can ask for a preview in place of the module's own check mode.
    #[must_use]
    pub fn run(&self, module: &Module, request: &RunRequest<'_>) -> Report {
        if request.arguments.asks_for_check()
            && let Some(run) = LayeredRun::in_place_of_check(request.policy.check_rule(), request.wants_diff())
        {
            return logged(self.run_on_layers(module, request, &run));
        }
        let _span = info_span!("run", name = request.name).entered();
        match self.admit(module, request) {
            Admission::Admitted(admitted) => self.run_admitted(module, *admitted, request),
            Admission::Refused { report, .. } => logged(*report),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use modbox_contract::Dict;
    use modbox_policy::Policy;
    use modbox_vocabulary::Limits;
    use modbox_wasm::CompileCache;

    use super::*;
    use crate::modules::locate::ModuleFile;
    use crate::request::run_request::Arguments;
    use crate::runner::config::RunnerConfig;

    /// A runner that counts how often it compiles.
    fn counting(dir: &tempfile::TempDir) -> (Runner, Arc<AtomicU32>) {
        let count = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&count);
        let runner = Runner::new(RunnerConfig {
            cache: Some(CompileCache::new(dir.path().join("cache"))),
            on_compile: Some(Arc::new(move || {
                counter.fetch_add(1, Ordering::Relaxed);
            })),
            ..RunnerConfig::new(dir.path().to_owned())
        });
        (runner, count)
    }

    fn file(wat: &str) -> ModuleFile {
        ModuleFile { path: "module.wasm".into(), bytes: wat::parse_str(wat).unwrap().into() }
    }

    #[test]
    fn on_compile_is_called_when_a_module_is_compiled() {
        let dir = tempfile::tempdir().unwrap();
        let (runner, count) = counting(&dir);
        let file = file(r#"(module (memory (export "memory") 1) (func (export "_start")))"#);
        let module = || Module::new(file.clone(), None);
        let (policy, limits) = (Policy::default(), Limits::default());
        let request = RunRequest::new("nothing", Arguments::Complete(Dict::new()), &policy, &limits);
        for _ in 0..2 {
            let report = runner.run(&module(), &request);
            assert!(report.error.is_none(), "{report:?}");
        }
        assert_eq!(count.load(Ordering::Relaxed), 1, "the second run finds compiled code");
    }

    #[test]
    fn a_module_that_no_engine_loads_is_compiled_once() {
        let dir = tempfile::tempdir().unwrap();
        let (runner, count) = counting(&dir);
        let (policy, limits) = (Policy::default(), Limits::default());
        let request = RunRequest::new("broken", Arguments::Complete(Dict::new()), &policy, &limits);
        let invalid = Module::new(file(r#"(module (func (export "_start") i32.const 1))"#), None);
        let unlinked = Module::new(file(r#"(component (import "unheard:of/interface" (instance)))"#), None);
        for (module, compiled) in [(&invalid, 1), (&unlinked, 2)] {
            let errors = [(), ()].map(|()| format!("{:?}", runner.run(module, &request).error.unwrap()));
            assert!(errors[0].contains("Unloadable") && errors[0] == errors[1], "{errors:?}");
            assert_eq!(count.load(Ordering::Relaxed), compiled);
        }
    }
}
