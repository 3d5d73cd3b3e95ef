//! `blockinfile`: inserts, replaces or removes a block of lines between two marker lines in a text file.
//!
//! Parameters: `path`, `state`, `block`, `marker`, `marker_begin`, `marker_end`, `insertafter` or `insertbefore`,
//! `append_newline`, `prepend_newline`, `create`, `backup`, `encoding`; `mode`, `owner`, `group`.
//! Returns: `msg`, `backup_file` when there is one.
//! Capabilities: write access to `path`. `backup` needs its folder; `create` in a new folder needs the parent folder.
//!
//! `block.rs` changes the lines, without files.

#![forbid(unsafe_code)]

mod block;

use std::path::Path;

use modbox_python_re::{Flags, Pattern, Subject, Template};
use modbox_sdk::files::AttributesDiff;
use modbox_sdk::fs::{exists, is_dir};
use modbox_sdk::text_file::{FileForm, both_diffs, check_attributes, contents_diff, create_folder_of, store};
use modbox_sdk::{Args, Choice, Exit, Failure, Module};

use crate::block::{Block, Place};

modbox_sdk::module! {
    args = BlockArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        msg: str = "What was done, or empty.",
        diff: list = "The differences of contents and of attributes. Contents are empty unless differences are asked for.",
        backup_file: str if "changed and backup" = "The backup of the old contents.",
    ],
    examples = [
        "modbox run blockinfile path=/etc/ssh/sshd_config block='Match User ansible\nPasswordAuthentication no'",
        "modbox run blockinfile path=/etc/hosts marker='# {mark} of the farm' state=absent",
    ],
}

/// Inserts, replaces or removes a block of lines between two marker lines in a text file.
///
/// Under ansible-core 2.20 and newer, the file is text: bytes that are not of its encoding are an error, and patterns and ends of lines
/// are those of Python's text. Under earlier releases, the file is bytes.
///
/// A replaced file keeps its mode and owner unless options set others. Setting an owner needs `--allow-own`.
#[derive(Args)]
#[args(mutually_exclusive("insertbefore", "insertafter"))]
struct BlockArgs {
    /// The file to change.
    #[arg(type = "path", access = "write", aliases("dest", "destfile", "name"))]
    path: String,
    /// Whether the block must be in the file.
    #[arg(default = "present")]
    state: State,
    /// The marker lines. {mark} is replaced by marker_begin and marker_end.
    #[arg(default = "# {mark} ANSIBLE MANAGED BLOCK")]
    marker: String,
    /// The lines between the markers. If empty, the block is removed.
    #[arg(default = "", alias = "content")]
    block: String,
    /// Insert a new block after the last line that matches this pattern, or at EOF.
    insertafter: Option<String>,
    /// Insert a new block before the last line that matches this pattern, or at BOF.
    insertbefore: Option<String>,
    /// Create the file if it does not exist.
    #[arg(default = false)]
    create: bool,
    /// Copy the old file to a backup next to it. This needs write access to its folder.
    #[arg(default = false)]
    backup: bool,
    /// The replacement of {mark} in the line before the block.
    #[arg(default = "BEGIN")]
    marker_begin: String,
    /// The replacement of {mark} in the line after the block.
    #[arg(default = "END")]
    marker_end: String,
    /// Add an empty line after the block, unless the file ends there.
    #[arg(default = false)]
    append_newline: bool,
    /// Add an empty line before the block, unless the file begins there.
    #[arg(default = false)]
    prepend_newline: bool,
    /// The encoding of the file: utf-8, latin-1 or ascii.
    #[arg(default = "utf-8")]
    encoding: String,
}

#[derive(Choice, PartialEq)]
enum State {
    Absent,
    Present,
}

fn run(args: BlockArgs, module: &mut Module) -> Result<Exit, Failure> {
    let path = Path::new(&args.path);
    let present = args.state == State::Present;
    if is_dir(path) {
        return Err(Failure::new(format!("Path {} is a directory !", args.path)).with("rc", 256));
    }
    let exists = exists(path);
    if !exists && !args.create {
        return Err(Failure::new(format!("Path {} does not exist !", args.path)).with("rc", 257));
    }
    // ansible-core creates them before it looks at the state.
    if !exists && !module.check_mode() {
        create_folder_of(path)?;
    }
    if !exists && !present {
        return Ok(Exit::unchanged().msg(format!("File {} not present", args.path)));
    }
    let form = FileForm::of(module, &args.encoding)?;
    let before = if exists { form.read(path, true)? } else { Vec::new() };
    let block = Block {
        begin: marker_line(&args.marker, &args.marker_begin, form)?,
        end: marker_line(&args.marker, &args.marker_end, form)?,
        text: if present { args.block.as_bytes() } else { b"" },
        place: place(&args, form)?,
        is_of_text: form.is_text,
        newline_before: args.prepend_newline && present,
        newline_behind: args.append_newline && present,
    };
    let after = block.put(&before)?;
    let changed = !exists || after != before;
    let message = match (changed, exists, block.text.is_empty()) {
        (false, ..) => "",
        (true, false, _) => "File created",
        (true, true, true) => "Block removed",
        (true, true, false) => "Block inserted",
    };
    let kept = if changed { store(module, path, &form.written(&after)?, args.backup)? } else { None };
    if module.check_mode() && !exists {
        let diff = contents_diff(module, &args.path, (&before, &after));
        return Ok(Exit::new(changed).msg(message).with("diff", diff));
    }
    let (mut message, mut attributes) = (message.to_owned(), AttributesDiff::default());
    let changed = check_attributes(module, changed, &mut message, &mut attributes)?;
    let diff = both_diffs(module, &args.path, (&before, &after), attributes);
    let exit = Exit::new(changed).msg(message).with("diff", diff);
    Ok(kept.into_iter().fold(exit, |exit, kept| exit.with("backup_file", kept)))
}

/// Returns a marker line. As in ansible-core, `\1` and the like in the replacement of `{mark}` are templates.
fn marker_line(marker: &str, mark: &str, form: FileForm) -> Result<Vec<u8>, Failure> {
    let bad = |why| Failure::new(format!("failed to read the mark `{mark}`: {why}"));
    let pattern = pattern("{mark}", form)?;
    Template::new(mark, &pattern).map_err(bad)?;
    let (mut line, _) = pattern.replace_all(mark, marker.as_bytes()).map_err(bad)?;
    line.push(b'\n');
    Ok(line)
}

fn place(args: &BlockArgs, form: FileForm) -> Result<Place, Failure> {
    Ok(match (args.insertafter.as_deref(), args.insertbefore.as_deref()) {
        (Some("EOF") | None, None) => Place::End,
        (_, Some("BOF")) => Place::Beginning,
        (Some(pattern), _) => Place::After(self::pattern(pattern, form)?),
        (None, Some(pattern)) => Place::Before(self::pattern(pattern, form)?),
    })
}

fn pattern(pattern: &str, form: FileForm) -> Result<Pattern, Failure> {
    let subject = if form.is_text { Subject::Text } else { Subject::Bytes };
    Pattern::new(pattern, subject, Flags::default())
        .map_err(|why| Failure::new(format!("failed to read the regular expression `{pattern}`: {why}")))
}
