//! Completes the arguments and makes an invocation of them by the rules of the module's kind.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use modbox_contract::{Dict, GivenSecrets, ModuleArgs};
use modbox_kinds::powershell::PowershellSource;
use modbox_kinds::{Kind, PreparedInvocation, PythonStart};
use modbox_vocabulary::quoting::split;

use crate::modules::closure::powershell_parts::{KnownScripts, Scripts};
use crate::modules::module::Module;
use crate::modules::powershell::InstalledPowershell;
use crate::programs::ProgramNeeds;
use crate::reports::error::RunError;
use crate::request::run_request::{Arguments, RunRequest};
use crate::request::scrutiny::Scrutiny;
use crate::runner::config::RunnerConfig;
use crate::runner::run_form::RunForm;

/// The internal argument that names a module's temporary directory.
const TMPDIR_KEY: &str = "_ansible_tmpdir";

/// Temporary directory of every guest.
const GUEST_TMPDIR: &str = "/tmp/";

/// What was made ready of a module's parts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PreparedContent<'a> {
    /// How a Python module starts.
    pub(crate) python: Option<&'a PythonStart>,
    /// The scripts of a PowerShell module.
    pub(crate) scripts: Option<&'a Scripts>,
}

/// Makes the invocation for the sandbox, with the run's own temporary directory in the arguments. A module that is
/// piped into its interpreter gets that directory, too, although Ansible gives such a module none, so that its
/// temporary files are removed however it ends.
///
/// # Errors
///
/// A module that its kind cannot start.
pub(crate) fn prepare(
    form: &RunForm,
    module: &Module,
    request: &RunRequest<'_>,
    tmpdir: &Path,
    config: &RunnerConfig,
    content: &PreparedContent<'_>,
    notes: &mut Vec<String>,
) -> Result<PreparedInvocation, RunError> {
    let kind = form.kind;
    let tmpdir = tmpdir.to_string_lossy();
    let own_tmpdir = match (form.is_guest(), request.policy.allows_everything()) {
        (false, _) | (true, true) => Cow::Owned(format!("{tmpdir}/")),
        (true, false) => Cow::Borrowed(GUEST_TMPDIR),
    };
    let moved: Dict;
    let args = match &*request.arguments {
        // A module that is observed is in the machine's file system.
        Arguments::Complete(args) if request.scrutiny == Scrutiny::Observed => ModuleArgs::Complete(args),
        // The module cannot see the temporary directory that is in the completed arguments. A Python module that is given
        // none would make one, with a warning.
        Arguments::Complete(args) if kind == Kind::Python || kind.is_wasm() && args.contains_key(TMPDIR_KEY) => {
            moved = with_tmpdir(args.clone(), own_tmpdir.into_owned());
            ModuleArgs::Complete(&moved)
        }
        Arguments::Complete(args) => ModuleArgs::Complete(args),
        Arguments::Task { args, internal } => ModuleArgs::Task { args, internal, tmpdir: &own_tmpdir },
    };
    // The engine has the bytes of a guest.
    let none = Arc::default();
    let bytes = if kind.is_wasm() { &none } else { module.bytes()? };
    // A guest does not learn where its file is on the host.
    let path = if kind.is_wasm() { module.path().into() } else { Cow::from(config.directory.join(module.path())) };
    let python = request.interpreters.get("python").map(String::as_str);
    let powershell = InstalledPowershell::new(&config.environment, &config.python, &path).with_python(python);
    let known = content.scripts.map(|scripts| KnownScripts { installed: &powershell, scripts });
    let source: &dyn PowershellSource = known.as_ref().map_or(&powershell, |known| known);
    let file_name = module.path().file_name().unwrap_or_default().to_string_lossy();
    let no_secrets = GivenSecrets::default();
    let mut prepared = modbox_kinds::prepare(
        kind,
        &modbox_kinds::Request {
            module_name: request.name,
            file_name: &file_name,
            bytes,
            path: &path.to_string_lossy(),
            args,
            tmpdir: &tmpdir,
            interpreters: request.interpreters,
            default_python: None,
            python: content.python,
            release: request.release(),
            pipelining: request.pipelining && !request.keep_files,
            powershell: source,
            secrets: request.given_secrets.unwrap_or(&no_secrets),
            open_files: request.open_files,
        },
    )?;
    if !kind.is_wasm() && kind != Kind::Python {
        // The search takes a while, so it is made for PowerShell only.
        let chosen = (kind == Kind::Powershell).then(|| powershell.interpreter()).flatten();
        let line = prepared.shebang.as_deref().unwrap_or_default();
        let words = request.interpreters.values().filter_map(|line| split(line).ok()?.into_iter().next());
        let programs = words.chain(chosen).filter(|program| line.starts_with(program));
        for program in programs.collect::<BTreeSet<_>>() {
            let needs = ProgramNeeds::of(&config.directory.join(program), request.policy);
            prepared.invocation.runtime_paths.extend(needs.for_module(request.policy, notes));
        }
    }
    if request.stdin_args && kind.is_wasm() {
        prepared.invocation.stdin = args.to_file();
    }
    Ok(prepared)
}

fn with_tmpdir(mut args: Dict, tmpdir: String) -> Dict {
    args.insert(TMPDIR_KEY.to_owned(), tmpdir.into());
    args
}
