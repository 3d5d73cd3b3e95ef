//! `file`: what a path shall be: a file, a folder, a link, nothing; and its mode, owner and times.
//!
//! Parameters: `path`, `state`, `src`, `follow`, `force`, `recurse`, `access_time`, `modification_time` and their formats; `mode`, `owner`,
//! `group`; and `_original_basename` and `_diff_peek`, which Ansible's action plugins send.
//! Returns: `path` or `dest`, `src` of links, `diff`, `state`, and owner, group and mode of what is there.
//! Capabilities: write access to `path`, and to its folder where a link is made or a folder removed.
//!
//! Each state has a file of its own. What there is is asked in `found.rs`, since a sandbox follows no absolute link by itself.

#![forbid(unsafe_code)]

mod absent;
mod directory;
mod errors;
mod found;
mod links;
mod parse_time;
mod times;
mod touch;

use std::path::{Path, PathBuf};

use modbox_sdk::files::{self, AttributesDiff, FileAttributes};
use modbox_sdk::{Args, Choice, Exit, Failure, Module, Value};

use crate::found::{Found, is_directory};
use crate::times::Times;

modbox_sdk::module! {
    args = FileArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        path: str if "state is absent, directory or file" = "The path.",
        dest: str if "state is hard, link or touch" = "The path.",
        src: str if "state is hard or link" = "What the link says.",
        state: str = "What is there now.",
        diff: dict = "What changed: state, mode, owner, group, times.",
    ],
    examples = [
        "modbox run file path=/srv/app state=directory mode=0750",
        "modbox run --allow-write /srv file path=/srv/current src=app-1.2 state=link",
        "modbox run file path=/srv/app/stamp state=touch",
    ],
}

/// Makes sure that a path is a file, a folder, a link or nothing, with the mode, the owner and the times that are asked for.
///
/// A link itself is removed or replaced, not what it leads to. To make links and to remove folders the folder around them has to be
/// granted. Times are UTC.
#[derive(Args)]
pub(crate) struct FileArgs {
    /// What shall be there. Without it what is there stays what it is.
    state: Option<State>,
    /// The path.
    #[arg(type = "path", access = "entry", aliases("dest", "name"))]
    path: String,
    /// The name that a file gets in path when that is a folder; for Ansible's action plugins.
    #[arg(name = "_original_basename")]
    original_basename: Option<String>,
    /// Set mode, owner and times of all that is in the folder, too.
    #[arg(default = false)]
    recurse: bool,
    /// Make a link that leads to nothing, or in place of a file or an empty folder.
    #[arg(default = false)]
    force: bool,
    /// Set mode, owner and times of what a link leads to.
    #[arg(default = true)]
    follow: bool,
    /// Only tell whether the file looks binary; for Ansible's action plugins.
    #[arg(name = "_diff_peek")]
    diff_peek: Option<bool>,
    /// What the link says. A relative path is relative to the link.
    #[arg(type = "path")]
    src: Option<String>,
    /// When it was changed: preserve, now, or a time in the format.
    modification_time: Option<String>,
    /// How modification_time is written, as Python's strptime has it.
    #[arg(default = "%Y%m%d%H%M.%S")]
    modification_time_format: String,
    /// When it was read: preserve, now, or a time in the format.
    access_time: Option<String>,
    /// How access_time is written, as Python's strptime has it.
    #[arg(default = "%Y%m%d%H%M.%S")]
    access_time_format: String,
}

#[derive(Choice, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Absent,
    Directory,
    File,
    Hard,
    Link,
    Touch,
}

/// What every state works with.
pub(crate) struct Task<'a> {
    pub(crate) args: &'a FileArgs,
    pub(crate) module: &'a mut Module,
    pub(crate) path: PathBuf,
    /// What is there, links not followed.
    pub(crate) found: Found,
    pub(crate) times: Times,
}

