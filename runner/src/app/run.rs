//! Runs a module: recognises its kind, computes its grants, executes it and judges the outcome.

use modbox_kinds::Kind;
use modbox_kinds::detect::Detection;
use tracing::{debug, info, info_span};

use crate::app::designation::EffectiveGrants;
use crate::app::error::RunError;
use crate::app::judge;
use crate::app::module::Module;
use crate::app::report::Report;
use crate::app::request::RunRequest;
use crate::app::runner::Runner;

impl Runner {
    /// Runs a module once.
    #[must_use]
    pub fn run(&self, module: &Module, request: &RunRequest<'_>) -> Report {
        let _span = info_span!("run", name = request.name).entered();
        let report = match self.recognize(module, request) {
            Ok(kind) => self.run_kind(kind, module, request),
            Err(error) => judge::report_failed_start(Report::of_module(module, request.policy), error),
        };
        info!(status = report.status.as_str(), wall_us = report.usage.wall_us, cpu_us = report.usage.cpu_us, "ended");
        report
    }

    /// Returns the module's kind, after checking that the module may be loaded.
    fn recognize(&self, module: &Module, request: &RunRequest<'_>) -> Result<Kind, RunError> {
        let Detection { kind, reason } = module.detection().map_err(Clone::clone)?;
        info!(module = %module.path().display(), %kind, reason, digest = module.digest(), "recognised");
        if kind.is_wasm() {
            modbox_wasm::check_size(module.size(), request.limits)?;
        }
        Ok(*kind)
    }

    fn run_kind(&self, kind: Kind, module: &Module, request: &RunRequest<'_>) -> Report {
        let EffectiveGrants { policy, arguments, missing, notes } = self.grant(kind, module, request);
        let report = Report { notes, ..Report::of_module(module, &policy) };
        for grant in &report.grants {
            debug!(capability = %grant.capability, subject = grant.subject, source = grant.source, "granted");
        }
        if !missing.is_empty() {
            return judge::report_denial(report, missing);
        }
        let request = RunRequest { policy: &policy, arguments, ..*request };
        judge::report_execution(report, self.execute(kind, module, &request), &request, &self.config.environment)
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
    use crate::app::config::RunnerConfig;
    use crate::app::locate::ModuleFile;
    use crate::app::request::Arguments;

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
