//! `lineinfile`: makes sure that a line is in a text file, or is not.
//!
//! Parameters: `path`, `state`, `line`, `regexp` or `search_string`, `backrefs`, `insertafter` or
//! `insertbefore`, `firstmatch`, `create`, `backup`.
//! Returns: `msg`, `backup`, `found` when lines are removed.
//! Capabilities: write access to `path`; `backup` needs its folder, and so does `create` in a new one.
//!
//! What becomes of the lines is decided in `edit.rs`, without files; `pattern.rs` reads Python's regular
//! expressions.

#![forbid(unsafe_code)]

mod class;
mod edit;
mod pattern;
mod template;
mod translate;

use std::path::Path;

use modbox_sdk::{Args, Choice, Diff, Exit, Failure, Module, Value};

use crate::edit::{Edit, Finder, Place};
use crate::pattern::Pattern;

modbox_sdk::module! {
    args = LineArgs,
    run = run,
    check_mode = true,
    returns = [
        msg: str = "What was done, empty for nothing.",
        found: int if "state is absent" = "How many lines went.",
        backup: str = "Where the old contents are, empty for nowhere.",
    ],
    examples = [
        "modbox run lineinfile path=/etc/selinux/config regexp=^SELINUX= line=SELINUX=enforcing",
        "modbox run lineinfile path=/etc/hosts state=absent regexp='\\sexample\\.org$'",
    ],
}

/// How long a file may be: it is held in memory whole.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// Makes sure that a line is in a text file, or is not.
///
/// Lines are bytes: patterns match as Python's re does on bytes, so classes such as \w mean ASCII.
///
/// Modes and owners are not set: WASI has none. A replaced file keeps those it has.
#[derive(Args)]
#[args(
    mutually_exclusive("insertbefore", "insertafter"),
    mutually_exclusive("regexp", "search_string"),
    mutually_exclusive("backrefs", "search_string")
)]
struct LineArgs {
    /// The file to change.
    #[arg(type = "path", access = "write", aliases("dest", "destfile", "name"))]
    path: String,
    /// Whether the line shall be there.
    #[arg(default = "present")]
    state: State,
    /// The line to replace is the last one that matches; with state absent, all that match go.
    #[arg(alias = "regex")]
    regexp: Option<String>,
    /// As regexp, but text to be found as it is.
    search_string: Option<String>,
    /// The line. Required with state present.
    #[arg(alias = "value")]
    line: Option<String>,
    /// Fill groups of regexp into the line. Without a match nothing changes.
    #[arg(default = false)]
    backrefs: bool,
    /// Put a new line after the last one that matches, or at EOF.
    insertafter: Option<String>,
    /// Put a new line before the last one that matches, or at BOF.
    insertbefore: Option<String>,
    /// Make the file when there is none.
    #[arg(default = false)]
    create: bool,
    /// Keep the old file under another name beside it; needs write access to its folder.
    #[arg(default = false)]
    backup: bool,
    /// Use the first match of regexp, insertafter and insertbefore instead of the last.
    #[arg(default = false)]
    firstmatch: bool,
}

#[derive(Choice)]
enum State {
    Absent,
    Present,
}

fn run(args: LineArgs, module: &mut Module) -> Result<Exit, Failure> {
    let path = Path::new(&args.path);
    if path.is_dir() {
        return Err(Failure::new(format!("Path {} is a directory !", args.path)).with("rc", 256));
    }
    for (name, pattern) in [("regular expression", &args.regexp), ("search string", &args.search_string)] {
        if pattern.as_deref() == Some("") {
            module.warn(format!(
                "The {name} is an empty string, which will match every line in the file. This may have unintended \
                 consequences, such as replacing the last line in the file rather than appending.{}",
                if name == "search string" {
                    ""
                } else {
                    " If this is desired, use '^' to match every line in the file and avoid this warning."
                }
            ));
        }
    }
    match args.state {
        State::Present => present(&args, path, module),
        State::Absent => absent(&args, path, module),
    }
}