fn run(args: FileArgs, module: &mut Module) -> Result<Exit, Failure> {
    let path = place(&args);
    let found = Found::at(&path)?;
    let state = state(&args, found);
    if args.recurse && state != State::Directory {
        return Err(Failure::new("recurse option requires state to be 'directory'").with("path", text(&path)));
    }
    if args.src.is_some() && !matches!(state, State::Link | State::Hard) {
        return Err(Failure::new("src option requires state to be 'link' or 'hard'").with("path", text(&path)));
    }
    if module.check_mode() && state != State::Absent {
        warn_of_unknown_owners(module);
    }
    if args.diff_peek.is_some() {
        return Ok(Exit::unchanged().with("path", text(&path)).with("appears_binary", found::looks_binary(&path)));
    }
    let times = if state == State::Absent { Times::default() } else { Times::wanted(&args, state)? };
    let mut task = Task { args: &args, module, path, found, times };
    match state {
        State::Absent => absent::ensure(&task),
        State::Directory => directory::ensure(&task),
        State::File => touch::ensure_attributes(&task),
        State::Hard => links::hard(&task),
        State::Link => links::symbolic(&mut task),
        State::Touch => touch::touch(&task),
    }
}

/// The path that is meant: in a folder, the file of the name that the caller knows.
fn place(args: &FileArgs) -> PathBuf {
    let path = PathBuf::from(&args.path);
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let base = || args.src.as_deref().map(|src| src.rsplit('/').next().unwrap_or_default().to_owned());
    let name = given(&args.original_basename).or_else(|| given(&base()));
    match name {
        Some(name) if !matches!(args.state, Some(State::Link | State::Absent)) && is_directory(&path) => {
            path.join(name)
        }
        _ => path,
    }
}

fn state(args: &FileArgs, found: Found) -> State {
    args.state.unwrap_or(match found {
        Found::File => State::File,
        Found::Directory => State::Directory,
        Found::Link => State::Link,
        Found::Hard => State::Hard,
        Found::Nothing if args.recurse => State::Directory,
        Found::Nothing => State::File,
    })
}

/// In check mode an owner may be one that the play has yet to make.
fn warn_of_unknown_owners(module: &mut Module) {
    type Lookup = fn(&str) -> Option<u32>;
    for (what, option, lookup) in [("user", "owner", files::user_id as Lookup), ("group", "group", files::group_id)] {
        let Some(name) = module.parameters().get(option).and_then(Value::as_str).map(str::to_owned) else { continue };
        if name.trim().parse::<u32>().is_err() && lookup(&name).is_none() {
            module.warn(format!("failed to look up {what} {name}. Create {what} up to this point in real play"));
        }
    }
}

impl Task<'_> {
    /// The attributes that are asked for, of what a link leads to when links are followed.
    pub(crate) fn wanted(&self) -> Result<FileAttributes, Failure> {
        let follow = self.args.follow && Found::at(&self.path)? == Found::Link;
        let path = if follow { modbox_sdk::fs::real_path(&self.path)? } else { self.path.clone() };
        let wanted = self.module.load_file_common_arguments(Some(&path))?.unwrap_or_default();
        Ok(FileAttributes { path, ..wanted })
    }

    /// Sets attributes and times, and returns whether something changed.
    pub(crate) fn dress(
        &self,
        wanted: &FileAttributes,
        changed: bool,
        diff: Option<&mut AttributesDiff>,
    ) -> Result<bool, Failure> {
        let mut unseen = AttributesDiff::default();
        let diff = diff.unwrap_or(&mut unseen);
        let changed = self.module.set_fs_attributes_if_different(wanted, changed, Some(diff))?;
        Ok(self.times.set(self.module, &wanted.path, diff)? || changed)
    }

    /// What a difference starts with.
    pub(crate) fn diff(&self, path: &Path, found: Found, state: &str) -> AttributesDiff {
        let mut diff = AttributesDiff::default();
        diff.note("path", text(path), text(path));
        if found.name() != state {
            diff.note("state", found.name(), state);
        }
        diff
    }

    /// A result under the key that the state has for its path.
    pub(crate) fn exit(&self, key: &str, path: &Path, changed: bool, diff: AttributesDiff) -> Exit {
        let exit = Exit::new(changed).with(key, text(path));
        if self.module.diff_wanted() { exit.with("diff", diff.into_value()) } else { exit }
    }
}

/// A path as a result has it.
pub(crate) fn text(path: &Path) -> Value {
    Value::from_os_bytes(path.as_os_str().as_encoded_bytes())
}
