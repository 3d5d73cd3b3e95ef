//! `modbox FILE ARGSFILE`: the form in which the kernel starts modbox for a `#!` line or through binfmt_misc. With it,
//! an unmodified Ansible runs a `.wasm` module.
//!
//! The caller reads one JSON object from standard output and little else, so failures are printed as JSON, too. Grants
//! come from policy files only, since the `#!` line was written by the module's author. Other settings, for which `run`
//! has switches, come from the caller's variables `MODBOX_MODULE_UTILS` and `MODBOX_INTERPRETER`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::CommandFactory;
use modbox_contract::{Dict, GivenSecrets, Value, args};
use modbox_run::Module;

use crate::cli::ansible::ansible_call::{self, AnsibleCall, AnsweredRun};
use crate::cli::args::Cli;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::runner::cache_of_user;
use crate::cli::task_args::MAX_ARGS;

/// Prefix that Ansible adds to the file name when it copies a module.
const ANSIBLE_PREFIX: &str = "AnsiballZ_";

/// The words `FILE ARGSFILE`, and the option after the program on the `#!` line, if any.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    option: Option<OsString>,
    file: PathBuf,
    args_file: PathBuf,
}

/// Recognises the form without a subcommand: two words, the first of which is a path; or three words, if the `#!` line
/// has options after the program, which the kernel passes on as one word.
pub(crate) fn recognize(argv: &[OsString]) -> Option<Invocation> {
    match argv {
        [_, file, args_file] if is_path(file) && !is_subcommand(file) && !file.as_bytes().starts_with(b"-") => {
            Some(Invocation { option: None, file: file.into(), args_file: args_file.into() })
        }
        [_, option, file, args_file]
            if option.as_bytes().starts_with(b"-") && file.as_bytes().contains(&b'/') && is_path(args_file) =>
        {
            Some(Invocation { option: Some(option.clone()), file: file.into(), args_file: args_file.into() })
        }
        _ => None,
    }
}

/// Returns whether a word names a file rather than a subcommand.
pub(crate) fn is_path(word: &OsString) -> bool {
    word.as_bytes().contains(&b'/') || Path::new(word).is_file()
}

fn is_subcommand(word: &OsString) -> bool {
    Cli::command().get_subcommands().any(|subcommand| word == subcommand.get_name())
}

/// Runs the module and prints one line of JSON, also for a failure.
pub(crate) fn run(context: &Context, invocation: &Invocation) -> Result<ExitStatus, Failure> {
    ansible_call::answer(context, run_file(context, invocation))
}

fn run_file(context: &Context, invocation: &Invocation) -> Result<AnsweredRun, Failure> {
    refuse_option(invocation).or_usage()?;
    let args = read_args(&invocation.args_file).or_usage()?;
    let open = || Module::open(&invocation.file, None, cache_of_user(context).as_ref(), &context.cleanup);
    let name = name(&args, &invocation.file);
    let call = AnsibleCall {
        path: &invocation.file,
        name: &name,
        args,
        secrets: GivenSecrets::default(),
        open_files: 0,
        limit: None,
        policy: None,
        signature: None,
        audit: false,
    };
    ansible_call::run(context, call, || open().or_unavailable())
}

fn refuse_option(invocation: &Invocation) -> anyhow::Result<()> {
    match &invocation.option {
        Some(option) => bail!(
            "the `#!` line of `{}` has the option `{}`, which a module must not set; use a policy file",
            invocation.file.display(),
            option.to_string_lossy(),
        ),
        None => Ok(()),
    }
}

fn read_args(path: &Path) -> anyhow::Result<Dict> {
    let bytes = modbox_files::read_file(path, MAX_ARGS)
        .with_context(|| format!("failed to read the arguments file `{}`", path.display()))?;
    args::decode_file(&bytes).with_context(|| format!("failed to read the arguments file `{}`", path.display()))
}

fn name(args: &Dict, file: &Path) -> String {
    if let Some(name) = args.get("_ansible_module_name").and_then(Value::as_str) {
        return name.to_owned();
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    stem.strip_prefix(ANSIBLE_PREFIX).unwrap_or(&stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognized(words: &[&str]) -> Option<(Option<String>, String)> {
        let argv: Vec<OsString> = ["modbox"].iter().chain(words).map(OsString::from).collect();
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        recognize(&argv).map(|found| (found.option.as_ref().map(text), found.file.display().to_string()))
    }

    #[test]
    fn paths_are_told_from_commands() {
        assert_eq!(recognized(&["/x/m.wasm", "args"]), Some((None, "/x/m.wasm".to_owned())));
        assert_eq!(recognized(&["./run", "args"]), Some((None, "./run".to_owned())));
        assert_eq!(recognized(&["run", "ping"]), None);
        assert_eq!(recognized(&["/x/m.wasm"]), None);
        assert_eq!(recognized(&["inspect", "/x/m.wasm"]), None);
        for file in ["/x/m.wasm", "./m.wasm"] {
            assert_eq!(
                recognized(&["--allow-all -v", file, "/x/args"]),
                Some((Some("--allow-all -v".to_owned()), file.to_owned()))
            );
        }
    }
}
