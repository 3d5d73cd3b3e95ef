//! `modbox policy show`: prints every grant and limit that a run would have, with its source, and what a module does with
//! the paths in its options. Starts nothing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use modbox_argument_spec::Secrets;
use modbox_native::{base, control_groups};
use modbox_policy::outside::RootPower;
use modbox_policy::{DEFAULT_SOURCE, LimitName, MergedPolicy, Policy};
use modbox_python_json::{Dict, Value, encode, to_value};
use modbox_run::{
    Admission, Arguments, Module, PathOption, RunRequest, Runner, locate, needed_by_commands, needed_by_interpreter,
};
use modbox_vocabulary::quoting::split;
use modbox_vocabulary::{Denial, Grant};

use crate::cli::args::ShowArgs;
use crate::cli::commands::supply::verify::push_signature;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::identity::Identity;
use crate::cli::named::find::Lookup;
use crate::cli::printing::output;
use crate::cli::process::become_user;
use crate::cli::runner::runner;
use crate::cli::settings::{ModuleIdentity, OfflineRule, Settings};
use crate::cli::task_args::{ArgumentSource, task_args};

/// Prints the policy in force, for all modules, for one, or for one run of it.
pub(super) fn run(context: &Context, args: &ShowArgs, order: &[ArgumentSource]) -> Result<ExitStatus, Failure> {
    let settings = Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
    let lookup = Lookup::new(context, &args.lookup)?;
    let task = task_args(args.module.as_deref(), &args.pairs, &args.args, order).or_usage()?;
    let user = become_user::resolve(args.become_user.as_deref())?;
    let as_user = |mut effective: MergedPolicy| {
        become_user::apply(&mut effective.policy, user.clone(), &context.environment);
        effective
    };
    let (module, effective, run, asks) = match &args.module {
        Some(written) => {
            let found = lookup.find(context, written)?;
            let module = Module::new(locate::read(&found.path).or_unavailable()?, None);
            let name = found.name;
            let runner = runner(context, None, lookup.python.clone());
            let general = as_user(settings.for_every_module().or_usage()?).policy;
            let identity = Identity::of(&runner, &module, &name, &lookup.interpreters, &general);
            let digest = identity.closure.digest().to_owned();
            let known = ModuleIdentity::of(&name, &module, &identity);
            let effective = as_user(settings.for_module(known).or_usage()?);
            let run = examine(&runner, &lookup, &module, &name, task, &effective);
            let asks = settings.asking.bounds(&context.environment, Some(known)).or_usage()?;
            (Some((name, digest)), effective, run, asks)
        }
        None => {
            let asks = settings.asking.bounds(&context.environment, None).or_usage()?;
            (None, as_user(settings.for_every_module().or_usage()?), ExaminedRun::default(), asks)
        }
    };
    let interpreters = lookup.interpreters.values().filter_map(|line| split(line).ok()?.into_iter().next());
    let listing = PolicyListing {
        files: &settings.files,
        offline: settings.offline.as_ref(),
        module,
        effective,
        asks: asks.grants(),
        run,
        interpreters: interpreters.map(|program| context.environment.absolute(Path::new(&program))).collect(),
        others: settings.module_keys(),
        tasks: settings.task_keys(),
    };
    let text = if args.json { encode(&listing.to_value()) } else { output::clean(listing.to_text().trim_end()) };
    output::print_line(&text).or_internal()?;
    Ok(ExitStatus::Success)
}

/// What a run of the module would have, without starting it.
fn examine(
    runner: &Runner,
    lookup: &Lookup,
    module: &Module,
    name: &str,
    task: Dict,
    effective: &MergedPolicy,
) -> ExaminedRun {
    let interpreters = &lookup.interpreters;
    let paths = runner.path_options(module, interpreters);
    if task.is_empty() {
        return ExaminedRun { paths, ..ExaminedRun::default() };
    }
    let new = RunRequest::new(name, Arguments::Complete(task), &effective.policy, &effective.limits);
    let admission = runner.admit(module, &RunRequest { interpreters, ..new });
    let (missing, objections) = match &admission {
        Admission::Admitted(_) => (Vec::new(), Vec::new()),
        // A grant that exceeds a ceiling is not a missing one.
        Admission::Refused { report, .. } if !report.objections.is_empty() => (Vec::new(), report.objections.clone()),
        Admission::Refused { report, .. } => (report.denials.clone(), Vec::new()),
    };
    let secrets = admission.secrets().declared().with_escapes();
    ExaminedRun { paths, policy: Some(admission.policy().clone()), secrets, missing, objections }
}

/// What is known of a run of the module with the given arguments.
#[derive(Default)]
struct ExaminedRun {
    /// What the module does with the paths in its options.
    paths: Vec<PathOption>,
    /// The grants with those of the arguments; `None` without arguments.
    policy: Option<Policy>,
    /// What must not be seen of its arguments.
    secrets: Secrets,
    /// Grants that the run needs but lacks.
    missing: Vec<Denial>,
    /// Why the trust rules do not let the run start.
    objections: Vec<String>,
}

