//! `ini_file`: sets, adds and removes options and sections of an INI file, as community.general's module does.
//!
//! Parameters: `path`, `section`, `section_has_values`, `option`, `value` or `values`, `state`, `exclusive`,
//! `no_extra_spaces`,
//! `ignore_spaces`, `create`, `allow_no_value`, `modify_inactive_option`, `follow`, `backup`; `mode`, `owner`, `group`.
//! Returns: `msg`, `path`, `backup_file` when there is one.
//! Capabilities: write access to `path`. `backup` needs its folder; `create` in a new folder needs the parent folder.
//!
//! `edit.rs` changes the lines, and `line.rs` reads one, without files.

#![forbid(unsafe_code)]

mod edit;
mod line;

use std::path::{Path, PathBuf};

use modbox_sdk::files::Planned;
use modbox_sdk::fs::{create_folders, exists, path_value, real_path};
use modbox_sdk::text_file::{cannot, contents, contents_diff, store};
use modbox_sdk::{Args, Choice, Exit, Failure, Module};

use crate::edit::{Condition, Edit};

modbox_sdk::module! {
    args = IniArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        msg: str = "What was done, or OK.",
        path: str = "The file.",
        backup_file: str if "changed and backup" = "The backup of the old contents.",
    ],
    examples = [
        "modbox run ini_file path=/etc/app.conf section=drinks option=fav value=lemonade",
        "modbox run ini_file path=/etc/app.conf section=drinks option=fav state=absent",
    ],
}

/// Sets, adds and removes options and sections of an INI file.
///
/// A newline is added to the end of the file if it is missing, and all other line ends become newlines.
///
/// A replaced file keeps its mode and owner unless options set others. Setting an owner needs `--allow-own`.
#[derive(Args)]
#[args(mutually_exclusive("value", "values"))]
struct IniArgs {
    /// The file to change.
    #[arg(type = "path", access = "write", alias = "dest")]
    path: String,
    /// The section. By default, the options before the first section.
    section: Option<String>,
    /// Of several sections with this name, use the first that has all of these.
    section_has_values: Option<Vec<HasValue>>,
    /// The option. By default, the whole section.
    option: Option<String>,
    /// The value of the option.
    value: Option<String>,
    /// The values of the option, one line for each.
    values: Option<Vec<String>>,
    /// Copy the old file to a backup next to it. This needs write access to its folder.
    #[arg(default = false)]
    backup: bool,
    /// Whether the option or section must be in the file.
    #[arg(default = "present")]
    state: State,
    /// Replace or remove other lines with this option. Otherwise, values are added or removed one by one.
    #[arg(default = true)]
    exclusive: bool,
    /// Write no spaces around the equals sign.
    #[arg(default = false)]
    no_extra_spaces: bool,
    /// Keep a line if only spaces around the equals sign would change.
    #[arg(default = false)]
    ignore_spaces: bool,
    /// Create the file if it does not exist.
    #[arg(default = true)]
    create: bool,
    /// Allow an option without value and equals sign.
    #[arg(default = false)]
    allow_no_value: bool,
    /// Replace a comment that has the option.
    #[arg(default = true)]
    modify_inactive_option: bool,
    /// Write the target of a link, instead of replacing the link.
    #[arg(default = false)]
    follow: bool,
}

/// A condition on the contents of a section.
#[derive(Args)]
#[args(mutually_exclusive("value", "values"))]
struct HasValue {
    /// The section has this option.
    option: String,
    /// The option has this value.
    value: Option<String>,
    /// The option has one of these values.
    values: Option<Vec<String>>,
}

#[derive(Choice, PartialEq)]
enum State {
    Absent,
    Present,
}

fn run(args: IniArgs, module: &mut Module) -> Result<Exit, Failure> {
    let target = target(&args)?;
    let path = target.as_path();
    let given = args.value.is_some() || args.values.as_ref().is_some_and(|values| !values.is_empty());
    if args.state == State::Present && !args.allow_no_value && !given {
        let message = "Parameter 'value(s)' must be defined if state=present and allow_no_value=False.";
        return Err(Failure::new(message));
    }
    if !exists(path) && !args.create {
        return Err(Failure::new(format!("Destination {} does not exist!", path.display())).with("rc", 257));
    }
    if args.path.is_empty() && !module.check_mode() {
        return Err(Failure::new("failed to create the folder of ``: No such file or directory"));
    }
    if let Some(folder) = path.parent().filter(|folder| !module.check_mode() && !exists(path) && !exists(folder)) {
        module.refuse_attributes(path, Planned::File)?;
        // As the original does, also where it then has nothing to write.
        create_folders(folder).map_err(cannot("create the folder of", path))?;
    }
    let before = if exists(path) { text(&contents(path)?, path)? } else { String::new() };
    let edit = Edit {
        section: args.section.as_deref().filter(|section| !section.is_empty()),
        conditions: conditions(args.section_has_values.as_deref().unwrap_or_default()),
        option: args.option.as_deref().filter(|option| !option.is_empty()),
        present: args.state == State::Present,
        exclusive: args.exclusive,
        equals: if args.no_extra_spaces { "=" } else { " = " },
        ignore_spaces: args.ignore_spaces,
        allow_no_value: args.allow_no_value,
        inactive: args.modify_inactive_option,
    };
    let values = args.value.clone().map(|value| vec![value]).or_else(|| args.values.clone()).unwrap_or_default();
    let (after, changed, message) = edit.apply(&before, values);
    let kept = if changed {
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        if is_link && !args.follow && !module.check_mode() {
            return Err(Failure::new(format!("{} is a link; set follow=true to write its target", args.path)));
        }
        store(module, path, after.as_bytes(), args.backup)?
    } else {
        None
    };
    let changed = if !module.check_mode() && exists(path) {
        let wanted = module.load_file_common_arguments(None)?.unwrap_or_default();
        module.set_fs_attributes_if_different(&wanted, changed, None)?
    } else {
        changed
    };
    let diff = contents_diff(module, &args.path, (before.as_bytes(), after.as_bytes()));
    let exit = Exit::new(changed).msg(message).with("path", path_value(&args.path)).with("diff", diff);
    Ok(kept.into_iter().fold(exit, |exit, kept| exit.with("backup_file", kept)))
}

/// Returns the file to write: with `follow`, the one behind a link, beside which the backup is, too.
fn target(args: &IniArgs) -> Result<PathBuf, Failure> {
    let path = Path::new(&args.path);
    if args.follow && path.is_symlink() { real_path(path).map_err(cannot("read", path)) } else { Ok(path.to_owned()) }
}

/// Returns contents as Python reads text: without a byte order mark, with newlines as the only line ends.
fn text(contents: &[u8], path: &Path) -> Result<String, Failure> {
    let contents = contents.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(contents);
    let text = str::from_utf8(contents)
        .map_err(|error| Failure::new(format!("failed to read `{}`: it is not UTF-8: {error}", path.display())))?;
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}

fn conditions<'a>(given: &'a [HasValue]) -> Vec<Condition<'a>> {
    let values_of = |given: &'a HasValue| match &given.value {
        Some(value) => std::slice::from_ref(value),
        None => given.values.as_deref().unwrap_or_default(),
    };
    given.iter().map(|given| Condition { option: &given.option, values: values_of(given) }).collect()
}
