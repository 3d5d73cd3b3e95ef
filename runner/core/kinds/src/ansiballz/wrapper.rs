//! The Python code around a payload: the code that starts it, in both forms, and two scripts that run in an interpreter
//! to probe it and to compile sources.
//!
//! The portable form is one file with everything in it; modbox also sends it to an interpreter on standard input. A
//! payload in a folder is started by a short script. The Python sources are in `python/`.

use std::io::{self, Cursor, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use modbox_contract::{GivenSecrets, Value, repr};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::ansiballz::name::DottedName;
use crate::ansiballz::payload::Payload;

/// Code that starts a module whose payload can be imported. Both forms contain it.
const START: &str = include_str!("python/start.py");

/// Code that unpacks a payload.
const PORTABLE: &str = include_str!("python/portable.py");

/// Script that prints the properties of an interpreter as JSON.
pub const PROBE_SCRIPT: &str = include_str!("python/probe.py");

/// Script that compiles every source in the folder of its first argument, for use in the folder of its second.
pub const COMPILE_SCRIPT: &str = include_str!("python/compile.py");

/// Name and content of the Python module that starts a payload in a folder.
pub const START_MODULE: (&str, &str) = ("_modbox_start", START);

/// The last line of every portable form.
const PORTABLE_END: &str = "    portable(zip_data, name, module_fqn, has_loader, params, secrets)\n";

/// The lines that the arguments replace, and the secrets in them. They are after the payload and close to the end, so a search from the
/// end finds them fast.
const PARAMS: &str = "params = None\nsecrets = []\n";

/// Returns the zip of a payload as base64. The same payload always gives the same bytes.
///
/// # Errors
///
/// A payload that is too large for a zip.
pub fn zip_text(payload: &Payload) -> io::Result<String> {
    // Zip files cannot store times before 1980, and the files of a payload have no times.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, source) in &payload.files {
        zip.start_file(path.as_str(), options)?;
        zip.write_all(source)?;
    }
    Ok(BASE64.encode(zip.finish()?.into_inner()))
}

/// Returns the portable form: a file that holds the payload and runs with any python. It reads the arguments from the
/// file that its argument names, or from standard input.
#[must_use]
pub fn portable(interpreter: &str, payload: &Payload, zip: &str) -> String {
    let literal = |text: &str| repr(&Value::from(text));
    let name = payload.module.parts().last().map(String::as_str).unwrap_or_default();
    let (name, module) = (literal(name), literal(&payload.module.to_string()));
    let has_loader = if payload.has_loader { "True" } else { "False" };
    format!(
        "#!{interpreter}\n# -*- coding: utf-8 -*-\n{PORTABLE}\n\n{START}\n\nzip_data = '{zip}'\nname = {name}\n\
         module_fqn = {module}\nhas_loader = {has_loader}\n{PARAMS}\nif __name__ == '__main__':\n{PORTABLE_END}"
    )
}

/// Inserts the arguments into a portable form, with the secrets that are in them. They are ASCII: JSON in the contract's encoding.
#[must_use]
pub fn with_params(portable: &str, params: &[u8], secrets: &GivenSecrets) -> Vec<u8> {
    let Some(at) = portable.rfind(PARAMS) else { return portable.as_bytes().to_vec() };
    let literal = repr(&Value::from(String::from_utf8_lossy(params).as_ref()));
    // A list of texts is the same in JSON and in Python.
    let params = format!("params = b{literal}\nsecrets = {}\n", secrets.to_json());
    [&portable[..at], &params, &portable[at + PARAMS.len()..]].concat().into_bytes()
}

/// Returns the script that starts a payload in a folder. The script reads the arguments from standard input.
#[must_use]
pub fn start_script(folder: &str, module: &DottedName, has_loader: bool) -> String {
    let literal = |text: &str| repr(&Value::from(text));
    let (folder, module) = (literal(folder), literal(&module.to_string()));
    let has_loader = if has_loader { "True" } else { "False" };
    let start = START_MODULE.0;
    format!(
        "import sys\nfolder = {folder}\nif sys.path[:1] != [folder]:\n    sys.path.insert(0, folder)\n\
         import {start}\n{start}.laid_out(folder, {module}, {has_loader})\n"
    )
}
