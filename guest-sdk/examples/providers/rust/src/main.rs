//! A provider of libral: files with one line. The same in bash and Python is in the folder above.
//!
//! Attributes: `name`, the path of the file; `ensure`, `present` or `absent`; `text`, the line.
//! Capabilities: the file that the name designates.

#![forbid(unsafe_code)]

use std::fs;
use std::io;

use modbox_sdk::Failure;
use modbox_sdk::provider::{Resource, Result, Update, UpdateAnswer};

modbox_sdk::provider! {
    type = "line",
    name = "rust",
    noop_safe = true,
    /// A file with one line.
    resource = Line {
        /// Path of the file.
        name, access = "write";
        /// Whether the file exists.
        ensure: String = ["present", "absent"];
        /// The line.
        text: String;
    },
    list = list,
    find = find,
    update = update,
}

/// Lists nothing: files have no common place.
fn list() -> Result<Vec<Line>> {
    Ok(Vec::new())
}

fn find(name: &str) -> Result<Option<Line>> {
    let (ensure, text) = match fs::read_to_string(name) {
        Ok(text) => ("present", text.lines().next().map(str::to_owned)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => ("absent", None),
        Err(error) => return Err(Failure::new(format!("failed to read `{name}`: {error}"))),
    };
    Ok(Some(Line { name: name.to_owned(), ensure: Some(ensure.to_owned()), text }))
}

fn update(update: Update<Line>) -> Result<UpdateAnswer> {
    let Line { name, ensure, text } = update.should;
    let is = update.is.unwrap_or_else(|| Line::named(name.clone()));
    if ensure.is_none() && is.ensure.as_deref() == Some("absent") {
        return Err(Failure::new(format!("`{name}` does not exist; set ensure=present, too")));
    }
    if update.noop {
        return Ok(UpdateAnswer::Everything);
    }
    let written = match ensure.as_deref() {
        Some("absent") => fs::remove_file(&name),
        _ => fs::write(&name, text.or(is.text).unwrap_or_default() + "\n"),
    };
    written.map_err(|error| Failure::new(format!("failed to change `{name}`: {error}")))?;
    Ok(UpdateAnswer::Everything)
}
