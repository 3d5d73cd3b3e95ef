//! Jobs that ansible-core starts with its module `async_wrapper`.
//!
//! ansible-core starts that module with the job's name, its time limit in seconds, the file of the job's module, the file
//! of its arguments or `_`, and at times `-preserve_tmp` (ansible-core 2.19, `ActionBase._execute_module`). modbox does not
//! run `async_wrapper`: it starts the job itself, as for `modbox run --async`, and writes the same files. A packed module
//! has its arguments inside, so a file of arguments means a module of another kind, which is refused.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use modbox_contract::{Release, Value, encode};
use modbox_kinds::ansiballz::{MAX_PAYLOAD, ReceivedPayload, may_be_payload};
use modbox_worker::THIS_PROGRAM;

use super::{program, received_module};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::python_rule::NAME;
use crate::cli::{ansible_call, bounded, job_folder, job_summary, output};
use crate::jobs::order::{JobRequest, JobWork};
use crate::jobs::{RunSummary, file, monitor};

/// The module that makes jobs, by its names in payloads.
const WRAPPERS: [&str; 2] = ["ansible.modules.async_wrapper", "ansible.legacy.async_wrapper"];

/// The word for no file of arguments.
const NO_ARGUMENTS: &str = "_";

/// The word that keeps the temporary directory.
const KEEP: &str = "-preserve_tmp";

/// How the names of the temporary directories begin that ansible-core makes for modules.
const TEMPORARY: &str = "ansible-tmp-";

/// The job that the words after the program ask for.
#[derive(Debug)]
pub(super) struct JobWords {
    /// The job's name.
    name: String,
    limit: Duration,
    /// The packed module of the job.
    module: PathBuf,
    /// Whether its directory stays.
    keeps_directory: bool,
    release: Release,
}

impl JobWords {
    /// Parses the words after a received program.
    ///
    /// # Errors
    ///
    /// The program is another module, or the words are others than ansible-core's.
    pub(super) fn parse(received: &ReceivedPayload, words: &[OsString]) -> anyhow::Result<Self> {
        let module = received.payload.module.to_string();
        if !WRAPPERS.contains(&module.as_str()) {
            bail!("the module {module} is started with {} arguments, and only async_wrapper has any", words.len());
        }
        let [name, limit, module, arguments, options @ ..] = words else {
            bail!("async_wrapper is started with {} arguments, and needs at least 4", words.len());
        };
        if arguments != NO_ARGUMENTS {
            let module = Path::new(module).display();
            bail!(
                "the module `{module}` of the job is not in Python, and {NAME} runs only Python modules; for this task set \
                 `ansible_python_interpreter` to a Python"
            );
        }
        let name = name.to_str().filter(|name| is_name(name));
        let seconds = limit.to_str().and_then(|limit| limit.parse().ok());
        Ok(Self {
            name: name.context("the job's name is not a word of letters and digits")?.to_owned(),
            limit: Duration::from_secs(seconds.context("the job's time limit is not a number of seconds")?),
            module: module.into(),
            keeps_directory: options.iter().any(|option| option == KEEP),
            release: release(received),
        })
    }
}

impl JobWords {
    /// Returns the directory that ansible-core has made for the module.
    fn temporary_directory(&self) -> Option<&Path> {
        let directory = self.module.parent()?;
        let name = directory.file_name()?.to_str()?;
        name.starts_with(TEMPORARY).then_some(directory)
    }
}

/// Returns whether a text can be a part of a file's name.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns the release of the ansible-core that has sent a module.
fn release(received: &ReceivedPayload) -> Release {
    let version = received.args.get("_ansible_version").and_then(Value::as_str);
    version.map_or_else(Release::default, Release::of_version)
}

/// Starts the job, and prints what `async_wrapper` prints.
pub(super) fn start(context: &Context, words: &JobWords) -> Result<ExitStatus, Failure> {
    let started = begin(context, words);
    let (id, folder) = match started {
        Ok(started) => started,
        Err(failure) => return ansible_call::answer(context, Err(failure)),
    };
    let path = folder.join(&id).display().to_string();
    // The monitor has the module. For a job the controller leaves the directory to the target.
    if let Some(directory) = words.temporary_directory().filter(|_| !words.keeps_directory) {
        let removed = std::fs::remove_dir_all(directory);
        removed.unwrap_or_else(|error| tracing::warn!(%error, directory = %directory.display(), "not removed"));
    }
    output::print_line(&encode(&Value::Dict(file::reply(&id, &path, words.release)))).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Returns the job's id and the folder of jobs.
fn begin(context: &Context, words: &JobWords) -> Result<(String, PathBuf), Failure> {
    let module = words.module.display();
    let program = bounded::read_file(&words.module, MAX_PAYLOAD as u64)
        .with_context(|| format!("failed to read the module `{module}` of the job"))
        .or_unavailable()?;
    if !may_be_payload(&program) {
        let remedy = "for this task set `ansible_python_interpreter` to a Python";
        return Err(anyhow!("the module `{module}` of the job is not one that ansible-core has packed; {remedy}"))
            .or_usage();
    }
    let program = String::from_utf8(program);
    let program = program.with_context(|| format!("the module `{module}` of the job is not UTF-8")).or_usage()?;
    let folder = job_folder::job_folder(None, &context.environment).or_usage()?;
    let order = JobRequest {
        name: words.name.clone(),
        folder: folder.clone(),
        release: words.release,
        module: module.to_string(),
        work: JobWork::Packed { program, limit: words.limit },
        is_followed: false,
    };
    let started = monitor::start(Path::new(THIS_PROGRAM), &order).context("failed to start the job").or_internal()?;
    Ok((started.id, folder))
}

/// Runs the packed module of a job.
///
/// # Errors
///
/// The module is damaged, or as [`ansible_call::run`].
pub(crate) fn perform(context: &Context, program: &str, limit: Duration) -> Result<RunSummary, Failure> {
    let received = program::parse(program.as_bytes()).or_usage()?;
    let run = received_module::run(context, received, Some(limit))?;
    Ok(job_summary::of_answered(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_jobs_are_parts_of_file_names() {
        for (name, expect) in
            [("j123456789012", true), ("123", true), ("", false), ("../x", false), ("a.b", false), ("a/b", false)]
        {
            assert_eq!(is_name(name), expect, "{name}");
        }
    }
}
