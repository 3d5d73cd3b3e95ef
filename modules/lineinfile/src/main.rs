//! `lineinfile`: inserts, replaces or removes a line in a text file.
//!
//! Parameters: `path`, `state`, `line`, `regexp` or `search_string`, `backrefs`, `insertafter` or
//! `insertbefore`, `firstmatch`, `create`, `backup`, `encoding`; `mode`, `owner`, `group`.
//! Returns: `msg`, `backup`, `found` when lines are removed.
//! Capabilities: write access to `path`. `backup` needs its folder; `create` in a new folder needs the parent folder.
//!
//! `edit.rs` changes the lines, without files.

#![forbid(unsafe_code)]

mod edit;

use std::path::Path;

use modbox_python_re::{Flags, Pattern, Subject, Template};
use modbox_sdk::files::AttributesDiff;
use modbox_sdk::fs::{exists, is_dir};
use modbox_sdk::text_file::{FileForm, both_diffs, check_attributes, contents_diff, store};
use modbox_sdk::{Args, Choice, Exit, Failure, Module};

use crate::edit::{Edit, Finder, Place};

modbox_sdk::module! {
    args = LineArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        msg: str = "What was done, or empty.",
        found: int if "state is absent" = "The number of removed lines.",
        backup: str = "The backup of the old contents, or empty.",
        diff: list = "The differences of contents and of attributes. Contents are empty unless differences are asked for.",
    ],
    examples = [
        "modbox run lineinfile path=/etc/selinux/config regexp=^SELINUX= line=SELINUX=enforcing",
        "modbox run lineinfile path=/etc/hosts state=absent regexp='\\sexample\\.org$'",
    ],
}

/// Inserts, replaces or removes a line in a text file.
///
/// Under ansible-core 2.20 and newer, the file is text: bytes that are not of its encoding are an error, all lines of a changed file end
/// with \n, and patterns are those of Python's re on text. Under earlier releases, the file is bytes: other lines
/// stay as they are, and classes such as \w match only ASCII.
///
/// A replaced file keeps its mode and owner unless options set others. Setting an owner needs `--allow-own`.
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
    /// Whether the line must be in the file.
    #[arg(default = "present")]
    state: State,
    /// The last line that matches is replaced. With state absent, all lines that match are removed.
    #[arg(alias = "regex")]
    regexp: Option<String>,
    /// Like regexp, but a plain text.
    search_string: Option<String>,
    /// The line. Required with state present.
    #[arg(alias = "value")]
    line: Option<String>,
    /// Replace groups of regexp in the line. Without a match, nothing changes.
    #[arg(default = false)]
    backrefs: bool,
    /// Insert a new line after the last one that matches, or at EOF.
    insertafter: Option<String>,
    /// Insert a new line before the last one that matches, or at BOF.
    insertbefore: Option<String>,
    /// Create the file if it does not exist.
    #[arg(default = false)]
    create: bool,
    /// Copy the old file to a backup next to it. This needs write access to its folder.
    #[arg(default = false)]
    backup: bool,
    /// Use the first match of regexp, insertafter and insertbefore instead of the last.
    #[arg(default = false)]
    firstmatch: bool,
    /// The encoding of the file: utf-8, latin-1 or ascii.
    #[arg(default = "utf-8")]
    encoding: String,
}

#[derive(Choice)]
enum State {
    Absent,
    Present,
}

fn run(args: LineArgs, module: &mut Module) -> Result<Exit, Failure> {
    let path = Path::new(&args.path);
    if is_dir(path) {
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
    let exists = exists(path);
    if !exists && !args.create {
        return Err(Failure::new(format!("Destination {} does not exist !", args.path)).with("rc", 257));
    }
    let form = FileForm::of(module, &args.encoding)?;
    let finder = finder(args, line, form)?;
    let template = match &finder {
        Finder::Pattern(pattern) if args.backrefs => Some(template(line, pattern)?),
        _ => None,
    };
    let edit =
        Edit { line: line.as_bytes(), finder, template, place: place(args, form)?, first_match: args.firstmatch };
    let before = if exists { form.read(path, false)? } else { Vec::new() };
    let (after, message) = edit.present(&before)?;
    let changed = message.is_some();
    let backup = if changed { store(module, path, &form.written(&after)?, args.backup)? } else { None };
    let exit = finish(args, module, changed, message.unwrap_or_default().to_owned(), (&before, &after))?;
    Ok(exit.with("backup", backup.unwrap_or_default()))
}

fn absent(args: &LineArgs, path: &Path, module: &Module) -> Result<Exit, Failure> {
    let line = args.line.as_deref();
    if line.is_none() && args.regexp.is_none() && args.search_string.is_none() {
        return Err(Failure::new("one of line, search_string, or regexp is required with state=absent"));
    }
    if !exists(path) {
        return Ok(Exit::unchanged().msg("file not present"));
    }
    let form = FileForm::of(module, &args.encoding)?;
    let finder = finder(args, line.unwrap_or_default(), form)?;
    let before = form.read(path, false)?;
    let (after, found) = edit::absent(&before, &finder)?;
    let backup = if found > 0 { store(module, path, &form.written(&after)?, args.backup)? } else { None };
    let message = if found > 0 { format!("{found} line(s) removed") } else { String::new() };
    let exit = finish(args, module, found > 0, message, (&before, &after))?;
    let exit = exit.with("found", i64::try_from(found).unwrap_or(i64::MAX));
    Ok(exit.with("backup", backup.unwrap_or_default()))
}

/// Sets the attributes, and returns the result.
fn finish(
    args: &LineArgs,
    module: &Module,
    changed: bool,
    mut message: String,
    contents: (&[u8], &[u8]),
) -> Result<Exit, Failure> {
    if module.check_mode() && !exists(&args.path) {
        let diff = contents_diff(module, &args.path, contents);
        return Ok(Exit::new(changed).msg(message).with("diff", diff));
    }
    let mut attributes = AttributesDiff::default();
    let changed = check_attributes(module, changed, &mut message, &mut attributes)?;
    Ok(Exit::new(changed).msg(message).with("diff", both_diffs(module, &args.path, contents, attributes)))
}

fn finder<'a>(args: &'a LineArgs, line: &'a str, form: FileForm) -> Result<Finder<'a>, Failure> {
    Ok(match (&args.regexp, &args.search_string) {
        (Some(regexp), _) => Finder::Pattern(Box::new(pattern(regexp, form)?)),
        (None, Some(text)) => Finder::Text(text.as_bytes()),
        (None, None) => Finder::Line(line.as_bytes()),
    })
}

fn pattern(pattern: &str, form: FileForm) -> Result<Pattern, Failure> {
    let subject = if form.is_text { Subject::Text } else { Subject::Bytes };
    Pattern::new(pattern, subject, Flags::default())
        .map_err(|why| Failure::new(format!("failed to read the regular expression `{pattern}`: {why}")))
}

fn template(line: &str, pattern: &Pattern) -> Result<Template, Failure> {
    Template::new(line, pattern).map_err(|why| Failure::new(format!("failed to fill the line: {why}")))
}

fn place(args: &LineArgs, form: FileForm) -> Result<Place, Failure> {
    Ok(match (args.insertafter.as_deref(), args.insertbefore.as_deref()) {
        (Some("BOF"), _) | (_, Some("BOF")) => Place::Beginning,
        (Some("EOF") | None, None) | (_, Some("EOF")) => Place::End,
        (Some(pattern), _) => Place::After(self::pattern(pattern, form)?),
        (None, Some(pattern)) => Place::Before(self::pattern(pattern, form)?),
    })
}
