//! `modbox python`: builds, lists and removes the Python interpreters of the sandbox.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, bail};
use indicatif::ProgressBar;
use modbox_authoring::{
    AuthoringContext, CollectionFolder, Componentize, InterpreterSources, build_interpreter, build_plugins,
};
use modbox_collection::name::CollectionName;
use modbox_contract::Dict;
use modbox_policy::Policy;
use modbox_python_json::Value;
use modbox_run::{
    Arguments, ControllerPackages, InstalledInterpreter, InterpreterCollection, InterpreterContents, InterpreterFacts,
    Interpreters, Module, PLUGINS, PluginsFacts, PythonConfig, PythonSurvey, RunRequest, Status, controller_packages,
    find_collection, package_version,
};
use modbox_vocabulary::Limits;

use crate::cli::args::{AnsiballzForm, InterpreterCommand, InterpreterInstallArgs, LookupArgs};
use crate::cli::authoring::with_context;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::printing::output;
use crate::cli::runner::{cache_of_user, runner};
use crate::cli::settings;

/// Characters of a key that are shown: as many as tell interpreters apart.
const SHOWN_KEY: usize = 12;

/// Most characters of the reason why the component for plugins was not built.
const MAX_REASON: usize = 500;

/// Time for compiling an interpreter. It takes 20 seconds of a processor.
const COMPILE_TIME: Duration = Duration::from_mins(5);

/// Runs a subcommand.
pub(crate) fn run(context: &Context, command: &InterpreterCommand) -> Result<ExitStatus, Failure> {
    let interpreters = interpreters(context)?;
    match command {
        InterpreterCommand::Install(args) => install(context, &interpreters, args),
        InterpreterCommand::List => list(&interpreters),
        InterpreterCommand::Remove { keys, all } => remove(&interpreters, keys, *all),
    }
}

fn interpreters(context: &Context) -> Result<Interpreters, Failure> {
    let cache = context.environment.cache_dir.as_ref();
    let cache =
        cache.context("failed to find the cache: this user has no home folder; set XDG_CACHE_HOME").or_usage()?;
    Ok(Interpreters::new(settings::interpreters_folder(cache), context.cleanup.clone()))
}

fn install(
    context: &Context,
    interpreters: &Interpreters,
    args: &InterpreterInstallArgs,
) -> Result<ExitStatus, Failure> {
    let began = Instant::now();
    let spinner = io::stderr().is_terminal().then(ProgressBar::new_spinner);
    let step = |message: &str| match &spinner {
        Some(spinner) => {
            spinner.set_message(message.to_owned());
            spinner.enable_steady_tick(Duration::from_millis(100));
        }
        None => output::print_note(message),
    };
    let (sources, release, controller) = sources(context, args, &step)?;
    let key = sources.key().or_unavailable()?;
    if let Some(found) = interpreters.find(&key).or_unavailable()? {
        finish(spinner.as_ref());
        return print(&found, "is installed already");
    }
    let made = interpreters.install(&key, |component| -> anyhow::Result<(InterpreterFacts, InterpreterContents)> {
        step(&format!("building the interpreter with ansible-core {release}; this takes about a minute"));
        with_context(context, |cx| build_interpreter(cx, &sources, component))?;
        step("compiling and testing the interpreter");
        let told = told(context, component, &release, "interpreter")?;
        // Modules run without it, so a controller half that cannot be imported is told, and no failure.
        let plugins = controller.as_ref().map_err(Clone::clone).and_then(|controller| {
            step("building the component for plugins; this takes about a minute");
            let path = component.with_file_name(PLUGINS);
            plugins(context, &path, (&sources, &release), controller).map_err(|error| {
                drop(fs::remove_file(&path));
                error_words(&error).chars().take(MAX_REASON).collect::<String>()
            })
        });
        facts(told, &sources, plugins)
    });
    finish(spinner.as_ref());
    let installed =
        made.or_unavailable()?.context("another process removed the interpreter at once").or_unavailable()?;
    if let Err(reason) = &installed.facts.plugins {
        output::print_note(&format!("plugins of plays do not run in the sandbox: {reason}"));
    }
    print(&installed, &format!("is installed; it took {} s", began.elapsed().as_secs()))
}

fn finish(spinner: Option<&ProgressBar>) {
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
}

