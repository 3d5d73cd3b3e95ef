//! The words by which ansible-core starts a job with its module `async_wrapper`.
//!
//! They have two forms (`ActionBase._execute_module`), which the third word tells apart. It is a path in the older one:
//!
//! | ansible-core | words |
//! |---|---|
//! | 2.20 and older | `JID LIMIT MODULE ARGUMENTS [-preserve_tmp]`; `ARGUMENTS` is a file, or `_` for none |
//! | 2.21 and newer | `JID LIMIT true\|false MODULE COMMAND…`; `COMMAND` starts the module, and `true` keeps its directory |
//!
//! A packed module has its arguments inside. So a file of arguments, and a command that is more than an interpreter and the
//! module, mean a module of another kind, which modbox refuses. Nothing is started here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use modbox_contract::{Release, Value};
use modbox_kinds::ansiballz::ReceivedPayload;

use crate::cli::ansible::python_rule::NAME;

/// The module that makes jobs, by its names in payloads.
const WRAPPERS: [&str; 2] = ["ansible.modules.async_wrapper", "ansible.legacy.async_wrapper"];

/// The word for no file of arguments.
const NO_ARGUMENTS: &str = "_";

/// The word that keeps the temporary directory.
const KEEP: &str = "-preserve_tmp";

/// How the names of the temporary directories begin that ansible-core makes for modules.
const TEMPORARY: &str = "ansible-tmp-";

/// Number of words of a job, at least.
const FEWEST: usize = 4;

/// The job that the words after the program ask for.
#[derive(Debug)]
pub(super) struct JobWords {
    /// The job's name.
    pub(super) name: String,
    pub(super) limit: Duration,
    /// The packed module of the job.
    pub(super) module: PathBuf,
    /// Whether its directory stays.
    pub(super) keeps_directory: bool,
    pub(super) release: Release,
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
        let version = received.args.get("_ansible_version").and_then(Value::as_str);
        Self::of(words, version.map_or_else(Release::default, Release::of_version))
    }

    fn of(words: &[OsString], release: Release) -> anyhow::Result<Self> {
        let [name, limit, of_module @ ..] = words else { bail!(too_few(words)) };
        if words.len() < FEWEST {
            bail!(too_few(words));
        }
        let (module, keeps_directory) = module_of(of_module)?;
        let name = name.to_str().filter(|name| is_name(name));
        let seconds = limit.to_str().and_then(|limit| limit.parse().ok());
        Ok(Self {
            name: name.context("the job's name is not a word of letters and digits")?.to_owned(),
            limit: Duration::from_secs(seconds.context("the job's time limit is not a number of seconds")?),
            module,
            keeps_directory,
            release,
        })
    }

    /// Returns the directory that ansible-core has made for the module.
    pub(super) fn temporary_directory(&self) -> Option<&Path> {
        let directory = self.module.parent()?;
        let name = directory.file_name()?.to_str()?;
        name.starts_with(TEMPORARY).then_some(directory)
    }
}

fn too_few(words: &[OsString]) -> String {
    format!("async_wrapper is started with {} arguments, and needs at least {FEWEST}", words.len())
}

/// Parses the words after name and limit: the module, and whether its directory stays.
fn module_of(words: &[OsString]) -> anyhow::Result<(PathBuf, bool)> {
    let (module, is_packed, keeps) = match words {
        [keeps, module, command @ ..] if keeps == "true" || keeps == "false" => {
            let [_interpreter, started] = command else { return Err(not_python(module)) };
            (module, started == module, keeps == "true")
        }
        [module, arguments, options @ ..] => {
            (module, arguments == NO_ARGUMENTS, options.iter().any(|option| option == KEEP))
        }
        words => bail!(too_few(words)),
    };
    if is_packed { Ok((module.into(), keeps)) } else { Err(not_python(module)) }
}