fn present(args: &LineArgs, path: &Path, module: &Module) -> Result<Exit, Failure> {
    if args.backrefs && args.regexp.is_none() {
        return Err(Failure::new("regexp is required with backrefs=true"));
    }
    let Some(line) = args.line.as_deref() else {
        return Err(Failure::new("line is required with state=present"));
    };
    let exists = path.exists();
    if !exists && !args.create {
        return Err(Failure::new(format!("Destination {} does not exist !", args.path)).with("rc", 257));
    }
    let edit = Edit {
        line: line.as_bytes(),
        finder: finder(args, line)?,
        template: args.backrefs.then_some(line),
        place: place(args)?,
        first_match: args.firstmatch,
    };
    let before = if exists { read(path)? } else { Vec::new() };
    let (after, message) = edit.present(&before)?;
    let changed = message.is_some();
    let backup = if changed { store(args, path, exists, &after, module)? } else { String::new() };
    let exit = Exit::new(changed).msg(message.unwrap_or_default()).with("backup", backup);
    Ok(exit.diff(diff(args, &before, &after)))
}

fn absent(args: &LineArgs, path: &Path, module: &Module) -> Result<Exit, Failure> {
    let line = args.line.as_deref();
    if line.is_none() && args.regexp.is_none() && args.search_string.is_none() {
        return Err(Failure::new("one of line, search_string, or regexp is required with state=absent"));
    }
    if !path.exists() {
        return Ok(Exit::unchanged().msg("file not present"));
    }
    let finder = finder(args, line.unwrap_or_default())?;
    let before = read(path)?;
    let (after, found) = edit::absent(&before, &finder)?;
    let backup = if found > 0 { store(args, path, true, &after, module)? } else { String::new() };
    let message = if found > 0 { format!("{found} line(s) removed") } else { String::new() };
    let exit = Exit::new(found > 0).with("found", i64::try_from(found).unwrap_or(i64::MAX)).msg(message);
    Ok(exit.with("backup", backup).diff(diff(args, &before, &after)))
}

fn finder<'a>(args: &'a LineArgs, line: &'a str) -> Result<Finder<'a>, Failure> {
    Ok(match (&args.regexp, &args.search_string) {
        (Some(regexp), _) => Finder::Pattern(Pattern::new(regexp)?),
        (None, Some(text)) => Finder::Text(text.as_bytes()),
        (None, None) => Finder::Line(line.as_bytes()),
    })
}

fn place(args: &LineArgs) -> Result<Place, Failure> {
    Ok(match (args.insertafter.as_deref(), args.insertbefore.as_deref()) {
        (Some("BOF"), _) | (_, Some("BOF")) => Place::Beginning,
        (Some("EOF") | None, None) | (_, Some("EOF")) => Place::End,
        (Some(pattern), _) => Place::After(Pattern::new(pattern)?),
        (None, Some(pattern)) => Place::Before(Pattern::new(pattern)?),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    modbox_sdk::fs::read(path, MAX_FILE_BYTES)
        .map_err(|error| Failure::new(format!("failed to read `{}`: {error}", path.display())))
}

/// Writes the file, unless in check mode, and returns where the old one is kept.
fn store(args: &LineArgs, path: &Path, exists: bool, after: &[u8], module: &Module) -> Result<String, Failure> {
    if module.check_mode() {
        return Ok(String::new());
    }
    let mut kept = String::new();
    if args.backup && exists {
        let copy = modbox_sdk::fs::backup(path)
            .map_err(|error| Failure::new(format!("failed to back up `{}`: {error}", args.path)))?;
        kept = copy.display().to_string();
    }
    if let Some(folder) = path.parent().filter(|folder| !exists && !folder.as_os_str().is_empty() && !folder.exists()) {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("Error creating {} ({error})", folder.display())))?;
    }
    let cannot = |error| Failure::new(format!("failed to write `{}`: {error}", args.path));
    let target = modbox_sdk::fs::follow_links(path).map_err(cannot)?;
    modbox_sdk::fs::write_atomic(&target, after).map_err(cannot)?;
    Ok(kept)
}

fn diff(args: &LineArgs, before: &[u8], after: &[u8]) -> Diff {
    let header = format!("{} (content)", args.path);
    let text = |bytes: &[u8]| modbox_sdk::json::str(&Value::from_os_bytes(bytes));
    Diff::new(text(before), text(after)).headers(header.clone(), header)
}