/// Builds the component of plugins, and tests it.
fn plugins(
    context: &Context,
    path: &Path,
    (sources, release): (&InterpreterSources, &str),
    controller: &ControllerPackages,
) -> anyhow::Result<PluginsFacts> {
    // Before the build reads the files, so that a later change is noticed.
    let mark = controller.mark();
    with_context(context, |cx| build_plugins(cx, sources, path))?;
    let digest = told(context, path, release, "component for plugins")?.digest;
    Ok(PluginsFacts { digest, sources: controller.clone(), mark })
}

/// What an interpreter is made from, the release of ansible-core, and its controller half, or why there is none.
type Sources = (InterpreterSources, String, Result<ControllerPackages, String>);

/// Finds what an interpreter is made from. With `--with-pip`, installs componentize-py.
fn sources(context: &Context, args: &InterpreterInstallArgs, step: &dyn Fn(&str)) -> Result<Sources, Failure> {
    let environment = &context.environment;
    let named = args.interpreter.iter().map(|path| ("python".to_owned(), path.clone())).collect();
    let collections_path = args.collections_path.clone();
    let lookup = LookupArgs { interpreter: named, collections_path, ..LookupArgs::default() };
    let config = settings::python(environment, &lookup, &[], AnsiballzForm::Cached).or_usage()?;
    let chosen = settings::interpreters(environment, &lookup.interpreter).or_usage()?;
    let survey = PythonSurvey::of(&config, chosen.get("python").map(String::as_str), &environment.cwd);
    let python = survey.interpreters.into_iter().next();
    let missing = || match &args.interpreter {
        Some(named) => format!("failed to find the Python interpreter `{named}`"),
        None => "failed to find Python: install `python3`, or name one with `--interpreter`".to_owned(),
    };
    let python = python.with_context(missing).or_unavailable()?;
    let (ansible, release) = survey
        .core
        .context("failed to find ansible-core: install it, or name its Python with `--interpreter`")
        .or_unavailable()?;
    let collections = collections(&config, &args.collections, &ansible)?;
    let find = |cx: &mut AuthoringContext<'_>| match (&args.componentize, environment.cache_dir.as_deref()) {
        (Some(path), _) => Ok(Componentize::Program(environment.absolute(path))),
        (None, Some(cache)) if args.with_pip => {
            step("installing componentize-py with pip");
            Componentize::install(cx, &python, cache)
        }
        (None, _) => Componentize::find(cx),
    };
    let componentize = with_context(context, find).or_unavailable()?;
    let controller = controller_packages(&config, &python, &ansible);
    let packages = controller.as_ref().ok().map(|controller| controller.packages.clone());
    Ok((InterpreterSources { python, ansible, collections, packages, componentize }, release, controller))
}

