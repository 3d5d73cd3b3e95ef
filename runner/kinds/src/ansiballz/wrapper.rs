//! The Python around a payload: what starts it, in both forms, and two scripts that ask an interpreter for something.
//!
//! The portable form is one file with everything in it, which is also what is given to an interpreter on its standard
//! input; what is laid out on the disk is started by two lines. The Python itself lies in `python/`.

use std::io::{self, Cursor, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use modbox_contract::{Value, repr};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::ansiballz::name::DottedName;
use crate::ansiballz::payload::Payload;

/// Starts a module whose payload can be imported. Both forms have it.
const START: &str = include_str!("python/start.py");

/// Unpacks a payload.
const PORTABLE: &str = include_str!("python/portable.py");

/// Prints what modbox has to know of an interpreter, as JSON.
pub const PROBE_SCRIPT: &str = include_str!("python/probe.py");

/// Compiles every source below the folder that is its first argument, for the folder that is its second.
pub const COMPILE_SCRIPT: &str = include_str!("python/compile.py");

/// The name of the Python module that starts what is laid out, and what it has to be.
pub const START_MODULE: (&str, &str) = ("_modbox_start", START);

/// What the portable form ends with, whatever is in it.
pub const PORTABLE_END: &str = "    portable(zip_data, name, module_fqn, has_loader, params)\n";

/// Where the arguments would stand. What follows the payload in a wrapper's text is short, so they are put behind it.
const PARAMS: &str = "params = None\n";

/// Returns the zip of a payload, as base64. The same payload always gives the same bytes.
///
/// # Errors
///
/// More than a zip can hold.
pub fn zip_text(payload: &Payload) -> io::Result<String> {
    // Zip files know no time before 1980, and no file of a payload has one of its own.
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

/// Returns the file that holds a payload and runs with plain python anywhere: it takes the arguments from the file that is
/// its argument, or from standard input.
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

/// Returns that file with its arguments in it. They are ASCII: JSON as the contract has it.
#[must_use]
pub fn with_params(portable: &str, params: &[u8]) -> Vec<u8> {
    let Some(at) = portable.rfind(PARAMS) else { return portable.as_bytes().to_vec() };
    let literal = repr(&Value::from(String::from_utf8_lossy(params).as_ref()));
    let params = format!("params = b{literal}\n");
    [&portable[..at], &params, &portable[at + PARAMS.len()..]].concat().into_bytes()
}

/// Returns the script that starts a payload that is laid out in a folder, with arguments on its standard input.
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