fn not_python(module: &OsString) -> anyhow::Error {
    let module = Path::new(module).display();
    anyhow::anyhow!(
        "the module `{module}` of the job is not in Python, and {NAME} runs only Python modules; for this task set \
         `ansible_python_interpreter` to a Python"
    )
}

/// Returns whether a text can be a part of a file's name.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<(String, bool), String> {
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        let parsed = JobWords::of(&words, Release::default()).map_err(|error| error.to_string())?;
        Ok((parsed.module.display().to_string(), parsed.keeps_directory))
    }

    #[test]
    fn both_forms_of_words_name_the_module() {
        for (words, keeps) in [
            ("j1 60 /t/M _", false),
            ("j1 60 /t/M _ -preserve_tmp", true),
            ("j1 60 false /t/M /bin/modbox-python /t/M", false),
            ("j1 60 true /t/M /bin/modbox-python /t/M", true),
            ("j1 60 true /t/M python3 /t/M", true),
        ] {
            assert_eq!(parsed(words), Ok(("/t/M".to_owned(), keeps)), "{words}");
        }
        // A relative module of the older form may have any other name.
        assert_eq!(parsed("j1 60 truer _"), Ok(("truer".to_owned(), false)));
        assert_eq!(parsed("j1 60 True _"), Ok(("True".to_owned(), false)));
        // An interpreter with options is one word, as ansible-core quotes it.
        let words = ["j1", "60", "false", "/t/M", "/usr/bin/env python3", "/t/M"].map(OsString::from);
        assert_eq!(JobWords::of(&words, Release::default()).unwrap().module, Path::new("/t/M"));
    }

    #[test]
    fn modules_of_other_kinds_are_refused_by_their_names() {
        for words in [
            "j1 60 /t/M /t/args",
            "j1 60 /t/M -preserve_tmp",
            // A script with a file of arguments, a program with one, a program alone, and none.
            "j1 60 false /t/M /bin/sh /t/M /t/args",
            "j1 60 false /t/M /t/M /t/args",
            "j1 60 false /t/M /t/M",
            "j1 60 true /t/M",
            "j1 60 false /t/M /bin/modbox-python /t/other",
            "j1 60 false /t/M /bin/modbox-python -B /t/M",
            "j1 60 false /t/M /bin/modbox-python /t/M _",
            "j1 60 false /t/M /bin/modbox-python /t/M -preserve_tmp",
            "j1 60 false /t/M _",
            "j1 60 false /t/M _ -preserve_tmp",
            "j1 60 true /t/M pwsh -NoProfile -File /t/M",
        ] {
            let error = parsed(words).unwrap_err();
            assert!(error.contains("the module `/t/M` of the job is not in Python"), "{words}: {error}");
        }
    }

    #[test]
    fn damaged_words_are_refused() {
        for (words, expect) in [
            ("", "started with 0 arguments"),
            ("j1", "started with 1 arguments"),
            ("j1 60", "started with 2 arguments"),
            ("j1 60 true", "started with 3 arguments"),
            ("j1 60 /t/M", "started with 3 arguments"),
            ("../j1 60 /t/M _", "name is not a word"),
            ("j.1 60 false /t/M p /t/M", "name is not a word"),
            ("j1 -1 false /t/M p /t/M", "limit is not a number"),
            ("j1 1.5 /t/M _", "limit is not a number"),
            ("j1 99999999999999999999 /t/M _", "limit is not a number"),
            ("60 j1 false /t/M p /t/M", "limit is not a number"),
        ] {
            let error = parsed(words).unwrap_err();
            assert!(error.contains(expect), "{words}: {error}");
        }
    }

    #[test]
    fn names_of_jobs_are_parts_of_file_names() {
        for (name, expect) in
            [("j123456789012", true), ("123", true), ("", false), ("../x", false), ("a.b", false), ("a/b", false)]
        {
            assert_eq!(is_name(name), expect, "{name}");
        }
    }
}