/// Finds the collections that were named, each once.
fn collections(config: &PythonConfig, names: &[String], ansible: &Path) -> Result<Vec<CollectionFolder>, Failure> {
    let mut found: Vec<CollectionFolder> = Vec::new();
    for name in names {
        let (namespace, own) = name
            .split_once('.')
            .with_context(|| format!("`--with {name}`: write a namespace and a name, such as community.general"))
            .or_usage()?;
        CollectionName::new(namespace, own).with_context(|| format!("`--with {name}`")).or_usage()?;
        let root = find_collection(config, name, ansible).with_context(|| {
            format!(
                "failed to find the collection `{name}`: `ansible-galaxy collection install {name}` installs it, and \
                 `--collections-path` or ANSIBLE_COLLECTIONS_PATH says where it is"
            )
        });
        let collection = CollectionFolder { name: name.clone(), root: root.or_unavailable()? };
        if !collection.utilities().is_dir() {
            let folder = collection.utilities();
            let why = anyhow::anyhow!("the modules of `{name}` share nothing: `{}` is missing", folder.display());
            return Err(why.context("the interpreter does not need `--with`")).or_usage();
        }
        if !found.contains(&collection) {
            found.push(collection);
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// What a component says about itself.
struct ComponentFacts {
    /// Version of CPython.
    python: String,
    /// Release of ansible-core.
    release: String,
    /// Digest of the component.
    digest: String,
    contents: InterpreterContents,
}

/// Runs a component in the sandbox, which compiles it for later runs, and returns what it says about itself. So one that does not
/// start is never installed. `name` is for messages.
fn told(context: &Context, component: &Path, release: &str, name: &str) -> anyhow::Result<ComponentFacts> {
    let cache = cache_of_user(context);
    let module = Module::open(component, None, cache.as_ref(), &context.cleanup)?;
    let (policy, defaults) = (Policy::default(), Limits::default());
    let limits = Limits { compile_time: COMPILE_TIME, ..defaults };
    let request = RunRequest::new("python", Arguments::Complete(Dict::new()), &policy, &limits);
    let report = runner(context, None, PythonConfig::default()).run(&module, &request);
    if let Some(error) = report.error {
        return Err(anyhow::Error::new(error).context(format!("failed to run the {name}")));
    }
    let text = |name: &str| report.result.as_dict().get(name).and_then(Value::as_str).map(str::to_owned);
    match (report.status, text("python"), text("release")) {
        (Status::Ok, Some(python), Some(own)) => {
            if own != release {
                bail!("the {name} has ansible-core {own}, and not {release}");
            }
            let contents = serde_json::from_str(&report.result.to_json());
            let contents = contents.with_context(|| format!("the {name} does not say what it has"))?;
            Ok(ComponentFacts { python, release: own, digest: module.digest().to_owned(), contents })
        }
        _ => bail!("failed to run the {name}: {}", text("msg").unwrap_or_default()),
    }
}

/// Returns the facts about an interpreter, and what it has.
fn facts(
    told: ComponentFacts,
    sources: &InterpreterSources,
    plugins: Result<PluginsFacts, String>,
) -> anyhow::Result<(InterpreterFacts, InterpreterContents)> {
    let ComponentFacts { python, release, digest, contents } = told;
    let collections = sources.collections.iter().map(in_interpreter).collect();
    let facts = InterpreterFacts { python, release, ansible: sources.ansible.clone(), collections, digest, plugins };
    let files = facts.present_files().context("failed to read ansible-core and collections")?;
    Ok((facts, InterpreterContents { files, ..contents }))
}

fn in_interpreter(collection: &CollectionFolder) -> InterpreterCollection {
    let CollectionFolder { name, root } = collection.clone();
    InterpreterCollection { name, version: package_version(&root), root }
}

fn print(interpreter: &InstalledInterpreter, state: &str) -> Result<ExitStatus, Failure> {
    output::print_name(&format!("{}  {state}", line(interpreter))).or_internal()?;
    Ok(ExitStatus::Success)
}

fn line(interpreter: &InstalledInterpreter) -> String {
    let InterpreterFacts { python, release, collections, .. } = &interpreter.facts;
    let collections = collections.iter().map(|collection| format!("  {} {}", collection.name, collection.version));
    let collections: String = collections.collect();
    let size = bytesize::ByteSize(interpreter.bytes).display().iec();
    let key = interpreter.key.get(..SHOWN_KEY).unwrap_or(&interpreter.key);
    format!("{key}  ansible-core {release}{collections}  CPython {python}  {size}")
}

fn list(interpreters: &Interpreters) -> Result<ExitStatus, Failure> {
    let now = SystemTime::now();
    for interpreter in interpreters.list().or_unavailable()? {
        let age = now.duration_since(interpreter.used).unwrap_or_default();
        let age = humantime::format_duration(Duration::from_secs(age.as_secs()));
        let ansible = interpreter.facts.ansible.display();
        let plugins = if interpreter.facts.plugins.is_ok() { "  with plugins" } else { "" };
        let stale =
            if interpreter.is_stale() { "  stale: `modbox python install` makes one of its present files" } else { "" };
        let used = format!("{}{plugins}  used {age} ago  {ansible}{stale}", line(&interpreter));
        output::print_name(&used).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

fn remove(interpreters: &Interpreters, named: &[String], all: bool) -> Result<ExitStatus, Failure> {
    let keys: Vec<String> = interpreters.list().or_unavailable()?.into_iter().map(|found| found.key).collect();
    let mut doomed = if all { keys.clone() } else { Vec::new() };
    for name in named {
        let matching: Vec<&String> = keys.iter().filter(|key| key.starts_with(name.as_str())).collect();
        match matching[..] {
            [key] => doomed.push(key.clone()),
            [] => {
                return Err(anyhow::anyhow!("unknown interpreter `{name}`; `modbox python list` shows all"))
                    .or_unavailable();
            }
            _ => return Err(anyhow::anyhow!("`{name}` names several interpreters; give more of the key")).or_usage(),
        }
    }
    doomed.dedup();
    for key in doomed {
        if !interpreters.remove(&key).or_unavailable()? {
            return Err(anyhow::anyhow!("failed to remove the interpreter `{key}`: a run is using it"))
                .or_unavailable();
        }
        output::print_name(&format!("removed {key}")).or_internal()?;
    }
    Ok(ExitStatus::Success)
}
