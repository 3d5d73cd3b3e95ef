//! `file`: creates or removes files, folders and links, and sets mode, owner and times.
//!
//! Parameters: `path`, `state`, `src`, `follow`, `force`, `recurse`, `access_time`, `modification_time` and their
//! formats; `mode`, `owner`,
//! `group`; and `_original_basename` and `_diff_peek`, which Ansible's action plugins send.
//! Returns: `path` or `dest`, `src` of links, `diff`, `state`, and owner, group and mode of what is there.
//! Capabilities: write access to `path`, and to its folder where a link is made or a folder removed.
//!
//! Each state has its own file. `found.rs` finds what exists.

#![forbid(unsafe_code)]

mod absent;
mod args;
mod directory;
mod errors;
mod found;
mod links;
mod parse_time;
mod task;
mod text;
mod times;
mod touch;

use std::path::PathBuf;

use modbox_sdk::files;
use modbox_sdk::{Exit, Failure, Module, Value};

use crate::args::{FileArgs, State};
use crate::found::{FileType, is_directory};
use crate::task::Task;
use crate::text::text;
use crate::times::Times;

modbox_sdk::module! {
    args = FileArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        path: str if "state is absent, directory or file" = "The path.",
        dest: str if "state is hard, link or touch" = "The path.",
        src: str if "state is hard or link" = "The target of the link.",
        state: str = "The new state.",
        diff: dict = "The changes of state, mode, owner, group and times.",
    ],
    examples = [
        "modbox run file path=/srv/app state=directory mode=0750",
        "modbox run --allow-write /srv file path=/srv/current src=app-1.2 state=link",
        "modbox run file path=/srv/app/stamp state=touch",
    ],
}

fn run(args: FileArgs, module: &mut Module) -> Result<Exit, Failure> {
    let path = place(&args);
    let found = FileType::at(&path)?;
    if module.is_since(2, 21) {
        found::refuse_below_file(&path)?;
    }
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

/// Returns the path to change: if `path` is a folder, the file with the caller's name in it.
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

fn state(args: &FileArgs, found: FileType) -> State {
    args.state.unwrap_or(match found {
        FileType::File => State::File,
        FileType::Directory => State::Directory,
        FileType::Link => State::Link,
        FileType::Hard => State::Hard,
        FileType::Nothing if args.recurse => State::Directory,
        FileType::Nothing => State::File,
    })
}

/// Warns about unknown owners in check mode, since an earlier task of the play may create them.
fn warn_of_unknown_owners(module: &mut Module) {
    type Lookup = fn(&str) -> Option<u32>;
    for (what, option, lookup) in [("user", "owner", files::user_id as Lookup), ("group", "group", files::group_id)] {
        let Some(name) = module.parameters().get(option).and_then(Value::as_str).map(str::to_owned) else { continue };
        if name.trim().parse::<u32>().is_err() && lookup(&name).is_none() {
            module.warn(format!("failed to look up {what} {name}. Create {what} up to this point in real play"));
        }
    }
}
