//! `replace`: replaces every match of a pattern in a text file.
//!
//! Parameters: `path`, `regexp`, `replace`, `after`, `before`, `backup`, `encoding`; `mode`, `owner`, `group`.
//! Returns: `msg`, `rc`, `backup_file` when there is one.
//! Capabilities: write access to `path`; `backup` needs its folder.

#![forbid(unsafe_code)]

use std::path::Path;

use modbox_python_re::{Flags, Pattern, Subject};
use modbox_sdk::files::AttributesDiff;
use modbox_sdk::fs::{exists, is_dir};
use modbox_sdk::text_encoding::TextEncoding;
use modbox_sdk::text_file::{FileForm, check_attributes, contents, store, text};
use modbox_sdk::{Args, Diff, Exit, Failure, Module};

modbox_sdk::module! {
    args = ReplaceArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        msg: str = "The number of replaced matches, or empty.",
        rc: int = "0; 256 for a folder, 257 if path does not exist.",
        backup_file: str if "changed and backup" = "The backup of the old contents.",
    ],
    examples = [
        "modbox run replace path=/etc/hosts regexp='(\\s+)old\\.example\\.org(\\s+.*)?$' replace='\\1new.example.org\\2'",
        "modbox run replace path=/etc/apache2/site.conf after='<VirtualHost>' before='</VirtualHost>' regexp='^(.+)$' replace='# \\1'",
    ],
}

/// Replaces every match of a pattern in a text file.
///
/// Patterns are those of Python's re on text; ^ and $ match at each line.
///
/// Under ansible-core 2.20 and newer, bytes that are not of the file's encoding are an error, and all lines of a changed file end with
/// \n. Under earlier releases, such bytes and other lines stay as they are.
///
/// A replaced file keeps its mode and owner unless options set others. Setting an owner needs `--allow-own`.
#[derive(Args)]
struct ReplaceArgs {
    /// The file to change.
    #[arg(type = "path", access = "write", aliases("dest", "destfile", "name"))]
    path: String,
    /// The pattern.
    regexp: String,
    /// The replacement. \1 and so on are groups of the match.
    #[arg(default = "")]
    replace: String,
    /// Replace only after the first match of this pattern.
    after: Option<String>,
    /// Replace only before a match of this pattern.
    before: Option<String>,
    /// Copy the old file to a backup next to it. This needs write access to its folder.
    #[arg(default = false)]
    backup: bool,
    /// The encoding of the file: utf-8, latin-1 or ascii.
    #[arg(default = "utf-8")]
    encoding: String,
}

fn run(args: ReplaceArgs, module: &mut Module) -> Result<Exit, Failure> {
    let path = Path::new(&args.path);
    if is_dir(path) {
        return Err(Failure::new(format!("Path {} is a directory !", args.path)).with("rc", 256));
    }
    if !exists(path) {
        return Err(Failure::new(format!("Path {} does not exist !", args.path)).with("rc", 257));
    }
    let encoding = TextEncoding::named(&args.encoding)?;
    let form = FileForm { encoding, is_text: module.is_since(2, 20) };
    let contents = match form.is_text {
        true => form.read(path, false)?,
        false => encoding.decode(&contents(path)?),
    };
    let Some((start, end)) = section(&args, &contents)? else {
        let pattern = section_pattern(&args).unwrap_or_default();
        let message = format!("Pattern for before/after params did not match the given file: {pattern}");
        return Ok(Exit::unchanged().with("rc", 0).msg(message));
    };
    let pattern = pattern(&args.regexp, Flags { multi_line: true, ..Flags::default() })?;
    let (replaced, count) = pattern
        .replace_all(&args.replace, &contents[start..end])
        .map_err(|why| Failure::new(format!("Unable to process replace due to error: {why}")))?;
    if count == 0 || contents[start..end] == replaced {
        return finish(module, false, String::new());
    }
    let after = [&contents[..start], &replaced, &contents[end..]].concat();
    let diff = Diff::new(text(&contents), text(&after)).headers(args.path.as_str(), args.path.as_str());
    let kept = store(module, path, &written(form, &after)?, args.backup)?;
    let exit = finish(module, true, format!("{count} replacements made"))?.diff(diff);
    Ok(kept.into_iter().fold(exit, |exit, kept| exit.with("backup_file", kept)))
}

/// Returns the new text in the encoding. Bytes that were kept are not of it.
fn written(form: FileForm, text: &[u8]) -> Result<Vec<u8>, Failure> {
    match form.encoding {
        TextEncoding::Utf8 | TextEncoding::Ascii if !form.is_text => Ok(text.to_vec()),
        encoding => encoding.encode(text),
    }
}

/// Sets the attributes, and returns the result.
fn finish(module: &Module, changed: bool, mut message: String) -> Result<Exit, Failure> {
    let changed = check_attributes(module, changed, &mut message, &mut AttributesDiff::default())?;
    Ok(Exit::new(changed).with("rc", 0).msg(message))
}

/// Where to replace: everywhere, or between `after` and `before`.
fn section(args: &ReplaceArgs, contents: &[u8]) -> Result<Option<(usize, usize)>, Failure> {
    let Some(text) = section_pattern(args) else { return Ok(Some((0, contents.len()))) };
    let pattern = pattern(&text, Flags { dot_all: true, ..Flags::default() })?;
    let group = pattern.index_of("subsection").unwrap_or_default();
    Ok(pattern.search(contents)?.and_then(|found| found.span(group)))
}

fn section_pattern(args: &ReplaceArgs) -> Option<String> {
    let given = |option: &Option<String>| option.clone().filter(|pattern| !pattern.is_empty());
    Some(match (given(&args.after), given(&args.before)) {
        (Some(after), Some(before)) => format!("{after}(?P<subsection>.*?){before}"),
        (Some(after), None) => format!("{after}(?P<subsection>.*)"),
        (None, Some(before)) => format!("(?P<subsection>.*){before}"),
        (None, None) => return None,
    })
}

fn pattern(pattern: &str, flags: Flags) -> Result<Pattern, Failure> {
    Pattern::new(pattern, Subject::Text, flags)
        .map_err(|why| Failure::new(format!("failed to read the regular expression `{pattern}`: {why}")))
}