struct PolicyListing<'a> {
    files: &'a [(PathBuf, bool)],
    /// The rule that no registry is asked.
    offline: Option<&'a OfflineRule>,
    module: Option<(String, String)>,
    effective: MergedPolicy,
    /// What a person may be asked to grant; `None` if no file bounds it.
    asks: Option<Vec<Grant>>,
    /// Paths of the interpreters that replace others.
    interpreters: Vec<PathBuf>,
    run: ExaminedRun,
    /// The modules for which policy files have specific rules.
    others: Vec<String>,
    /// The keys of tasks for which policy files have specific rules.
    tasks: Vec<String>,
}

impl PolicyListing<'_> {
    fn limits(&self) -> impl Iterator<Item = (LimitName, u64, &str)> {
        let effective = &self.effective;
        effective.limits_by.iter().map(|(name, by)| (*name, name.of(&effective.limits), by.as_str()))
    }

    /// Returns the policy, with the paths that arguments grant.
    fn policy(&self) -> &Policy {
        self.run.policy.as_ref().unwrap_or(&self.effective.policy)
    }

    /// Returns the grants, with what granted commands and chosen interpreters need.
    fn grants(&self) -> Vec<Grant> {
        let policy = self.policy();
        let of_commands = policy.grants().into_iter().chain(needed_by_commands(policy));
        let of_interpreters = self.interpreters.iter().flat_map(|path| needed_by_interpreter(path, policy));
        let mut grants: Vec<Grant> = of_commands.chain(of_interpreters).collect();
        grants.iter_mut().for_each(|grant| grant.subject = self.run.secrets.mask_text(&grant.subject));
        grants
    }

    fn to_value(&self) -> Value {
        let file = |(path, found): &(PathBuf, bool)| -> Value {
            [("path", Value::from(path.display().to_string())), ("found", (*found).into())].into()
        };
        let module = self.module.as_ref().map(|(name, digest)| -> Value {
            [("name", Value::from(name.as_str())), ("digest", format!("sha256:{digest}").into())].into()
        });
        let grant = |grant: &Grant| to_value(grant).expect("a grant has a JSON form");
        let root_power = |RootPower { what, why, source }: &RootPower| -> Value {
            [("what", what), ("why", why), ("source", &source.to_string())]
                .map(|(key, text)| (key, Value::from(text.as_str())))
                .into()
        };
        let path = |PathOption { option, path_use, source }: &PathOption| -> Value {
            [("option", option.as_str()), ("use", path_use), ("source", source)]
                .map(|(key, text)| (key, Value::from(text)))
                .into()
        };
        let denial = |denial: &Denial| to_value(denial).expect("a denial has a JSON form");
        let limits: Dict = self
            .limits()
            .map(|(name, value, by)| {
                let unit = name.unit().as_str();
                let limit = [("value", Value::from(value)), ("unit", unit.into()), ("source", by.into())].into();
                (name.key().to_owned(), limit)
            })
            .collect();
        let effective = &self.effective;
        let setting =
            |value: &str, by: &str| -> Value { [("value", Value::from(value)), ("source", by.into())].into() };
        let policy = &effective.policy;
        let designated = setting(policy.designated().as_str(), &effective.designated_by);
        let by_results = setting(policy.designated_by_results().as_str(), &effective.designated_by_results_by);
        let offline_by =
            self.offline.map_or_else(|| DEFAULT_SOURCE.to_owned(), |rule| format!("policy file {}", rule.place()));
        let offline: Value =
            [("value", Value::from(self.offline.is_some())), ("source", offline_by.as_str().into())].into();
        [
            ("files", self.files.iter().map(file).collect::<Vec<_>>().into()),
            ("module", module.into()),
            ("signature", policy.trust().signature.as_ref().map(|it| to_value(it).expect("it has a JSON form")).into()),
            ("designated", designated),
            ("designated_by_results", by_results),
            ("check", setting(policy.check_rule().as_str(), &effective.check_by)),
            ("python", setting(policy.python_place().as_str(), &effective.python_by)),
            ("python_modules", setting(policy.python_rule().as_str(), policy.python_rule_by())),
            ("accept_policy", setting(effective.accept_policy.as_str(), &effective.accept_policy_by)),
            ("audit_in_results", effective.audit_in_results.into()),
            ("offline", offline),
            ("user", policy.user().map_or(Value::Null, |user| user.name.as_str().into())),
            ("grants", self.grants().iter().map(grant).collect::<Vec<_>>().into()),
            (
                "unconfined",
                self.policy().unconfined_by().map_or(Value::Null, |source| Value::from(source.to_string().as_str())),
            ),
            ("ask", self.asks.as_ref().map(|asks| Value::from(asks.iter().map(grant).collect::<Vec<_>>())).into()),
            ("root_powers", self.policy().root_powers().iter().map(root_power).collect::<Vec<_>>().into()),
            ("paths", self.run.paths.iter().map(path).collect::<Vec<_>>().into()),
            ("missing", self.run.missing.iter().map(denial).collect::<Vec<_>>().into()),
            ("objections", self.run.objections.iter().map(String::as_str).collect::<Vec<_>>().into()),
            ("native_base", base::paths().collect::<Vec<_>>().into()),
            ("native_control_groups", control_groups().into_iter().map(Value::from).collect::<Vec<_>>().into()),
            ("limits", Value::Dict(limits)),
            ("modules", self.others.iter().map(String::as_str).collect::<Vec<_>>().into()),
            ("tasks", self.tasks.iter().map(String::as_str).collect::<Vec<_>>().into()),
        ]
        .into()
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        self.push_origin(&mut text);
        self.push_settings(&mut text);
        self.push_grants(&mut text);
        self.push_run(&mut text);
        self.push_surroundings(&mut text);
        text
    }

    /// Writes the policy files, and the module that the rules are for.
    fn push_origin(&self, text: &mut String) {
        let there = |found: bool| if found { "" } else { " (not there)" };
        push_list(text, "files", self.files.iter().map(|(path, found)| format!("{}{}", path.display(), there(*found))));
        if let Some((name, digest)) = &self.module {
            let _ = writeln!(text, "module: {name}, sha256:{digest}");
            push_signature(text, self.effective.policy.trust());
        }
    }

    /// Writes the settings that have one value, each with the rule that decides it.
    fn push_settings(&self, text: &mut String) {
        let effective = &self.effective;
        let policy = &effective.policy;
        let _ = writeln!(text, "designated: {} ({})", policy.designated(), effective.designated_by);
        let by = &effective.designated_by_results_by;
        let _ = writeln!(text, "designated-by-results: {} ({by})", policy.designated_by_results());
        let _ = writeln!(text, "check: {} ({})", policy.check_rule(), effective.check_by);
        let _ = writeln!(text, "python: {} ({})", policy.python_place(), effective.python_by);
        let _ = writeln!(text, "python-modules: {} ({})", policy.python_rule(), policy.python_rule_by());
        let _ = writeln!(text, "accept-policy: {} ({})", effective.accept_policy, effective.accept_policy_by);
        if effective.audit_in_results {
            text.push_str("audit-in-results: true\n");
        }
        if let Some(rule) = self.offline {
            let _ = writeln!(text, "offline: true (policy file {})", rule.place());
        }
        if let Some(user) = policy.user() {
            let _ = writeln!(text, "user: {} (--become-user)", user.name);
        }
    }

    /// Writes the grants, the questions that a run may ask, and the grants that are as powerful as root.
    fn push_grants(&self, text: &mut String) {
        let line = |grant: &Grant| format!("{} {} ({})", grant.capability, grant.subject, grant.source);
        let or = |lines: Vec<String>, none: &str| if lines.is_empty() { vec![none.to_owned()] } else { lines };
        let granted = self.grants().iter().map(line).collect();
        push_list(text, "grants", or(granted, "none, except paths in arguments"));
        if let Some(source) = self.policy().unconfined_by() {
            let what = "nothing confines the module, which can do all that its user can";
            let _ = writeln!(text, "unconfined: {what} ({source})");
        }
        if let Some(asks) = &self.asks {
            push_list(text, "may be asked", or(asks.iter().map(line).collect(), "nothing"));
        }
        let power = |RootPower { what, why, source }: RootPower| format!("{what}: {why} ({source})");
        push_list(text, "as powerful as root", self.policy().root_powers().into_iter().map(power));
    }

    /// Writes what the examined run lacks, and what its arguments name.
    fn push_run(&self, text: &mut String) {
        let ExaminedRun { paths, missing, objections, .. } = &self.run;
        let denial = |Denial { capability, subject, allow, .. }: &Denial| format!("{capability} {subject}: {allow}");
        push_list(text, "missing", missing.iter().map(denial));
        push_list(text, "the trust rules refuse the run", objections.iter().cloned());
        let path = |PathOption { option, path_use, source }: &PathOption| format!("{option}: {path_use} ({source})");
        push_list(text, "paths in arguments", paths.iter().map(path));
    }

    /// Writes what holds next to the grants: the files of native modules, limits, and rules for others.
    fn push_surroundings(&self, text: &mut String) {
        let base: Vec<&str> = base::paths().collect();
        push_list(text, "native modules also read, if it exists", [base.join(" ")]);
        let groups = control_groups();
        let groups = if groups.is_empty() { "not available".to_owned() } else { groups.join("; ") };
        let _ = writeln!(text, "control group of a native module: {groups}");
        let limits = self.limits();
        push_list(
            text,
            "limits",
            limits.map(|(name, value, by)| format!("{}: {} ({by})", name.key(), name.show(value))),
        );
        push_list(text, "modules with their own rules", self.others.iter().cloned());
        push_list(text, "tasks with their own rules", self.tasks.iter().cloned());
    }
}

/// Writes a heading and a line below it for each entry; nothing without entries.
fn push_list(text: &mut String, heading: &str, entries: impl IntoIterator<Item = String>) {
    for (index, entry) in entries.into_iter().enumerate() {
        if index == 0 {
            let _ = writeln!(text, "{heading}:");
        }
        let _ = writeln!(text, "  {entry}");
    }
}
