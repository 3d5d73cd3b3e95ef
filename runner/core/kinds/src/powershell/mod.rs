//! New-style PowerShell: the module, the scripts that it requires and its arguments are one document, which
//! ansible-core's own wrapper scripts read from standard input.
//!
//! All of it, including the command line, follows the installed ansible-core, 2.19 to 2.22, on Windows
//! (`_create_powershell_wrapper`, the shell plugin `powershell`): the wrappers import the utils, set `$complex_args` and run
//! the module. The wrappers do not need Windows, but modules may call something that does. The oldest token,
//! `# POWERSHELL_COMMON`, requires the oldest util.

mod finder;
mod manifest;
mod param_block;
mod requires;

use std::collections::BTreeMap;
use std::sync::Arc;

use modbox_contract::{Dict, GivenSecrets, ModuleArgs, Release};
use modbox_vocabulary::quoting::split;

use crate::kind::Kind;
use crate::native;
pub use crate::powershell_source::{NoPowershell, PowershellError, PowershellSource, Script, SourceError};
use crate::request::{ModuleKind, PrepareError, PreparedInvocation, Request};
use crate::shebang::Shebang;

/// The token of Ansible before 2.3, and the line that replaces it since then.
const OLD_TOKEN: &[u8] = b"# POWERSHELL_COMMON";
const LEGACY: &[u8] = b"#AnsibleRequires -PowerShell Ansible.ModuleUtils.Legacy";

/// The options of PowerShell before the wrapper.
const OPTIONS: [&str; 5] = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Unrestricted", "-EncodedCommand"];

/// The script that reads the document.
const BOOTSTRAP: &str = "bootstrap_wrapper.ps1";

/// Ansible's name for every interpreter of PowerShell modules.
const INTERPRETER: &str = "powershell";

/// A module whose scripts are looked up.
#[derive(Debug, Clone, Copy)]
pub struct ScriptLookup<'a> {
    /// The source of scripts and utils.
    pub source: &'a dyn PowershellSource,
    /// The module's name, without its file's extension.
    pub module_name: &'a str,
    /// The last part of `path`.
    pub file_name: &'a str,
    /// The path of its file.
    pub path: &'a str,
    /// The whole contents of the module's file.
    pub bytes: &'a Arc<[u8]>,
}

/// Asks the source for all scripts that `Powershell` asks for when it prepares the module, whatever the arguments are.
///
/// # Errors
///
/// A script or a util cannot be found.
pub fn find_scripts(lookup: &ScriptLookup<'_>) -> Result<(), PowershellError> {
    let none = Dict::new();
    let request = Request {
        module_name: lookup.module_name,
        file_name: lookup.file_name,
        bytes: lookup.bytes,
        path: lookup.path,
        args: ModuleArgs::Complete(&none),
        tmpdir: "",
        interpreters: &BTreeMap::new(),
        default_python: None,
        python: None,
        release: Release::default(),
        pipelining: false,
        powershell: lookup.source,
        secrets: &GivenSecrets::default(),
        open_files: 0,
    };
    lookup.source.script(BOOTSTRAP)?;
    manifest::assemble(&request, &with_old_token_replaced(lookup.bytes)).map(drop)
}

#[derive(Debug)]
pub(super) struct Powershell;

impl ModuleKind for Powershell {
    fn kind(&self) -> Kind {
        Kind::Powershell
    }

    fn prepare(&self, request: &Request<'_>) -> Result<PreparedInvocation, PrepareError> {
        let interpreter = interpreter(request)?;
        let bootstrap = request.powershell.script(BOOTSTRAP).map_err(PowershellError::from)?;
        let payload = manifest::assemble(request, &with_old_token_replaced(request.bytes))?;
        let mut words = interpreter.clone();
        words.extend(OPTIONS.map(str::to_owned));
        words.push(manifest::encoded_command(&String::from_utf8_lossy(&bootstrap)));
        let shebang = Shebang { words, replaced: false, names_encoding: false };
        let prepared = match request.pipelining {
            true => native::pipe(payload, &shebang),
            false => native::redirect(request, payload, &shebang),
        };
        // A message about a missing interpreter does not need the text of the wrapper.
        Ok(PreparedInvocation { shebang: Some(interpreter.join(" ")), ..prepared })
    }
}

fn interpreter(request: &Request<'_>) -> Result<Vec<String>, PrepareError> {
    let given = [INTERPRETER, "pwsh"].into_iter().find_map(|name| request.interpreters.get(name));
    let Some(line) = given else {
        let found = request.powershell.interpreter().ok_or(PowershellError::NoInterpreter)?;
        return Ok(vec![found]);
    };
    let module = || request.module_name.to_owned();
    let bad = |reason| PrepareError::BadInterpreter { module: module(), line: line.clone(), reason };
    let words = split(line).map_err(bad)?;
    if words.is_empty() { Err(PrepareError::EmptyInterpreter(module())) } else { Ok(words) }
}

fn with_old_token_replaced(module: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(module.len());
    let mut rest = module;
    while let Some(at) = rest.windows(OLD_TOKEN.len()).position(|window| window == OLD_TOKEN) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(LEGACY);
        rest = &rest[at + OLD_TOKEN.len()..];
    }
    replaced.extend_from_slice(rest);
    replaced
}
