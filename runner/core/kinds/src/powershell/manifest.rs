//! The document for ansible-core's wrappers: the script that starts them, the scripts that they use, and their actions.
//!
//! It has two JSON objects, with a line of four NULs between them (`_get_bootstrap_input`). Keys and their order are
//! Ansible's. What the wrappers declare says which of the parameters of ansible-core 2.19 to 2.22 they get.

use std::sync::Arc;

use modbox_contract::Dict;
use modbox_python_json::{Value, encode};

use crate::powershell::finder::Finder;
use crate::powershell::param_block::ParamBlock;
use crate::powershell::requires::Version;
use crate::powershell_source::{PowershellError, Script};
use crate::request::Request;

const EXEC_WRAPPER: &str = "exec_wrapper.ps1";
const MODULE_WRAPPER: &str = "module_wrapper.ps1";
const BECOME_WRAPPER: &str = "become_wrapper.ps1";

const SEPARATOR: &[u8] = b"\n\0\0\0\0\n";

/// The util through which modules of ansible-core 2.22 know the secrets in their arguments.
const SECRETS_UTIL: &str = "Ansible.Secrets.cs";

/// Makes the document for a module. Old tokens in the module have to be replaced before.
pub(super) fn assemble(request: &Request<'_>, module: &[u8]) -> Result<Vec<u8>, PowershellError> {
    let mut finder = Finder::new(request.powershell)?;
    finder.add_wrapper(MODULE_WRAPPER)?;
    let full_name = full_name(request);
    let extension = request.file_name.rfind('.').filter(|dot| *dot > 0).map_or("", |dot| &request.file_name[dot..]);
    let script_name = format!("{full_name}{extension}");
    let script = Script { path: request.path.to_owned(), bytes: Arc::from(module) };
    finder.add_module(&script_name, script, &full_name)?;
    let mut actions = Vec::new();
    if finder.elevated {
        finder.add_wrapper(EXEC_WRAPPER)?;
        finder.add_wrapper(BECOME_WRAPPER)?;
        let params = Dict::from_iter([("BecomeUser".to_owned(), "SYSTEM".into())]);
        actions.push(action(BECOME_WRAPPER, params, Dict::new()));
    }
    let params = module_params(&finder, &script_name, &request.args.to_dict())?;
    actions.push(action(MODULE_WRAPPER, params, secure_params(&finder, request)));
    let exec = request.powershell.script(EXEC_WRAPPER)?;
    let manifest = object([
        ("scripts", scripts(&finder)),
        ("actions", Value::List(actions)),
        ("signed_hashlist", finder.signatures.clone().into()),
    ]);
    let bootstrap = object([
        ("name", "exec_wrapper".into()),
        ("script", String::from_utf8_lossy(&exec).into()),
        ("params", Value::Dict(bootstrap_params(&finder, &request.args.to_dict(), &exec)?)),
    ]);
    Ok([encode(&bootstrap).as_bytes(), SEPARATOR, encode(&manifest).as_bytes()].concat())
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    entries.into()
}

fn bootstrap_params(finder: &Finder<'_>, args: &Dict, exec: &[u8]) -> Result<Dict, PowershellError> {
    let version = |version: &Option<Version>| version.as_ref().map(|version| version.as_str().to_owned()).into();
    let mut places = ["_ansible_tmpdir", "_ansible_remote_tmp"].into_iter().filter_map(|key| args.get(key));
    let taken = ParamBlock::of(exec).unwrap_or_default();
    let params = [
        ("MinOSVersion", version(&finder.system)),
        ("MinPSVersion", version(&finder.powershell)),
        ("TempPath", places.find(|place| place.is_truthy()).cloned().into()),
    ];
    // The interpreter is the one that was chosen already, so the wrapper need not start another one; the input is not compressed.
    let newer = [("PwshPath", Value::Null), ("DecompressInput", false.into())];
    let newer = newer.into_iter().filter(|(name, _)| taken.has(name));
    passed(EXEC_WRAPPER, &taken, params.into_iter().chain(newer).collect())
}

