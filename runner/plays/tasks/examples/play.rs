//! Runs a playbook with a host that has no sandbox: for comparing the engine's output with that of `ansible-playbook`.
//!
//! It runs actions without modules, and `command`, `shell` and `ping` by the standard library. Other modules are
//! unknown to it. modbox itself never runs anything this way.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use modbox_python_json::{Dict, Value};
use modbox_tasks::actions::table;
use modbox_tasks::files::{FileDetails, FileError, FileKind, PlayFiles, SharedFiles};
use modbox_tasks::load::context::{ActionNames, LoadSettings, Loader};
use modbox_tasks::load::playbook;
use modbox_tasks::model::task::short_name;
use modbox_tasks::report::callback::{Callback, Stream, TextOptions};
use modbox_tasks::run::host::{ActionHost, HostError, HostErrorKind, ModuleCall, ModuleRun, Prompt, PromptError};
use modbox_tasks::run::listing::{self, Listing};
use modbox_tasks::run::options::RunOptions;
use modbox_tasks::run::playbook as run;
use modbox_tasks::vars::layer;
use modbox_template::{Config, Engine};
use modbox_yaml::{extra_vars_key_values, load_extra_vars};

/// The largest file that is read.
const MAX_FILE: u64 = 16 << 20;

struct Machine;

