//! The document for ansible-core's wrappers: the script that starts them, the scripts that they use, and their actions.
//!
//! It has two JSON objects, with a line of four NULs between them (`_get_bootstrap_input`). Keys and their order are
//! Ansible's.

use std::sync::Arc;

use modbox_contract::Dict;
use modbox_python_json::{Value, encode};

use crate::powershell::finder::Finder;
use crate::powershell::requires::Version;
use crate::powershell_source::{PowershellError, Script};
use crate::request::Request;

const EXEC_WRAPPER: &str = "exec_wrapper.ps1";
const MODULE_WRAPPER: &str = "module_wrapper.ps1";
const BECOME_WRAPPER: &str = "become_wrapper.ps1";

const SEPARATOR: &[u8] = b"\n\0\0\0\0\n";

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
        actions.push(action(BECOME_WRAPPER, Dict::from_iter([("BecomeUser".to_owned(), "SYSTEM".into())])));
    }
    actions.push(action(MODULE_WRAPPER, module_params(&finder, &script_name, &request.args.to_dict())));
    let exec = request.powershell.script(EXEC_WRAPPER)?;
    let manifest = object([
        ("scripts", scripts(&finder)),
        ("actions", Value::List(actions)),
        ("signed_hashlist", finder.signatures.clone().into()),
    ]);
    let bootstrap = object([
        ("name", "exec_wrapper".into()),
        ("script", String::from_utf8_lossy(&exec).into()),
        ("params", bootstrap_params(&finder, &request.args.to_dict())),
    ]);
    Ok([encode(&bootstrap).as_bytes(), SEPARATOR, encode(&manifest).as_bytes()].concat())
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    entries.into()
}

fn bootstrap_params(finder: &Finder<'_>, args: &Dict) -> Value {
    let version = |version: &Option<Version>| version.as_ref().map(|version| version.as_str().to_owned()).into();
    let mut places = ["_ansible_tmpdir", "_ansible_remote_tmp"].into_iter().filter_map(|key| args.get(key));
    object([
        ("MinOSVersion", version(&finder.system)),
        ("MinPSVersion", version(&finder.powershell)),
        ("TempPath", places.find(|place| place.is_truthy()).cloned().into()),
    ])
}

fn module_params(finder: &Finder<'_>, script_name: &str, args: &Dict) -> Dict {
    let complex_args =
        object([("Name", "complex_args".into()), ("Value", Value::Dict(args.clone())), ("Scope", "Global".into())]);
    let utils = |is_csharp: bool| -> Value {
        let found = finder.utils.iter().filter(|util| util.ends_with(".cs") == is_csharp);
        found.map(|util| Value::from(util.as_str())).collect::<Vec<_>>().into()
    };
    let params = [
        ("Script", script_name.into()),
        ("Environment", Value::Dict(Dict::new())),
        ("Variables", Value::List(vec![complex_args])),
        ("CSharpModules", utils(true)),
        ("PowerShellModules", utils(false)),
        ("ForModule", true.into()),
    ];
    params.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn action(name: &str, params: Dict) -> Value {
    object([("name", name.into()), ("params", Value::Dict(params)), ("secure_params", Value::Dict(Dict::new()))])
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

/// Encodes a script for PowerShell's command line: without blank lines and indentation, as base64 of UTF-16.
pub(super) fn encoded_command(script: &str) -> String {
    let lines: Vec<&str> = script.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
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
    }
}