/// Returns the parameters of a wrapper that takes them.
fn passed(
    script: &'static str,
    taken: &ParamBlock,
    params: Vec<(&'static str, Value)>,
) -> Result<Dict, PowershellError> {
    let names: Vec<&str> = params.iter().map(|(name, _)| *name).collect();
    match taken.missing(&names) {
        Some(parameter) => Err(PowershellError::NewerWrapper { script, parameter: parameter.to_owned() }),
        None => Ok(params.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
    }
}

/// Returns the secrets in the arguments, for a module that can know them.
fn secure_params(finder: &Finder<'_>, request: &Request<'_>) -> Dict {
    let is_told = finder.utils.iter().any(|util| util == SECRETS_UTIL);
    let secrets = || request.secrets.iter().map(Value::from).collect::<Vec<_>>().into();
    is_told.then(|| ("Secrets".to_owned(), secrets())).into_iter().collect()
}

fn module_params(finder: &Finder<'_>, script_name: &str, args: &Dict) -> Result<Dict, PowershellError> {
    let wrapper = finder.scripts.iter().find(|(name, _)| name == MODULE_WRAPPER);
    let taken = wrapper.and_then(|(_, script)| ParamBlock::of(&script.bytes)).unwrap_or_default();
    let complex_args =
        || object([("Name", "complex_args".into()), ("Value", Value::Dict(args.clone())), ("Scope", "Global".into())]);
    let arguments = match taken.has("ArgumentJSON") {
        // Since ansible-core 2.22.
        true => ("ArgumentJSON", encode(&Value::Dict(args.clone())).into()),
        false => ("Variables", Value::List(vec![complex_args()])),
    };
    let utils = |is_csharp: bool| -> Value {
        let found = finder.utils.iter().filter(|util| util.ends_with(".cs") == is_csharp);
        found.map(|util| Value::from(util.as_str())).collect::<Vec<_>>().into()
    };
    let params = vec![
        ("Script", script_name.into()),
        ("Environment", Value::Dict(Dict::new())),
        arguments,
        ("CSharpModules", utils(true)),
        ("PowerShellModules", utils(false)),
        ("ForModule", true.into()),
    ];
    passed(MODULE_WRAPPER, &taken, params)
}

fn action(name: &str, params: Dict, secure: Dict) -> Value {
    object([("name", name.into()), ("params", Value::Dict(params)), ("secure_params", Value::Dict(secure))])
}

fn scripts(finder: &Finder<'_>) -> Value {
    let entry = |(name, script): &(String, Script)| {
        let content = object([("path", script.path.as_str().into()), ("script", base64(&script.bytes).into())]);
        (name.clone(), content)
    };
    Value::Dict(finder.scripts.iter().map(entry).collect())
}

/// Returns Ansible's full name of a module: by its path in ansible-core or a collection, otherwise below
/// `ansible.legacy`.
fn full_name(request: &Request<'_>) -> String {
    let without_extension = request.path.strip_suffix(".ps1").or_else(|| request.path.strip_suffix(".py"));
    let Some(path) = without_extension else { return format!("ansible.legacy.{}", request.module_name) };
    let parts: Vec<&str> = path.split('/').collect();
    let of_collection =
        |at: usize| parts.get(at + 3..at + 5) == Some(&["plugins", "modules"][..]) && parts.len() > at + 5;
    let of_core = |at: usize| {
        parts.get(at + 1) == Some(&"modules")
            && matches!(parts[..at].last(), Some(&("site-packages" | "dist-packages")))
    };
    let start = (0..parts.len()).find(|at| match parts[*at] {
        "ansible_collections" => of_collection(*at),
        "ansible" => of_core(*at),
        _ => false,
    });
    match start {
        Some(start) => parts[start..].join("."),
        None => format!("ansible.legacy.{}", request.module_name),
    }
}

/// Encodes a script for PowerShell's command line as base64 of UTF-16: without blank lines and indentation; since
/// ansible-core 2.21, whose script has parameters, only without comments.
pub(super) fn encoded_command(script: &str) -> String {
    let is_comment = |line: &str| line.trim_start().starts_with('#');
    let lines: Vec<&str> = match ParamBlock::of(script.as_bytes()) {
        Some(_) => script.lines().map(|line| if is_comment(line) { "" } else { line }).collect(),
        None => script.lines().map(str::trim).filter(|line| !line.is_empty()).collect(),
    };
    let bytes: Vec<u8> = lines.join("\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    base64(&bytes)
}

/// Encodes bytes as standard base64 with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = (group >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[index as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_usual_one() {
        for (bytes, text) in [(&b""[..], ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (b"\xff\xfe", "//4=")]
        {
            assert_eq!(base64(bytes), text);
        }
        assert_eq!(encoded_command("  a\n\n b \r\n"), base64(b"a\0\n\0b\0"));
        let utf16 = |text: &str| base64(&text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
        assert_eq!(encoded_command("param($A)\n\n  # c\n  b\n"), utf16("param($A)\n\n\n  b"));
    }
}