impl PlayFiles for Machine {
    fn bytes(&self, path: &str) -> Result<Vec<u8>, FileError> {
        use std::io::Read as _;
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => FileError::NotFound { path: path.to_owned() },
            _ => FileError::Other { path: path.to_owned(), reason: error.to_string() },
        };
        let mut bytes = Vec::new();
        std::fs::File::open(path).map_err(failed)?.take(MAX_FILE).read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    fn kind(&self, path: &str) -> Result<Option<FileKind>, FileError> {
        let folder = |data: std::fs::Metadata| if data.is_dir() { FileKind::Folder } else { FileKind::File };
        Ok(std::fs::metadata(path).ok().map(folder))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, FileError> {
        let entries = std::fs::read_dir(folder)
            .map_err(|error| FileError::Other { path: folder.to_owned(), reason: error.to_string() })?;
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    fn details(&self, path: &str) -> Result<FileDetails, FileError> {
        use std::os::unix::fs::MetadataExt as _;
        let data = std::fs::metadata(path)
            .map_err(|error| FileError::Other { path: path.to_owned(), reason: error.to_string() })?;
        let modified = data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        Ok(FileDetails { mode: data.mode() & 0o7777, modified, owner: data.uid().to_string() })
    }

    fn link(&self, path: &str) -> Result<Option<String>, FileError> {
        Ok(std::fs::read_link(path).ok().map(|target| target.to_string_lossy().into_owned()))
    }
}

impl ActionNames for Machine {
    fn is_known(&self, name: &str, _: &[String]) -> bool {
        table::is_builtin(name) || name == "ping"
    }

    fn folder_found(&self, _: &str) {}
}

impl ActionHost for Machine {
    fn run_module(&mut self, call: &ModuleCall) -> Result<ModuleRun, HostError> {
        let result = match short_name(&call.name) {
            "ping" => {
                let data = call.args.get("data").cloned();
                Dict::from_iter([("ping".to_owned(), data.unwrap_or_else(|| Value::from("pong")))])
            }
            "command" => command(call)?,
            name => {
                let message = format!("the module `{name}` is unknown to this example");
                return Err(HostError { message, kind: HostErrorKind::NotFound, report: None });
            }
        };
        Ok(ModuleRun { result, report: Value::Null })
    }

    fn files(&self) -> &dyn PlayFiles {
        self
    }

    fn shared_files(&self) -> SharedFiles {
        Arc::new(Self)
    }

    fn host_name(&self) -> String {
        "localhost".to_owned()
    }

    fn now(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn local_time(&self, time: Duration) -> String {
        format!("{}.{:06}", time.as_secs(), time.subsec_micros())
    }

    fn sleep(&mut self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn prompt(&mut self, _: &Prompt) -> Result<String, PromptError> {
        Err(PromptError::NotInteractive)
    }

    fn resolve(&self, name: &str, _: &[String]) -> Option<String> {
        (name == "ping").then(|| "ansible.builtin.ping".to_owned())
    }

    fn action_group(&self, _: &str) -> Option<Vec<String>> {
        None
    }
}

/// Runs a command as the module `command` does.
#[expect(clippy::disallowed_methods, reason = "the example has no sandbox, and says so")]
fn command(call: &ModuleCall) -> Result<Dict, HostError> {
    let text = |name: &str| call.args.get(name).filter(|value| **value != Value::Null).map(modbox_python_json::str);
    let line = text("_raw_params").or_else(|| text("cmd")).unwrap_or_default();
    let shell = call.args.get("_uses_shell").is_some_and(Value::is_truthy);
    let words: Vec<String> = if shell {
        vec!["/bin/sh".to_owned(), "-c".to_owned(), line.clone()]
    } else {
        line.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
    };
    let mut result = Dict::new();
    let mut put = |name: &str, value: Value| drop(result.insert(name.to_owned(), value));
    put("cmd", if shell { Value::from(line) } else { Value::from(words.clone()) });
    if call.options.modes.check {
        put("skipped", Value::Bool(true));
        put("changed", Value::Bool(true));
        put("msg", Value::from("Command would have run if not in check mode"));
        put("rc", Value::Int(0));
        return Ok(result);
    }
    let mut command = std::process::Command::new(words.first().map_or("", String::as_str));
    command.args(words.iter().skip(1)).envs(call.options.environment.iter().cloned());
    command.current_dir(text("chdir").unwrap_or_else(|| call.options.play_folder.clone()));
    let output = command.output().map_err(|error| HostError {
        message: error.to_string(),
        kind: HostErrorKind::NotFound,
        report: None,
    })?;
    let trimmed = |bytes: &[u8]| Value::from(String::from_utf8_lossy(bytes).trim_end_matches(['\r', '\n']).to_owned());
    let code = output.status.code().unwrap_or(-1);
    put("stdout", trimmed(&output.stdout));
    put("stderr", trimmed(&output.stderr));
    put("rc", Value::from(code));
    put("changed", Value::Bool(true));
    put("msg", Value::from(if code == 0 { "" } else { "non-zero return code" }));
    if code != 0 {
        put("failed", Value::Bool(true));
    }
    Ok(result)
}

/// What the command line asks for.
#[derive(Default)]
struct Arguments {
    file: String,
    given: String,
    options: RunOptions,
    listing: Option<Listing>,
    syntax: bool,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut found = Arguments::default();
    let mut words = std::env::args().skip(1);
    let list = |text: Option<String>| text.unwrap_or_default().split(',').map(str::to_owned).collect::<Vec<_>>();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-C" | "--check" => found.options.check = true,
            "-D" | "--diff" => found.options.diff = true,
            "-t" | "--tags" => found.options.tags = list(words.next()),
            "--skip-tags" => found.options.skip_tags = list(words.next()),
            "--start-at-task" => found.options.start_at_task = words.next(),
            "--force-handlers" => found.options.force_handlers = true,
            "--list-tasks" => {
                found.listing = Some(Listing { hosts: false, tasks: true, tags: false, merges_mappings: false })
            }
            "--list-tags" => {
                found.listing = Some(Listing { hosts: false, tasks: false, tags: true, merges_mappings: false })
            }
            "--syntax-check" => found.syntax = true,
            "-e" => {
                let text = words.next().unwrap_or_default();
                let document = match text.starts_with('{') {
                    true => load_extra_vars(&text, "<extra vars>")?,
                    false => extra_vars_key_values(&text, "<extra vars>")?,
                };
                found.options.extra_vars = document.root.as_map().map(layer::of_map).unwrap_or_default();
            }
            verbose if verbose.starts_with("-v") => {
                found.options.verbosity = u8::try_from(verbose.len() - 1)?;
            }
            file => {
                found.file = std::path::absolute(file)?.to_string_lossy().into_owned();
                file.clone_into(&mut found.given);
            }
        }
    }
    Ok(found)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Arguments { file, given, options, listing, syntax } = arguments()?;
    let engine = Engine::new(Config::default());
    let settings = LoadSettings::default();
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let mut machine = Machine;
    let loader = Loader::new(&Machine, &engine, &Machine, &settings);
    loader.vars.borrow_mut().extra = Arc::clone(&options.extra_vars);
    let mut playbook = match playbook::read(&loader, &file) {
        Ok(playbook) => playbook,
        Err(errors) => {
            writeln!(err, "{errors}")?;
            return Ok(ExitCode::from(2));
        }
    };
    playbook.file = given;
    for warning in loader.take_warnings() {
        writeln!(err, "[WARNING]: {warning}")?;
    }
    if syntax {
        writeln!(out, "No issues encountered")?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(listing) = listing {
        write!(out, "{}", listing::text(&playbook, &engine, &options, listing)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = TextOptions { verbosity: options.verbosity, ..TextOptions::default() };
    let mut callback = Callback::new(text, |stream, text: &str| {
        let written = match stream {
            Stream::Output => out.write_all(text.as_bytes()),
            Stream::Error => err.write_all(text.as_bytes()),
        };
        // A reader that went away ends the output, not the play.
        written.unwrap_or_default();
    });
    let end = run::run(std::slice::from_ref(&playbook), &engine, &mut machine, &mut callback, &options, &settings);
    Ok(ExitCode::from(u8::from(end.failed) * 2))
}
